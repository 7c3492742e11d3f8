// SPDX-License-Identifier: Apache-2.0
// Operations: one write or one query, performed on subscription.
//
//     subscription ── current ──▶ write ──▶ value, completion
//                  └─ background ─▶ queue: own Realm, resolve, write ─▶ caller's turn: refresh, value, completion

#if canImport(Combine) || Publishers
    internal import Dispatch
    internal import Regnum

    extension RealmPublishers {
        /// One write or query. It is performed again for each subscription, and ends with a value and a completion or
        /// with `ReactiveRealmError`. If it is cancelled before it begins, nothing is done.
        public struct Operation<Output>: Publisher {
            public typealias Failure = ReactiveRealmError

            private let run: (OperationResult<Output>) -> Void

            init(_ run: @escaping (OperationResult<Output>) -> Void) { self.run = run }

            public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
                let run = run
                let subscription = SingleValueSubscription(subscriber) { one in
                    run(OperationResult(isWanted: { one.isActive }, finish: { one.finish($0) }))
                }
                subscriber.receive(subscription: subscription)
            }
        }
    }

    /// Receives the outcome of an operation.
    struct OperationResult<Output> {
        let isWanted: () -> Bool
        let finish: (Result<Output, ReactiveRealmError>) -> Void
    }

    extension RealmPublishers.Operation {
        /// Creates an operation that completes before its subscription returns. Fails with `wrongThread` if the caller
        /// is not on the thread of `realm`; nil opens the default configuration on the current thread.
        init(in realm: Realm?, _ body: @escaping (Realm) throws -> Output) {
            self.init { result in
                result.finish(
                    Result {
                        if let realm, !realm.core.isHere { throw ReactiveRealmError.wrongThread }
                        return try body(try realm ?? Realm())
                    }.mapError { ReactiveRealmError($0) })
            }
        }
    }

    extension RealmPublishers.Operation where Output == Void {
        /// Creates a write with objects: managed objects are passed to the background as references, others unchanged.
        init<T: Object>(
            _ objects: [T], in realm: Realm?, on thread: ReactiveRealmThread,
            _ body: @escaping (Realm, [T]) throws -> Void
        ) {
            self.init { result in
                do {
                    let home = try Self.home(of: objects, realm)
                    switch thread {
                    case .current:
                        try home.writeOrJoin { try body(home, objects) }
                        result.finish(.success(()))
                    case .background: try Self.runInBackground(objects, from: home, result, body)
                    }
                } catch { result.finish(.failure(ReactiveRealmError(error))) }
            }
        }

        /// Returns the Realm of the caller. Throws if the caller is not on its thread, or if an object was deleted.
        private static func home<T: Object>(of objects: [T], _ given: Realm?) throws -> Realm {
            if let given, !given.core.isHere { throw ReactiveRealmError.wrongThread }
            var home = given?.core
            for object in objects {
                guard let core = object._homeCore else { continue }
                if !core.isHere { throw ReactiveRealmError.wrongThread }
                if object.isInvalidated { throw ReactiveRealmError.deletedInAnotherThread }
                if home == nil { home = core }
                if home?.sharesFile(with: core) == false {
                    throw core.refusal(RealmCore.managedElsewhere)
                }
            }
            return try home.map { Realm(core: $0) } ?? Realm()
        }

        private static func runInBackground<T: Object>(
            _ objects: [T], from home: Realm, _ result: OperationResult<Void>,
            _ body: @escaping (Realm, [T]) throws -> Void
        ) throws {
            guard let turns = home.core.turns else { throw ReactiveRealmError.wrongThread }
            let configuration = home.configuration
            let parcels = objects.map { object -> (Realm) -> T? in
                guard object._homeCore != nil else { return { _ in object } }
                let reference = ThreadSafeReference(to: object)
                return { $0.resolve(reference) }
            }
            let caller = Caller(home)
            let turn = CallbackTurn {
                let outcome = Result {
                    guard result.isWanted() else { return }
                    let realm = try Realm(configuration: configuration)
                    try realm.core.checkMayWrite()
                    try realm.write {
                        let objects = try parcels.map { open in
                            guard let object = open(realm) else { throw ReactiveRealmError.deletedInAnotherThread }
                            return object
                        }
                        try body(realm, objects)
                    }
                }.mapError { ReactiveRealmError($0) }
                let delivery = CallbackTurn {
                    caller.leave()
                    result.finish(outcome)
                }
                turns { delivery.run() }
            }
            backgroundQueue.async { turn.run() }
        }
    }

    /// Runs the operations in the background, one at a time, so that they keep their order.
    private let backgroundQueue = DispatchQueue(label: "regnum.reactive.background")

    /// Retains the caller's Realm until the caller's turn, so that it is released on the caller's thread.
    private final class Caller {
        private var realm: Realm?

        init(_ realm: Realm) { self.realm = realm }

        /// Refreshes the caller's Realm, so that it shows the write, and releases it. Called on the caller's thread.
        func leave() {
            if let realm, !realm.configuration.readOnly { realm.refresh() }
            realm = nil
        }
    }

    extension Realm {
        /// Runs `body` in a write transaction of its own, or as part of the running one. Throws if it would wait for
        /// itself: if a value arrives while another Realm of the file begins a write transaction on this thread.
        func writeOrJoin(_ body: () throws -> Void) throws {
            if isInWriteTransaction { return try body() }
            try core.checkMayWrite()
            try core.checkWaitsForNoneHere()
            try write { try body() }
        }

        /// Adds objects. Throws before adding any if a primary key exists, or if one of them cannot be added.
        func add<T: Object>(checked objects: [T], update: UpdatePolicy) throws {
            for object in objects {
                if let home = object._homeCore, !home.isHere { throw ReactiveRealmError.wrongThread }
                if object.isInvalidated { throw ReactiveRealmError.deletedInAnotherThread }
            }
            let added = try core.checkMayAdd(objects, update: update)
            if update == .error, core.wouldRepeatPrimaryKey(added) { throw ReactiveRealmError.alreadyExists }
            add(objects, update: update)
        }
    }
#endif
