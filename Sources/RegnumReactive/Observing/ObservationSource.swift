// SPDX-License-Identifier: Apache-2.0
// An observation that has not begun, as held by all publishers of this module: how it starts, how its values are
// buffered while there is no demand, and how they are passed to another thread.

#if canImport(Combine) || Publishers
    internal import Dispatch
    internal import Regnum

    /// An event of an observation.
    enum Signal<Output> {
        case value(Output)
        /// Nothing follows: the observed object was deleted.
        case finished
    }

    /// The values that are buffered while there is no demand.
    enum Waiting {
        /// All values, in order: each change builds on the one before.
        case all
        /// Only the latest value, which includes all earlier changes.
        case latest
    }

    struct ObservationSource<Output> {
        /// The Realm whose callback scheduler delivers the values; nil while the observed value is unmanaged.
        let realm: () -> Realm?
        let waiting: Waiting
        let pack: (Output) -> TransferredValue<Output>
        /// Begins the observation on the queue or the current thread. A value that cannot be observed is a programmer
        /// error.
        let begin: (DispatchQueue?, @escaping (Signal<Output>) -> Void) -> NotificationToken
    }

    extension ObservationSource where Output == Void {
        /// Sends after each change, without a value.
        init(
            _ realm: @escaping () -> Realm?,
            _ begin: @escaping (DispatchQueue?, @escaping (Signal<Void>) -> Void) -> NotificationToken
        ) {
            self.init(realm: realm, waiting: .latest, pack: { _ in TransferredValue { _ in } }, begin: begin)
        }
    }
#endif
