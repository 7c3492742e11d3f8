// SPDX-License-Identifier: Apache-2.0
// The cost of reading a property of each fixed-width type compared with an Int: all objects are iterated, one property
// read. The cost of the iteration alone is measured too and subtracted.

import ArgumentParser
import Foundation
import Observation
import RealmSwift

enum Shade: Int, PersistableEnum {
    case light, dark
}

final class Sampler: Object {
    @Persisted var int: Int
    @Persisted var int8: Int8
    @Persisted var int16: Int16
    @Persisted var int32: Int32
    @Persisted var bool: Bool
    @Persisted var float: Float
    @Persisted var double: Double
    @Persisted var date: Date
    @Persisted var uuid: UUID
    @Persisted var objectId: ObjectId
    @Persisted var decimal: Decimal128
    @Persisted var optional: Int?
    @Persisted var shade: Shade
}

/// Its reads are reported to `withObservationTracking`.
final class TrackedSampler: Object, Observable {
    @Persisted var int: Int
}

struct ReadsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reads", abstract: "Measures reading a property of each fixed-width type beside an Int.")

    @Option(name: .customLong("objects"), help: "Objects.")
    var rows = 1_000_000

    @Option(help: "Timed runs of each type; medians are shown.")
    var runs = 11

    @Flag(help: "Fail if a type takes more than 1.5 times as long as an Int.")
    var check = false

    private static let limit = 1.5

    func run() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("reads-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let realm = try Realm(
            configuration: Realm.Configuration(
                fileURL: folder.appendingPathComponent("reads.realm"), objectTypes: [Sampler.self]))
        try fill(realm)
        let all = realm.objects(Sampler.self)
        let empty = nanoseconds { for _ in all {} }
        let int = nanoseconds { for object in all { use(object.int) } }
        print("| type | ns a read, with the iteration | of an Int |\n|---|---|---|")
        print("| none | \(shown(empty)) | |\n| Int | \(shown(int)) | 1 |")
        var isMissed = false
        func row(_ name: String, _ time: Double) {
            print("| \(name) | \(shown(time)) | \(shown(time / int)) |")
            if time / int > Self.limit { isMissed = true }
        }
        row("Int8", nanoseconds { for object in all { use(object.int8) } })
        row("Int16", nanoseconds { for object in all { use(object.int16) } })
        row("Int32", nanoseconds { for object in all { use(object.int32) } })
        row("Bool", nanoseconds { for object in all { use(object.bool) } })
        row("Float", nanoseconds { for object in all { use(object.float) } })
        row("Double", nanoseconds { for object in all { use(object.double) } })
        row("Date", nanoseconds { for object in all { use(object.date) } })
        row("UUID", nanoseconds { for object in all { use(object.uuid) } })
        row("ObjectId", nanoseconds { for object in all { use(object.objectId) } })
        row("Decimal128", nanoseconds { for object in all { use(object.decimal) } })
        row("Int?", nanoseconds { for object in all { use(object.optional) } })
        row("enum of Int", nanoseconds { for object in all { use(object.shade) } })
        try besideTracked(folder, int)
        if check, isMissed { throw ExitCode.failure }
    }

    /// The same read with an observable class in the schema, and the read of that class outside any tracking.
    private func besideTracked(_ folder: URL, _ int: Double) throws {
        let realm = try Realm(
            configuration: Realm.Configuration(
                fileURL: folder.appendingPathComponent("tracked.realm"),
                objectTypes: [Sampler.self, TrackedSampler.self]))
        try fill(realm)
        try realm.write { for i in 0..<rows { realm.create(TrackedSampler.self, value: [i]) } }
        let plain = nanoseconds { for object in realm.objects(Sampler.self) { use(object.int) } }
        let tracked = nanoseconds { for object in realm.objects(TrackedSampler.self) { use(object.int) } }
        print("| Int, with an observable class in the schema | \(shown(plain)) | \(shown(plain / int)) |")
        print("| Int of the observable class | \(shown(tracked)) | \(shown(tracked / int)) |")
    }

    private func fill(_ realm: Realm) throws {
        try realm.write {
            for i in 0..<rows {
                let object = Sampler()
                object.int = i &* 2_654_435_761
                object.int8 = Int8(truncatingIfNeeded: i)
                object.int16 = Int16(truncatingIfNeeded: i)
                object.int32 = Int32(truncatingIfNeeded: i)
                object.bool = i & 1 == 0
                object.float = Float(i)
                object.double = Double(i) / 7
                object.date = Date(timeIntervalSince1970: Double(i))
                object.uuid = UUID()
                object.objectId = ObjectId.generate()
                object.decimal = Decimal128(value: i)
                object.optional = i % 5 == 0 ? nil : i
                object.shade = i & 1 == 0 ? .light : .dark
                realm.add(object)
            }
        }
    }

    /// Median for a row.
    private func nanoseconds(_ body: () -> Void) -> Double {
        let clock = ContinuousClock()
        var times: [Double] = []
        for _ in 0..<runs {
            let time = clock.measure(body).components
            times.append(Double(time.seconds) * 1e9 + Double(time.attoseconds) * 1e-9)
        }
        times.sort()
        return times[times.count / 2] / Double(rows)
    }

    private func shown(_ value: Double) -> String { "\((value * 100).rounded() / 100)" }
}

/// Prevents the compiler from removing a read.
@inline(never)
private func use<T>(_ value: T) {}
