// SPDX-License-Identifier: Apache-2.0
// The errors of operations, and the threads that operations run on.

#if canImport(Combine) || Publishers
    internal import Regnum

    /// The reason an operation of this module failed. A failed operation has changed nothing.
    public enum ReactiveRealmError: Error, Equatable {
        /// The operation was not started on the thread of its objects or its Realm, or a background operation was
        /// started on a thread without a run loop, on which its result could not be delivered.
        case wrongThread
        /// One of the objects was deleted in the meantime.
        case deletedInAnotherThread
        /// An object with that primary key exists, and no update policy was given.
        case alreadyExists
        /// The Realm could not be opened, or the transaction could not be committed: usually a `Realm.Error`.
        case failed(any Error)

        /// RxRealm's name for `deletedInAnotherThread`.
        public static var objectDeleted: ReactiveRealmError { .deletedInAnotherThread }

        init(_ error: any Error) { self = error as? ReactiveRealmError ?? .failed(error) }

        /// Two `failed` cases are equal if both hold a `Realm.Error` of the same code.
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

    /// The thread that an operation runs on.
    public enum ReactiveRealmThread: Sendable {
        /// The thread that starts it, immediately.
        case current
        /// A queue of this module, with a Realm of the same configuration. The value and the completion are delivered
        /// on the thread that started it.
        case background

        /// ReactiveSwiftRealm's name for `current`; ReactiveSwiftRealm could only start operations on the main thread.
        public static var main: ReactiveRealmThread { .current }
    }

    /// The name in ReactiveSwiftRealm.
    public typealias ReactiveSwiftRealmError = ReactiveRealmError
    /// The name in ReactiveSwiftRealm.
    public typealias ReactiveSwiftRealmThread = ReactiveRealmThread
    /// The name in RxRealm.
    public typealias RxRealmError = ReactiveRealmError
#endif
