// SPDX-License-Identifier: Apache-2.0
// An observation that has not begun, as all publishers of this module hold it: what starts it, how its values wait
// for demand, and how they go to another thread.

#if canImport(Combine) || Publishers
    internal import Dispatch
    internal import Regnum

    /// What an observation tells.
    enum Signal<Output> {
        case value(Output)
        /// Nothing follows: what was observed is gone.
        case finished
    }

    /// What waits for demand.
    enum Waiting {
        /// All of it, in order: changes build on each other.
        case all
        /// The last one: it shows all that came before.
        case latest
    }

    struct Source<Output> {
        /// The Realm at whose place values come; nil while what is to be observed is unmanaged.
        let realm: () -> Realm?
        let waiting: Waiting
        let pack: (Output) -> Packed<Output>
        /// Begins, on the queue or where the caller is. Misuse for what cannot be observed.
        let begin: (DispatchQueue?, @escaping (Signal<Output>) -> Void) -> NotificationToken
    }

    extension Source where Output == Void {
        /// Tells that something has changed.
        init(
            _ realm: @escaping () -> Realm?,
            _ begin: @escaping (DispatchQueue?, @escaping (Signal<Void>) -> Void) -> NotificationToken
        ) {
            self.init(realm: realm, waiting: .latest, pack: { _ in Packed { _ in } }, begin: begin)
        }
    }
#endif
