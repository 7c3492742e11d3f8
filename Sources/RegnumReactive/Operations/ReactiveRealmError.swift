// SPDX-License-Identifier: Apache-2.0
// Why an operation failed, and where operations run.

#if canImport(Combine) || Publishers
    internal import Regnum

    /// Why an operation of this module failed. It then has changed nothing.
    public enum ReactiveRealmError: Error, Equatable {
        /// It was not started where its objects or its Realm are confined to, or, for one in the background, on a
        /// thread without a run loop, where nothing could be delivered.
        case wrongThread
        /// One of the objects was deleted meanwhile.
        case deletedInAnotherThread
        /// There is an object with that primary key, and no update policy was given.
        case alreadyExists
        /// The Realm could not be opened, or the transaction not be committed: mostly a `Realm.Error`.
        case failed(any Error)

        /// RxRealm's name for `deletedInAnotherThread`.
        public static var objectDeleted: ReactiveRealmError { .deletedInAnotherThread }

        init(_ error: any Error) { self = error as? ReactiveRealmError ?? .failed(error) }

        /// Failures are equal where both are `Realm.Error` of one code.
        public static func == (left: ReactiveRealmError, right: ReactiveRealmError) -> Bool {
            switch (left, right) {
            case (.wrongThread, .wrongThread), (.deletedInAnotherThread, .deletedInAnotherThread),
                (.alreadyExists, .alreadyExists):
                return true
            case (.failed(let left), .failed(let right)):
                guard let left = left as? Realm.Error, let right = right as? Realm.Error else { return false }
                return left == right
            default: return false
            }
        }
    }

    /// Where an operation runs.
    public enum ReactiveRealmThread: Sendable {
        /// Where it is started, at once.
        case current
        /// On a queue of this module's own, with a Realm of the same configuration. Value and completion come back
        /// to where it was started.
        case background

        /// The name for `current` in ReactiveSwiftRealm, which allowed no other thread to start anything.
        public static var main: ReactiveRealmThread { .current }
    }

    /// The name in ReactiveSwiftRealm.
    public typealias ReactiveSwiftRealmError = ReactiveRealmError
    /// The name in ReactiveSwiftRealm.
    public typealias ReactiveSwiftRealmThread = ReactiveRealmThread
    /// The name in RxRealm.
    public typealias RxRealmError = ReactiveRealmError
#endif
