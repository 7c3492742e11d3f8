// SPDX-License-Identifier: Apache-2.0
// Observers of people on a queue of their own, as an app has them on its main queue.

import Dispatch
import Foundation
import RealmSwift

/// The observed collections of N1.
enum Observed: Sendable {
    case plain, filtered, sorted, tenFiltered

    var observers: Int { self == .tenFiltered ? 10 : 1 }
}

extension RegnumEngine {
    /// Commits one new age at a time; each refresh of the observers' Realm delivers one change set. Returns the mean
    /// nanoseconds of a refresh, and the number of change sets.
    func changeSets(of observed: Observed, commits: Int) throws -> (nanoseconds: Double, calls: Int) {
        let realm = try opened()
        let people = realm.objects(Person.self)
        let observers = try Observers(realm.configuration, observed)
        defer { observers.end() }
        var total = 0.0
        for number in 0..<commits {
            let person = people[number &* 7919 % people.count]
            try realm.write { person.age = person.age < 99 ? person.age + 1 : 0 }
            total += observers.refresh()
        }
        return (total / Double(commits), observers.calls)
    }
}

private final class Observers: @unchecked Sendable {
    // Sendable: everything is used on the queue.
    private let queue = DispatchQueue(label: "observers")
    private var realm: Realm?
    private var tokens: [NotificationToken] = []
    private var told = 0
    /// The first calls, which another thread prepares.
    private let begun = DispatchSemaphore(value: 0)

    init(_ configuration: Realm.Configuration, _ observed: Observed) throws {
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            // Only the measured refresh advances it.
            realm.autorefresh = false
            let people = realm.objects(Person.self)
            // True for all, so that every commit is delivered.
            let filtered = people.filter("age >= 0 AND score >= 0")
            let results =
                switch observed {
                case .plain: people
                case .filtered, .tenFiltered: filtered
                case .sorted: people.sorted(by: [SortDescriptor(keyPath: "age"), SortDescriptor(keyPath: "name")])
                }
            for _ in 0..<observed.observers {
                tokens.append(
                    results.observe { [unowned self] change in
                        if case .update = change { told += 1 } else { begun.signal() }
                    })
            }
            self.realm = realm
        }
        for _ in 0..<observed.observers { begun.wait() }
    }

    var calls: Int { queue.sync { told } }

    func refresh() -> Double { queue.sync { nanoseconds { sink(realm?.refresh() == true ? 1 : 0) } } }

    func end() {
        queue.sync {
            tokens = []
            realm = nil
        }
    }
}

/// Writes on the calling thread; notifications arrive on a queue.
final class RoundTrip: @unchecked Sendable {
    // Sendable: everything but `done`, `begun` and `observers` is used on the queue.
    private let queue = DispatchQueue(label: "told")
    private let done = DispatchSemaphore(value: 0)
    private let begun = DispatchSemaphore(value: 0)
    private let observers: Int
    private var realm: Realm?
    private var tokens: [NotificationToken] = []
    private var told = 0
    private let configuration = Realm.Configuration(
        inMemoryIdentifier: UUID().uuidString, objectTypes: [Unrelated.self])

    init(observers: Int) { self.observers = observers }

    /// The number of calls.
    func run(commits: Int) throws -> Int {
        let writer = try Realm(configuration: configuration)
        let row = try writer.write { writer.create(Unrelated.self, value: ["number": 0]) }
        try queue.sync {
            let realm = try Realm(configuration: configuration, queue: queue)
            let rows = realm.objects(Unrelated.self)
            for _ in 0..<observers {
                tokens.append(rows.observe { [unowned self] change in take(change) })
            }
            self.realm = realm
        }
        for _ in 0..<observers { begun.wait() }
        for number in 0..<commits {
            try writer.write { row.number = number + 1 }
            done.wait()
        }
        return queue.sync {
            defer { (tokens, realm) = ([], nil) }
            return told
        }
    }

    private func take(_ change: RealmCollectionChange<Results<Unrelated>>) {
        guard case .update = change else {
            begun.signal()
            return
        }
        told += 1
        if told % observers == 0 { done.signal() }
    }
}
