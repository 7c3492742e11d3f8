// SPDX-License-Identifier: Apache-2.0
// The objects that iteration returns, and when it may reuse the same accessor.

import Foundation
import Testing

@testable import Regnum

/// No lists and no stored fields: its accessors are reused.
private class Row: Object {
    @Persisted var number = 0
    @Persisted var text = ""
}

/// Runs a closure when one of its objects is deinitialised.
private class Ending: Object {
    @Persisted var number = 0
    nonisolated(unsafe) static var atEnd: (() -> Void)?
    deinit { Self.atEnd?() }
}

/// Like `Ending`, for a test of its own, because the tests run in parallel.
private class EndingBeside: Object {
    @Persisted var number = 0
    nonisolated(unsafe) static var atEnd: (() -> Void)?
    deinit { Self.atEnd?() }
}

/// Like `Ending`.
private class EndingByPosition: Object {
    @Persisted var number = 0
    nonisolated(unsafe) static var atEnd: (() -> Void)?
    deinit { Self.atEnd?() }
}

struct ObjectCursorTests {
    private let realm: Realm

    init() throws {
        realm = try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Row.self]))
        try realm.write {
            for number in 0..<3000 { realm.create(Row.self, value: ["number": number, "text": "\(number)"]) }
        }
    }

    private enum Way: CaseIterable { case table, filtered }

    private func rows(_ way: Way) -> Results<Row> {
        let all = realm.objects(Row.self)
        return way == .table ? all : all.filter("number >= 0")
    }

    @Test("A loop visits every object once, in the order of keys", arguments: Way.allCases)
    private func visitsAll(way: Way) {
        var numbers: [Int] = []
        for row in rows(way) { numbers.append(row.number) }
        #expect(numbers == Array(0..<3000))
    }

    @Test("An accessor without other references is reused", arguments: Way.allCases)
    private func recycles(way: Way) {
        var addresses: Set<UInt> = []
        for row in rows(way) { addresses.insert(UInt(bitPattern: Unmanaged.passUnretained(row).toOpaque())) }
        #expect(addresses.count < 10)
    }

    @Test("Strongly held elements stay unchanged", arguments: Way.allCases)
    private func strong(way: Way) {
        var kept: [Row] = []
        for row in rows(way) where row.number % 7 == 0 { kept.append(row) }
        #expect(kept.map(\.number) == stride(from: 0, to: 3000, by: 7).map { $0 })
        #expect(Array(rows(way)).map(\.number) == Array(0..<3000))
    }

    @Test("A weak reference to an element never shows another one", arguments: Way.allCases)
    private func weakly(way: Way) {
        weak var first: Row?
        for row in rows(way) {
            if row.number == 0 { first = row }
            if let first { #expect(first.number == 0) }
        }
    }

    @Test("An accessor with an unowned reference to it is not reused", arguments: Way.allCases)
    private func unownedly(way: Way) {
        final class Holder { unowned let row: Row; init(_ row: Row) { self.row = row } }
        var holder: Holder?
        var first: UInt = 0
        for row in rows(way) {
            // The memory of an object is not reused while an unowned reference to it exists.
            let address = UInt(bitPattern: Unmanaged.passUnretained(row).toOpaque())
            if row.number == 0 {
                holder = Holder(row)
                first = address
            } else {
                #expect(address != first)
            }
            if row.number > 10 { break }
        }
        withExtendedLifetime(holder) {}
    }

    @Test("An element captured by a closure stays unchanged", arguments: Way.allCases)
    private func closures(way: Way) {
        var closures: [() -> Int] = []
        for row in rows(way) where row.number < 20 { closures.append { row.number } }
        #expect(closures.map { $0() } == Array(0..<20))
    }

    @Test("Deleting each element during a loop empties the table", arguments: Way.allCases)
    private func deleting(way: Way) throws {
        var seen = 0
        try realm.write {
            for row in rows(way) {
                #expect(row.number == seen)
                seen += 1
                realm.delete(row)
            }
        }
        #expect(seen == 3000)
        #expect(realm.objects(Row.self).isEmpty)
    }

    @Test("Adding objects in a loop neither ends nor lengthens it", arguments: Way.allCases)
    private func adding(way: Way) throws {
        var seen = 0
        try realm.write {
            for row in rows(way) {
                #expect(row.number == seen)
                seen += 1
                realm.create(Row.self, value: ["number": 10_000 + seen])
            }
        }
        #expect(seen == 3000)
        #expect(realm.objects(Row.self).count == 6000)
    }

    @Test("Deleting other objects in a loop skips and repeats no element", arguments: Way.allCases)
    private func deletingOthers(way: Way) throws {
        var numbers: [Int] = []
        try realm.write {
            for row in rows(way) {
                numbers.append(row.number)
                if row.number % 10 == 5 {
                    realm.delete(
                        realm.objects(Row.self).filter("number < %@ OR number == %@", row.number, row.number + 1))
                }
            }
        }
        #expect(numbers == (0..<3000).filter { $0 % 10 != 6 })
    }

    @Test("Changing the property of a filter does not disturb the loop over its results")
    func mutatingCondition() throws {
        var seen = 0
        try realm.write {
            for row in realm.objects(Row.self).filter("number < 2000") {
                row.number += 5000
                seen += 1
            }
        }
        #expect(seen == 2000)
        #expect(realm.objects(Row.self).filter("number < 2000").count == 0)
    }

    @Test("A loop in a cancelled transaction continues over the remaining objects")
    func cancelling() throws {
        var numbers: [Int] = []
        realm.beginWrite()
        for number in 3000..<3100 { realm.create(Row.self, value: ["number": number]) }
        for row in realm.objects(Row.self) {
            if row.number == 1500 { realm.cancelWrite() }
            numbers.append(row.number)
        }
        #expect(numbers == Array(0..<3000))
    }

    @Test("After deletions, a loop that adds objects visits each old object once")
    func fewWithGaps() throws {
        var numbers: [Int] = []
        try realm.write {
            realm.delete(realm.objects(Row.self).filter("number >= 40"))
            if let last = realm.objects(Row.self).last { realm.delete(last) }
            for row in realm.objects(Row.self) {
                numbers.append(row.number)
                realm.create(Row.self, value: ["number": 100 + row.number])
            }
        }
        #expect(numbers == Array(0..<39))
        #expect(realm.objects(Row.self).map(\.number) == Array(0..<39) + Array(100..<139))
    }

    // A step once accessed the group of the last object after it had released it.
    @Test("A loop is not disturbed if the deinit of an element commits, cancels or deletes")
    func ending() throws {
        let realm = try Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [Ending.self]))
        try realm.write { for number in 0..<100 { realm.create(Ending.self, value: ["number": number]) } }
        defer { Ending.atEnd = nil }
        var ended = 0
        var isBusy = false
        Ending.atEnd = {
            if isBusy { return }
            isBusy = true
            defer { isBusy = false }
            ended += 1
            realm.beginWrite()
            if let last = realm.objects(Ending.self).last, last.number >= 90 { realm.delete(last) }
            if ended % 3 == 0 { realm.cancelWrite() } else { try? realm.commitWrite() }
        }
        var numbers: [Int] = []
        weak var seen: Ending?
        for row in realm.objects(Ending.self) {
            seen = row
            numbers.append(row.number)
        }
        #expect(ended > 80)
        #expect(numbers == Array(0..<90))
        _ = seen
    }

    // The accessor was once released before another replaced it, so that it was released twice.
    @Test("A copy of the iterator that advances while an object is deinitialised shares its position")
    func copied() throws {
        let realm = try Realm(
            configuration: .init(inMemoryIdentifier: UUID().uuidString, objectTypes: [EndingBeside.self]))
        try realm.write { for number in 0..<100 { realm.create(EndingBeside.self, value: ["number": number]) } }
        defer { EndingBeside.atEnd = nil }
        var iterator = realm.objects(EndingBeside.self).makeIterator()
        let copy = iterator
        var (numbers, others) = ([Int](), [Int]())
        var isBusy = false
        EndingBeside.atEnd = {
            if isBusy { return }
            isBusy = true
            defer { isBusy = false }
            var other = copy
            if let object = other.next() { others.append(object.number) }
        }
        weak var seen: EndingBeside?
        while let row = iterator.next() {
            seen = row
            numbers.append(row.number)
        }
        #expect(others.count > 40)
        #expect((numbers + others).sorted() == Array(0..<100))
        _ = seen
    }

    @Test("Access by position is correct, even while the deinit of an element accesses other positions")
    func byPosition() throws {
        let configuration = Realm.Configuration(
            inMemoryIdentifier: UUID().uuidString, objectTypes: [EndingByPosition.self])
        do {
            let realm = try Realm(configuration: configuration)
            try realm.write { for number in 0..<100 { realm.create(EndingByPosition.self, value: ["number": number]) } }
            // The captured values are released outside the access.
            defer { withExtendedLifetime(EndingByPosition.atEnd) { EndingByPosition.atEnd = nil } }
            let all = realm.objects(EndingByPosition.self)
            var (isBusy, ended) = (false, 0)
            EndingByPosition.atEnd = {
                if isBusy { return }
                isBusy = true
                defer { isBusy = false }
                ended += 1
                for position in 0..<ended % 4 { #expect(all[99 - position].number == 99 - position) }
            }
            weak var seen: EndingByPosition?
            for position in 0..<100 {
                let object = all[position]
                seen = object
                #expect(object.number == position)
            }
            #expect(ended > 40)
            _ = seen
        }
        // In memory: the data is gone with the last accessor that kept the database open.
        #expect(try Realm(configuration: configuration).isEmpty)
    }
}
