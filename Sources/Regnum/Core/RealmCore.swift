// SPDX-License-Identifier: Apache-2.0
// The class behind a `Realm` value: one session of the engine and the classes bound to its tables. Confined to the
// thread (queue, actor) that opened it; a frozen one can be used on any thread.
//
// `Realm` is a struct around one of these: `let core: RealmCore`, `init(core: RealmCore)`.

internal import Foundation
package import RegnumEngine
import RegnumSystem
package import Synchronization

package final class RealmCore {
    package let session: Session
    package let isReadOnly: Bool
    package let isFrozen: Bool
    /// The settings it was opened with. `RealmOpening` sets them before it hands out the core; nil only in tests.
    @exclusivity(unchecked) var openedWith: RealmSettings?
    /// Called when the caller is not on the owner's thread. Returns true if access is allowed nevertheless (the queue
    /// or actor has moved to another thread); in that case it has set `session.state.pointee.owner`.
    package var adoptsCaller: (() -> Bool)?
    /// True if `adoptsCaller` is called on each access, even on the owner's thread: a thread serves many queues and
    /// actors, and the next one on it must not have access.
    @exclusivity(unchecked) var asksAlways = false
    /// The number of stores that property setters made directly into columns.
    let stores: UnsafeMutablePointer<UInt64>
    /// Bound classes. A class is bound at most once, and no two bound classes have the same name.
    package private(set) var bindings: [ObjectIdentifier: ClassBinding] = [:]
    private var bindingsByTable: [TableKey: ClassBinding] = [:]
    /// Bindings of tables for dynamic objects, created on demand.
    private(set) var dynamicBindings: [TableKey: ClassBinding] = [:]
    /// Contexts and bindings from before an `invalidate`; accessors still point at them.
    private var retired: [ClassBinding] = []
    /// Only in a frozen Realm, which several threads may read at once: held while something is created on demand.
    private let sharing: NSRecursiveLock?
    private let accessorCount = Atomic(0)
    /// The number of observations that have not ended, shared between threads.
    let observationCount = Atomic(0)
    /// The current value of `observationCount`.
    var livingObservations: Int { observationCount.load(ordering: .relaxed) }
    /// True if code abandoned by a test kit may hold references that are never released.
    package let mayBeAbandoned = Atomic(false)
    /// True until something is read; until then a thread-safe reference may still choose the version.
    @exclusivity(unchecked) private(set) var isUntouched = true
    /// Notifies observers; nil if there has never been one.
    @exclusivity(unchecked) var notifier: RealmNotifier?
    /// The reads made in scopes of Observation; nil if no class is observable or nothing was read.
    var tracker: ReadTracker?
    /// The value of `changeCount` when the current write transaction began.
    @exclusivity(unchecked) private(set) var writeStart: UInt64 = 0
    /// The most recently looked up binding.
    @exclusivity(unchecked) private var recent: (type: ObjectIdentifier, binding: ClassBinding)?

    /// Creates a core with no bound classes; `bind` adds them.
    package init(session: Session, isReadOnly: Bool = false, isFrozen: Bool = false) {
        self.session = session
        self.isReadOnly = isReadOnly
        self.isFrozen = isFrozen
        stores = .allocate(capacity: 1)
        stores.initialize(to: 0)
        sharing = isFrozen ? NSRecursiveLock() : nil
        isUntouched = !isFrozen
        // No thread is the owner, so every access calls `checkSlowly`.
        if isFrozen { session.state.pointee.owner = 0 }
    }

    /// Counts one more accessor, which keeps this core alive. All accessors together hold one reference: a cache refers
    /// to the core weakly, which makes reference counting slow. Any thread; the caller must hold a reference.
    @inline(__always)
    func countAccessor() {
        if accessorCount.add(1, ordering: .relaxed).oldValue == 0 { _ = Unmanaged.passUnretained(self).retain() }
    }

    /// Ends an accessor, on any thread. Each change of the count from zero to one takes a reference and each change
    /// back releases one, in whatever order they occur.
    @inline(__always)
    func dropAccessor() {
        if accessorCount.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 {
            Unmanaged.passUnretained(self).release()
        }
    }

    /// Runs `body` while no other thread does so on this Realm. Used for state that a frozen Realm creates on demand.
    @inline(__always)
    package func alone<R>(_ body: () throws -> R) rethrows -> R {
        guard let sharing else { return try body() }
        return try sharing.withLock(body)
    }

    /// Fixes the version: from now on a thread-safe reference cannot choose it.
    @inline(__always)
    func touch() {
        // Store only if the value changes: many threads may read a frozen Realm at once.
        if isUntouched { isUntouched = false }
    }

    /// Records the start of a write transaction. Called when one has begun.
    func noteWriteStart() { writeStart = changeCount }

    /// Like `noteWriteStart`, for a write transaction that began earlier.
    func resumeWrite(hasChanges: Bool) {
        touch()
        writeStart = hasChanges ? changeCount &- 1 : changeCount
    }

    deinit {
        if isWriting { keepOpenWrite() }
        stores.deallocate()
    }

    /// Changes whenever the result of a query may change: at a refresh, and at each store in a write transaction.
    /// Caches of results compare this instead of the session's own count, which does not include the stores that
    /// setters make directly.
    package var changeCount: UInt64 { session.changeCount &+ stores.pointee }

    /// Binds classes to the session's tables. A class without a table stays unbound; read-only Realms tolerate it.
    package func bind(_ schemas: [ClassSchema]) {
        for schema in schemas {
            guard let table = session.table(named: schema.name) else { continue }
            let binding = ClassBinding(core: self, schema: schema, table: table)
            bindings[ObjectIdentifier(schema.type)] = binding
            bindingsByTable[binding.tableKey] = binding
        }
        recent = nil
    }

    /// Updates the bindings. Called after a refresh that changed tables.
    package func reloadTables() {
        for binding in bindings.values { reload(binding) }
        for binding in dynamicBindings.values { reload(binding) }
        // A refresh, or a write that began, was faster than the callback of the commit that has failed.
        if session.hasLeftAbandoned { noteRollback() }
    }

    private func reload(_ binding: ClassBinding) {
        let table = session.table(binding.tableKey)
        if table === binding.table { return }
        guard let table, binding.fits(table.definition) else {
            misuse(
                "Another process has migrated the Realm to schema version \(session.schemaVersion), and class "
                    + "'\(binding.schema.name)' is different there. Update this program, or reopen the Realm with the "
                    + "classes of that version.")
        }
        binding.table = table
    }

    func remember(dynamic binding: ClassBinding) { dynamicBindings[binding.tableKey] = binding }

    /// True for a frozen Realm after `invalidate`.
    var isClosed: Bool { openedWith.map { $0.invalidations > 0 } ?? false }

    package var isWriting: Bool { session.state.pointee.isWriting }

    // MARK: Classes

    /// Returns the binding of a class. A class unknown to the Realm is a programmer error.
    package func binding(for type: ObjectBase.Type) -> ClassBinding {
        touch()
        if let found = bindingIfAny(for: type) { return found }
        if let clash = openedWith?.schema.clashes[ObjectIdentifier(type)] {
            misuse(clash)
        }
        refuseClass(ClassNames.name(of: type))
    }

    /// Reports a programmer error: the class is not in the schema.
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

    // MARK: Invalidating accessors

    /// Records a rollback. Called after each rollback: objects created in it must stay invalid, although their keys are
    /// given to later objects. `tables`: those in which objects may have been created; nil for all.
    package func noteRollback(in tables: Set<TableKey>? = nil) {
        for binding in Array(bindings.values) + dynamicBindings.values
        where tables?.contains(binding.tableKey) ?? true {
            // Not the last object's key: an outer rollback may bring objects back that were deleted before this one.
            let next = min(binding.table.nextKey, session.firstAbandonedKey(of: binding.tableKey) ?? .max)
            binding.rollbackFloors.append(max(next, 1) - 1)
        }
        if tables == nil { session.hasLeftAbandoned = false }
    }

    /// Invalidates every existing accessor. Called by `Realm.invalidate()`.
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

    /// Invalidates every existing accessor, and unbinds all classes so that no new ones are created.
    func retireForGood() {
        retireAccessors()
        bindings = [:]
        bindingsByTable = [:]
    }
}
