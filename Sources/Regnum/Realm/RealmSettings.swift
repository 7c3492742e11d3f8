// SPDX-License-Identifier: Apache-2.0
// What an open Realm remembers of how it was opened.

internal import Dispatch
internal import RegnumEngine
internal import RegnumQuery

final class RealmSettings {
    private(set) var configuration: Realm.Configuration
    let place: Realm.Configuration.Place
    let database: Database
    /// All classes of the schema, those without a table in a read-only file too.
    let schema: SchemaSet
    /// The queue it is confined to; nil for a thread.
    let queue: DispatchQueue?
    /// Where it was opened, in words.
    var home = ""
    /// Brings work to the actor it is confined to; nil for threads and queues.
    var mailbox: ActorMailbox?
    /// Asynchronous writes that are not finished; nil where there never was one.
    var asyncWrites: AsyncWrites?
    var autorefresh = true
    /// Proves the file in the background while the Realm is open; nil where it does not.
    var proof: BackgroundProof?
    /// What queries know of the classes, by table. Columns do not change while a Realm is open.
    var queryClasses: [TableKey: QueryClass] = [:]
    /// Queries that an index would have helped, by table and column.
    var scans: [TableKey: [Int: ScanNote]] = [:]
    /// While a migration block runs: primary keys may be stored, and are proved at its end.
    var work: SchemaWork?
    /// How often `invalidate` was called: collections made before are invalid.
    @exclusivity(unchecked) var invalidations = 0
    /// What waits for the end of the running write.
    var afterWrite: [@Sendable () -> Void] = []
    /// Of the running write, where something was handed over within it.
    var writeFate: WriteFate?

    init(
        configuration: Realm.Configuration, place: Realm.Configuration.Place, database: Database,
        schema: SchemaSet, queue: DispatchQueue?
    ) {
        self.configuration = configuration
        self.place = place
        self.database = database
        self.schema = schema
        self.queue = queue
    }

    /// Under which the Realm is found again where it was opened; nil for Realms that only the library knows.
    var key: RealmCache.Key?
    /// For whom the running write is kept when nobody holds the Realm; nil where it ends then.
    var owner: OpenWrite.Owner?
    /// The task in which that write has begun, of a Realm of a thread.
    var task: Int?

    /// Opened: nobody waits any more, and who opens it with the same settings again is not called off.
    func forgetControl() { configuration.extras.control = nil }

    func knows(_ type: ObjectBase.Type) -> Bool { schema.classes.contains { $0.type == type } }
}
