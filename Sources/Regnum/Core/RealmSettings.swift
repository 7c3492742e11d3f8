// SPDX-License-Identifier: Apache-2.0
// The settings that a Realm was opened with, and further state of the open Realm.

internal import Dispatch
internal import RegnumEngine
internal import RegnumQuery

final class RealmSettings {
    private(set) var configuration: Realm.Configuration
    let place: Realm.Configuration.Place
    let database: Database
    /// All classes of the schema, including those without a table in a read-only file.
    let schema: SchemaSet
    /// The queue that the Realm is confined to; nil for a thread.
    let queue: DispatchQueue?
    /// Where the Realm was opened, for messages.
    var home = ""
    /// Runs work on the actor that the Realm is confined to; nil for threads and queues.
    var mailbox: ActorMailbox?
    /// Asynchronous writes that have not finished; nil if there has never been one.
    var asyncWrites: AsyncWrites?
    var autorefresh = true
    /// Set for the Realms of a `RealmPool`.
    var poolRole: PoolRole?
    /// Verifies the file in the background while the Realm is open; nil if nothing is verified.
    var proof: BackgroundProof?
    /// The classes as queries see them, by table. Columns do not change while a Realm is open.
    var queryClasses: [TableKey: QueryClass] = [:]
    /// Queries that an index would have helped, by table and column.
    var scans: [TableKey: [Int: ScanRecord]] = [:]
    /// Set while a migration block runs: primary keys can then be stored, and are checked when it ends.
    var work: SchemaMigrator?
    /// The number of calls of `invalidate`; collections created before the last one are invalid.
    @exclusivity(unchecked) var invalidations = 0
    /// The work that waits for the end of the running write.
    var afterWrite: [@Sendable () -> Void] = []
    /// Records the write transactions of this Realm, so that they can be undone.
    weak var undo: UndoStack?
    /// The running transaction, or the opening, if operations are observed.
    var operation: (any RunningOperation)?
    /// The outcome of the running write, if an object or collection was handed over within it.
    var writeFate: WriteOutcome?

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

    /// The key under which `RealmCache` finds the Realm; nil for Realms that only the library uses.
    var key: RealmCache.Key?
    /// The owner for whom the running write is kept if the Realm is released; nil if the write ends then.
    var owner: OpenWrite.Owner?
    /// The task that began that write, if the Realm is confined to a thread.
    var task: Int?

    /// Called once the Realm is open: no caller waits for it any more, and opening it again later with the same
    /// settings must not be cancelled through this control.
    func forgetControl() { configuration.extras.control = nil }

    func knows(_ type: ObjectBase.Type) -> Bool { schema.classes.contains { $0.type == type } }
}
