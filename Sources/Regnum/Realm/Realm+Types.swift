// SPDX-License-Identifier: Apache-2.0
// Small types of the Realm API.

extension Realm {
    /// The notifications that a Realm sends to its observers.
    public enum Notification: String, Sendable {
        /// The Realm has advanced to a new version.
        case didChange = "RLMRealmDidChangeNotification"
        /// A commit was made elsewhere, and the Realm does not refresh automatically: call `refresh()`.
        case refreshRequired = "RLMRealmRefreshRequiredNotification"
    }

    /// The block of an observer of a Realm.
    public typealias NotificationBlock = (_ notification: Notification, _ realm: Realm) -> Void

    /// Whether opening waits for a download. Local files are not downloaded, so all three are equivalent.
    public enum OpenBehavior: Sendable {
        case never
        case once
        case always
    }
}

/// Identifies an asynchronous write, or its commit, on the Realm that returned it.
public typealias AsyncTransactionId = UInt32

extension Realm {
    /// The schemas of the declared classes, for the package's other modules.
    package var classSchemas: [ClassSchema] { core.settings.schema.classes }
}
