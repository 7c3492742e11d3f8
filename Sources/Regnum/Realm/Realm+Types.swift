// SPDX-License-Identifier: Apache-2.0
// Small types that belong to a Realm.

extension Realm {
    /// Of what a Realm tells those who observe it.
    public enum Notification: String, Sendable {
        /// The Realm shows a new version.
        case didChange = "RLMRealmDidChangeNotification"
        /// Others have committed, and the Realm does not refresh itself: call `refresh()`.
        case refreshRequired = "RLMRealmRefreshRequiredNotification"
    }

    /// What observers of a Realm are called with.
    public typealias NotificationBlock = (_ notification: Notification, _ realm: Realm) -> Void

    /// Whether opening waits for a download. There is none of local files, so all three are the same.
    public enum OpenBehavior: Sendable {
        case never
        case once
        case always
    }
}

/// The name of an asynchronous write, or of its commit, on the Realm that returned it.
public typealias AsyncTransactionId = UInt32

extension Realm {
    /// What is known of the declared classes, for the package's other modules.
    package var classSchemas: [ClassSchema] { core.settings.schema.classes }
}
