// SPDX-License-Identifier: Apache-2.0
// Types of Atlas Device Sync, a service that has ended: the compiler says at the user's line what to write instead. They
// are in this module only, whose users had these names with RealmSwift too; a type of the user's own module takes
// precedence. Not on Apple's systems, where SwiftUI has an `App`.

#if !canImport(SwiftUI)
    /// The entry point of Atlas App Services.
    @available(*, unavailable, message: "Atlas Device Sync has ended: open a local file with Realm() and drop the App")
    public struct App {
        public init(id: String) {}
        public init(id: String, configuration: AppConfiguration) {}
        public init(configuration: AppConfiguration) {}
    }

    /// The settings of `App`.
    @available(*, unavailable, message: "Atlas Device Sync has ended: use Realm.Configuration with a fileURL")
    public struct AppConfiguration {
        public init() {}
        public init(baseURL: String?) {}
    }

    /// A user of Atlas App Services.
    @available(
        *, unavailable, message: "Atlas App Services has ended: give each user a file with the fileURL of its own"
    )
    public struct User {}

    /// How a user of Atlas App Services logs in.
    @available(*, unavailable, message: "Atlas App Services has ended: authenticate with a server of your own")
    public enum Credentials {
        case anonymous
        case emailPassword(email: String, password: String)
        case userAPIKey(String)
        case jwt(token: String)
        case apple(idToken: String)
    }

    /// The configuration of a synchronised file.
    @available(*, unavailable, message: "Atlas Device Sync has ended: set the fileURL of Realm.Configuration instead")
    public struct SyncConfiguration {}

    /// The connection of a synchronised file.
    @available(*, unavailable, message: "Atlas Device Sync has ended: a local file has no session to wait for")
    public struct SyncSession {}

    /// The sessions of an app.
    @available(
        *, unavailable, message: "Atlas Device Sync has ended: remove its settings; Logger.shared has the log level"
    )
    public struct SyncManager {}

    /// An error of synchronisation.
    @available(*, unavailable, message: "Atlas Device Sync has ended: local files throw Realm.Error")
    public struct SyncError: Error {}

    /// How local changes survive a client reset.
    @available(*, unavailable, message: "Atlas Device Sync has ended: a local file is never reset, so remove the mode")
    public enum ClientResetMode {}

    /// The subscriptions of a synchronised file.
    @available(
        *, unavailable, message: "Atlas Device Sync has ended: a local file has all objects; remove subscriptions"
    )
    public struct SyncSubscriptionSet {}

    /// A subscription of a synchronised file.
    @available(
        *, unavailable, message: "Atlas Device Sync has ended: a local file has all objects; remove subscriptions"
    )
    public struct SyncSubscription {}

    /// A subscription to the results of a query.
    @available(*, unavailable, message: "Atlas Device Sync has ended: write realm.objects(_:).where { } instead")
    public struct QuerySubscription<T> {
        public init(name: String? = nil) {}
    }

    /// An object that is sent to a server and not kept.
    @available(
        *, unavailable, message: "Atlas Device Sync has ended: derive from Object, and delete what you have sent"
    )
    open class AsymmetricObject {
        public required init() {}
    }

    /// Access to the collections of MongoDB Atlas.
    @available(*, unavailable, message: "Atlas App Services has ended: call a MongoDB driver on a server of your own")
    public struct MongoClient {}
#endif
