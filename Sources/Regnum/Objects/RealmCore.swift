// SPDX-License-Identifier: Apache-2.0
// What a `Realm` value wraps: one session of the engine with the classes bound to its tables. Confined to the
// thread (queue, actor) that opened it; frozen ones may be used anywhere.
//
// `Realm` is a struct over one of these: `let core: RealmCore`, `init(core: RealmCore)`.

internal import Foundation
package import RegnumEngine
import RegnumSystem
package import Synchronization

package final class RealmCore {
    package let session: Session
    package let isReadOnly: Bool
    package let isFrozen: Bool
    /// The configuration it was opened with, and whatever else the opener wants to keep with it.
    @exclusivity(unchecked) package var configurationBox: AnyObject?
    /// Asked when a call comes from another thread than the owner: true where the caller is rightful all the
    /// same (a queue or an actor that moved to another thread); it has then set
    /// `session.state.pointee.owner`.
    package var adoptsCaller: (() -> Bool)?
    /// True where that is asked at each use, also on the owner's thread: threads serve many queues and actors, and
    /// the next one on the thread is not rightful.
    @exclusivity(unchecked) var asksAlways = false
    /// Stores of property setters straight into columns.
    let stores: UnsafeMutablePointer<UInt64>
    /// Bound classes. One class may be bound once; two classes of one name never.
    package private(set) var bindings: [ObjectIdentifier: ClassBinding] = [:]
    private var bindingsByTable: [TableKey: ClassBinding] = [:]
    /// Tables as dynamic objects see them, made when first asked for.
    private(set) var dynamicBindings: [TableKey: ClassBinding] = [:]
    /// Contexts and bindings of before an `invalidate`: accessors still point at them.
    private var retired: [ClassBinding] = []
    /// Of a frozen Realm, which several threads may read at once: held while something is made on demand.
    private let sharing: NSRecursiveLock?
    private let accessorCount = Atomic(0)
    /// Observations that have not ended.
    let observationCount = Atomic(0)
    /// The number of them.
    var livingObservations: Int { observationCount.load(ordering: .relaxed) }
    /// True where code that a test kit has abandoned may hold references for ever.
    package let mayBeAbandoned = Atomic(false)
    /// True until something is read: then a thread-safe reference may still choose the version.
    @exclusivity(unchecked) private(set) var isUntouched = true
    /// Tells observers; nil where there never was one.
    @exclusivity(unchecked) var notifier: RealmNotifier?
    /// What scopes of Observation have read; nil where no class is observable, or nothing was read.
    var tracker: ReadTracker?
    /// `changeCount` when the running write began.
    @exclusivity(unchecked) private(set) var writeStart: UInt64 = 0
    /// Last binding asked for.
    @exclusivity(unchecked) private var recent: (type: ObjectIdentifier, binding: ClassBinding)?

    /// Every class of `schemas` must have its table in the session.
    package init(session: Session, isReadOnly: Bool = false, isFrozen: Bool = false) {
        self.session = session
        self.isReadOnly = isReadOnly
        self.isFrozen = isFrozen
        stores = .allocate(capacity: 1)
        stores.initialize(to: 0)
        sharing = isFrozen ? NSRecursiveLock() : nil
        isUntouched = !isFrozen
        // Nobody owns it, so every access comes to `checkSlowly`.
        if isFrozen { session.state.pointee.owner = 0 }
    }

    /// Keeps this alive for one more accessor. All accessors together hold one reference: a cache refers to this weakly,
    /// so that its references are counted slowly. May be called on any thread by whoever holds a reference.
    @inline(__always)
    func countAccessor() {
        if accessorCount.add(1, ordering: .relaxed).oldValue == 0 { _ = Unmanaged.passUnretained(self).retain() }
    }

    /// The end of an accessor, on any thread. Each way from none to one takes a reference and each way back lets go of
    /// one, in whatever order they come.
    @inline(__always)
    func dropAccessor() {
        if accessorCount.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            Unmanaged.passUnretained(self).release()
        }
    }

    /// Runs `body` while no other thread does so on this Realm: for what a frozen Realm makes on demand.
    @inline(__always)
    package func alone<R>(_ body: () throws -> R) rethrows -> R {
        guard let sharing else { return try body() }
        return try sharing.withLock(body)
    }

    /// From now on the version is not the next reader's choice.
    @inline(__always)
    func touch() {
        // No store where there is nothing to change: many threads may read a frozen Realm at once.
        if isUntouched { isUntouched = false }
    }

    /// To be called when a write has begun.
    func noteWriteStart() { writeStart = changeCount }

    /// As `noteWriteStart`, of a write that has begun before.
    func resumeWrite(hasChanges: Bool) {
        touch()
        writeStart = hasChanges ? changeCount &- 1 : changeCount
    }

    deinit {
        if isWriting { keepOpenWrite() }
        stores.deallocate()
    }

    /// Moves with everything that may change what a query finds: refreshes, and each store in a write. Caches
    /// of results compare this, not the session's own count, which does not see what setters store directly.
    package var changeCount: UInt64 { session.changeCount &+ stores.pointee }

    /// Binds classes to the session's tables. A class without a table stays unbound (read-only Realms
    /// tolerate it).
    package func bind(_ schemas: [ClassSchema]) {
        for schema in schemas {
            guard let table = session.table(named: schema.name) else { continue }
            let binding = ClassBinding(core: self, schema: schema, table: table)
            bindings[ObjectIdentifier(schema.type)] = binding
            bindingsByTable[binding.tableKey] = binding
        }
        recent = nil
    }

    /// To be called after a refresh that changed tables.
    package func reloadTables() {
        for binding in bindings.values { reload(binding) }
        for binding in dynamicBindings.values { reload(binding) }
    }

    private func reload(_ binding: ClassBinding) {
        let table = session.table(binding.tableKey)
        if table === binding.table { return }
        guard let table, binding.fits(table.definition) else {
            misuse(
                "Another process has migrated the Realm to schema version \(session.schemaVersion), in which class "
                    + "'\(binding.schema.name)' is another. Update this program, or open the Realm anew with the "
                    + "classes of that version.")
        }
        binding.table = table
    }

    func remember(dynamic binding: ClassBinding) { dynamicBindings[binding.tableKey] = binding }

    // MARK: Confinement

    /// Misuse unless the caller is the owner. Two loads and a compare where it is, 20 ns for queues and actors.
    @inline(__always)
    package func check() {
        if session.state.pointee.owner != currentThreadWord() || asksAlways { checkSlowly() }
    }

    @inline(never)
    private func checkSlowly() {
        if session.database.isForked {
            misuse(
                "Realm used in the child of a fork. What was opened before the fork belongs to the parent process: "
                    + "open the Realm again in the child, or fork before you open one.")
        }
        if isFrozen {
            if isClosed { misuse("Cannot read from a frozen Realm which has been invalidated. Freeze it anew.") }
            return
        }
        if adoptsCaller?() == true { return }
        let home = (configurationBox as? RealmSettings)?.home ?? "another thread"
        misuse(
            "Realm accessed from incorrect thread. It was opened on \(home) and is used on "
                + "\(Confinement.callerDescription). Open a Realm there, or hand over a frozen copy or a "
                + "ThreadSafeReference.")
    }

    /// As `check`, without misuse.
    var isRightfulCaller: Bool {
        if session.state.pointee.owner == currentThreadWord() && !asksAlways { return true }
        return isFrozen || adoptsCaller?() == true
    }

    /// True for a frozen Realm after `invalidate`.
    var isClosed: Bool { (configurationBox as? RealmSettings).map { $0.invalidations > 0 } ?? false }

    package var isWriting: Bool { session.state.pointee.isWriting }

    /// Misuse unless in a write transaction of the calling thread.
    package func requireWrite(
        _ outside: @autoclosure () -> String =
            "Can only add, remove, or create objects in a Realm in a write transaction - call "
            + "beginWrite() first.",
        frozen: @autoclosure () -> String =
            "Attempting to modify a frozen object - call thaw on the Object instance first."
    ) {
        check()
        if session.state.pointee.isWriting { return }
        misuse(isFrozen ? frozen() : outside())
    }

    // MARK: Classes

    /// The binding of a class; misuse where the Realm does not know the class.
    package func binding(for type: ObjectBase.Type) -> ClassBinding {
        touch()
        if let found = bindingIfAny(for: type) { return found }
        if let clash = (configurationBox as? RealmSettings)?.schema.clashes[ObjectIdentifier(type)] {
            misuse(clash)
        }
        refuseClass(ClassNames.name(of: type))
    }

    /// A class that is not in the schema.
    func refuseClass(_ name: String) -> Never { misuse(unknownClass(name)) }

    func unknownClass(_ name: String) -> String {
        "Object type '\(name)' is not managed by the Realm. If using a custom `objectClasses` / `objectTypes` array in your "
            + "configuration, add `\(name)` to the list of `objectTypes`."
    }

    package func bindingIfAny(for type: ObjectBase.Type) -> ClassBinding? {
        let id = ObjectIdentifier(type)
        if let recent, recent.type == id { return recent.binding }
        guard let found = bindings[id] else { return nil }
        // Many threads may read a frozen Realm at once.
        if !isFrozen { recent = (id, found) }
        return found
    }
    package func binding(forTable key: TableKey) -> ClassBinding? { bindingsByTable[key] }
    package func binding(named name: String) -> ClassBinding? {
        bindings.values.first { $0.schema.name == name }
    }

    // MARK: Ends of accessors

    /// To be called after each roll-back: objects made in it are gone for ever, although their keys may come
    /// again.
    package func noteRollback() {
        for binding in Array(bindings.values) + dynamicBindings.values {
            let table = binding.table
            let count = table.count
            // A commit that failed goes on to throw why. Of objects that cannot be read no accessor stays.
            var last = ObjectKey.none
            if count > 0, let key = try? table.key(atPosition: count - 1) { last = key }
            binding.rollbackFloors.append(last.rawValue)
        }
    }

    /// To be called by `Realm.invalidate()`: every accessor made so far is invalid from now on.
    package func retireAccessors() {
        let schemas = bindings.values.map(\.schema)
        for binding in Array(bindings.values) + dynamicBindings.values {
            binding.context.pointee.kind = .retired
            binding.context.pointee.state = ClassContext.neverState
            retired.append(binding)
        }
        bindings = [:]
        bindingsByTable = [:]
        dynamicBindings = [:]
        bind(schemas)
    }

    /// Every accessor made so far is invalid from now on, and no more are made.
    func retireForGood() {
        retireAccessors()
        bindings = [:]
        bindingsByTable = [:]
    }
}
