// SPDX-License-Identifier: Apache-2.0
// The cost of observers for a commit: observers of a class that the commit does not change, and of sections.

import ArgumentParser
import Dispatch
import Foundation
import RealmSwift

final class Sectioned: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var group: Int
    @Persisted var value: Int
}

final class Elsewhere: Object {
    @Persisted var value: Int
}

struct ObserversCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "observers", abstract: "Measures what observers cost of a commit.")

    @Option(help: "Timed commits of each kind; medians are shown.")
    var runs = 301

    func run() throws {
        print("| observers | objects | us a commit and its delivery |\n|---|---|---|")
        for rows in [1_000, 10_000, 100_000] { try measure(rows) }
    }

    private func measure(_ rows: Int) throws {
        let queue = DispatchQueue(label: "observers")
        try queue.sync {
            let realm = try Realm(
                configuration: Realm.Configuration(
                    inMemoryIdentifier: UUID().uuidString, objectTypes: [Sectioned.self, Elsewhere.self]),
                queue: queue)
            try realm.write {
                for id in 0..<rows { realm.create(Sectioned.self, value: [id, id % 50, id]) }
                realm.create(Elsewhere.self)
            }
            let all = realm.objects(Sectioned.self)
            let elsewhere = realm.objects(Elsewhere.self)[0]
            var tokens: [NotificationToken] = []
            func row(_ name: String, _ change: @escaping (Int) -> Void) throws {
                realm.refresh()
                var times: [Double] = []
                for run in 0..<runs {
                    let start = DispatchTime.now().uptimeNanoseconds
                    try realm.write { change(run) }
                    realm.refresh()
                    times.append(Double(DispatchTime.now().uptimeNanoseconds - start) / 1_000)
                }
                print("| \(name) | \(rows) | \((times.sorted()[runs / 2] * 10).rounded() / 10) |")
            }
            let other: (Int) -> Void = { elsewhere.value = $0 + 1 }
            let own: (Int) -> Void = { all[$0 * 7 % rows].value = -$0 - 1 }
            try row("none, commit elsewhere", other)
            for number in 0..<100 { tokens.append(all.filter("value > \(number)").observe { _ in }) }
            try row("100 of filtered results, commit elsewhere", other)
            tokens = [all.sectioned(by: \.group).observe { _ in }]
            try row("1 of sections, commit elsewhere", other)
            try row("1 of sections, one object changed", own)
            tokens = [
                all.sectioned(
                    by: { (object: Sectioned) in object.group }, sortDescriptors: [SortDescriptor(keyPath: "group")]
                ).observe { _ in }
            ]
            try row("1 of sections by a block, one object changed", own)
            tokens = [all.sorted(byKeyPath: "group").observe { _ in }]
            try row("1 of sorted results, one object changed", own)
            tokens = []
            try row("none, one object changed", own)
        }
    }
}
