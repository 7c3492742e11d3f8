// SPDX-License-Identifier: Apache-2.0
// Operations: one write or one look-up, made when it is subscribed to.
//
//     subscription ── current ──▶ write ──▶ value, completion
//                  └─ background ─▶ queue: own Realm, resolve, write ─▶ a turn of the caller: refresh, value, completion

#if canImport(Combine) || Publishers
    internal import Dispatch
    internal import Regnum

    extension RealmPublishers {
        /// One write or look-up. It is made anew for each subscription, and ends with a value and a completion or
        /// with `ReactiveRealmError`. A cancelled one that has not begun does nothing.
        public struct Operation<Output>: Publisher {
            public typealias Failure = ReactiveRealmError

            private let run: (OperationResult<Output>) -> Void

            init(_ run: @escaping (OperationResult<Output>) -> Void) { self.run = run }

            public func receive<S: Subscriber>(subscriber: S) where S.Input == Output, S.Failure == Failure {
                let run = run
                let subscription = OneShot(subscriber) { one in
                    run(OperationResult(isWanted: { one.isActive }, finish: { one.finish($0) }))
                }
                subscriber.receive(subscription: subscription)
            }
        }
    }

    /// Where the outcome of an operation goes.
    struct OperationResult<Output> {
        let isWanted: () -> Bool
        let finish: (Result<Output, ReactiveRealmError>) -> Void
    }

    extension RealmPublishers.Operation {
        /// One that is over when it returns. Fails with `wrongThread` where the caller is not at `realm`'s place; nil
        /// stands for the default configuration's, here.
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
        /// One write with objects: managed ones are handed to the background by reference, others as they are.
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

        /// The Realm of the caller. Throws where he is not at its place, or an object is gone.
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
            let turn = Turn {
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
                let delivery = Turn {
                    caller.leave()
                    result.finish(outcome)
                }
                turns { delivery.run() }
            }
            backgroundQueue.async { turn.run() }
        }
    }

    /// Where operations in the background run, one after the other: so they keep their order.
    private let backgroundQueue = DispatchQueue(label: "regnum.reactive.background")

    /// Keeps the Realm of a caller until his turn, so that it is released there.
    private final class Caller {
        private var realm: Realm?

        init(_ realm: Realm) { self.realm = realm }

        /// At the caller's place: his Realm shows what was written.
        func leave() {
            if let realm, !realm.configuration.readOnly { realm.refresh() }
            realm = nil
        }
    }

    extension Realm {
        /// In a write of its own, or as part of the one that runs. Throws where it would wait for another Realm's write
        /// that begins on this thread, and within which a value has arrived.
        func writeOrJoin(_ body: () throws -> Void) throws {
            if isInWriteTransaction { return try body() }
            try core.checkMayWrite()
            try core.checkWaitsForNoneHere()
            try write { try body() }
        }

        /// Adds objects; throws before anything is added where a primary key exists, or one of them cannot be added.
        func add<T: Object>(checked objects: [T], update: UpdatePolicy) throws {
            for object in objects {
                if let home = object._homeCore, !home.isHere { throw ReactiveRealmError.wrongThread }
                if object.isInvalidated { throw ReactiveRealmError.deletedInAnotherThread }
            }
            let added = try core.checkMayAdd(objects)
            if update == .error, core.wouldRepeatPrimaryKey(added) { throw ReactiveRealmError.alreadyExists }
            add(objects, update: update)
        }
    }
#endif
