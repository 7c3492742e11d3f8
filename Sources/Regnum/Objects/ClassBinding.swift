// SPDX-License-Identifier: Apache-2.0
// A class in one open Realm: its table, the column of each property, and the way to make accessors. Confined
// to the Realm's thread, as everything that hangs on a `RealmCore`.

internal import Observation
public import RegnumEngine
internal import RegnumObservation
internal import RegnumSystem

/// What every accessor of one class in one Realm points at. Never moves while an accessor exists.
@usableFromInline @frozen
package struct ClassContext {
    @usableFromInline @frozen
    package enum Kind: UInt8 {
        case managed
        /// The object records which properties are read; see `KeyPathNames`.
        case traced
        /// The Realm was invalidated after the accessor was made: it stays invalid.
        case retired
    }

    /// The session's epoch and owner; of contexts that are not `managed` one whose epoch matches no object.
    @usableFromInline var state: UnsafeMutablePointer<SessionState>
    /// Column number by byte offset of the property's wrapper in the object; -1 where there is none.
    @usableFromInline var columnNumbers: UnsafePointer<Int16>
    /// The `ClassBinding`; nil for traced objects.
    @usableFromInline var binding: UnsafeMutableRawPointer?
    @usableFromInline var kind: Kind
    /// The session's state, for slow paths: also where `state` never matches.
    @usableFromInline var session: UnsafeMutablePointer<SessionState>
    /// Offset of the primary key's wrapper; -1 where there is none.
    @usableFromInline var primaryKeyOffset = -1
    /// Of the `RealmCore`: counts the stores that bypassed the engine.
    @usableFromInline var stores: UnsafeMutablePointer<UInt64>
    /// Of managed objects; owned by the `ClassBinding`.
    var recycled: UnsafeMutablePointer<RecycledValues>?
    /// The class is observable: reads are to be told. Then `state` never matches.
    var isTracked = false
    /// The column that was read of an object whose row had to be looked up, where `asksForReadColumn`; -1 before.
    var readColumn = -1
    /// An `ObjectCursor` wants to know which column is read. Never of a frozen Realm, whose objects several threads read.
    var asksForReadColumn = false
    /// Of dynamic objects; owned by the `ClassBinding`.
    var names: UnsafeMutablePointer<NamePlaces>?

    init(
        stores: UnsafeMutablePointer<UInt64>, state: UnsafeMutablePointer<SessionState>,
        columnNumbers: UnsafePointer<Int16>,
        binding: UnsafeMutableRawPointer?, kind: Kind
    ) {
        self.stores = stores
        self.state = state
        session = state
        self.columnNumbers = columnNumbers
        self.binding = binding
        self.kind = kind
    }

    /// A state that no object's epoch matches, so that every access takes the slow path.
    // unsafe: written once here, only read afterwards.
    nonisolated(unsafe) static let neverState: UnsafeMutablePointer<SessionState> = {
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: MemoryLayout<SessionState>.stride, alignment: 16)
        Memory.zero(memory, MemoryLayout<SessionState>.stride)
        let state = memory.bindMemory(to: SessionState.self, capacity: 1)
        state.pointee.epoch = -1
        return state
    }()
}

/// One class in one Realm. Owned by `RealmCore.bindings`; accessors keep the core alive, the core keeps this.
package final class ClassBinding {
    package unowned(unsafe) let core: RealmCore
    /// `core`, whose references are counted slowly.
    private let uncountedCore: Unmanaged<RealmCore>
    private let isFrozen: Bool
    package let schema: ClassSchema
    package let tableKey: TableKey
    /// Replaced by `RealmCore.reloadTables` when the session's tables change.
    @exclusivity(unchecked) package internal(set) var table: Table { didSet { uncounted = .passUnretained(table) } }
    /// `table`, for `withTable`.
    @exclusivity(unchecked) private var uncounted: Unmanaged<Table>
    let context: UnsafeMutablePointer<ClassContext>
    /// Column number of each property, in the order of `schema.properties`; -1 for linking objects.
    package let columns: [Int]
    /// True where the primary key is a plain `Int`.
    let isKeyedByInt: Bool
    private let columnNumbers: UnsafeMutablePointer<Int16>
    private let recycled = UnsafeMutablePointer<RecycledValues>.allocate(capacity: 1)
    /// Last key of the table after each roll-back; see `RealmCore.noteRollback`.
    @exclusivity(unchecked) var rollbackFloors: [UInt64] = []
    /// What key paths that were observed stand for; see `region`.
    var regions: [[String]: Region] = [:]
    /// The property that an `IndexedEquality` was asked of last, and where it lies if that can be asked.
    @exclusivity(unchecked) var lastAsked: (member: QueryMember, place: (column: Int, type: ColumnType)?)?
    @exclusivity(unchecked) private var insertPlan: InsertPlan? {
        didSet { uncountedPlan = insertPlan.map { .passUnretained($0) } }
    }
    @exclusivity(unchecked) private var uncountedPlan: Unmanaged<InsertPlan>?

    /// The column of each stored property must exist in the table (the opener of the Realm has seen to it).
    init(core: RealmCore, schema: ClassSchema, table: Table) {
        self.core = core
        uncountedCore = .passUnretained(core)
        isFrozen = core.isFrozen
        self.schema = schema
        self.table = table
        uncounted = .passUnretained(table)
        tableKey = table.definition.key
        columns = schema.properties.map { property in
            property.isComputed ? -1 : table.definition.column(named: property.columnName) ?? -1
        }
        isKeyedByInt = schema.primaryKey.map { schema.properties[$0].isInt } ?? false
        let size = schema.instanceSize + 1
        columnNumbers = .allocate(capacity: size)
        columnNumbers.initialize(repeating: -1, count: size)
        for (number, property) in zip(columns, schema.properties) {
            columnNumbers[property.offset] = Int16(truncatingIfNeeded: number)
        }
        context = .allocate(capacity: 1)
        // Frozen objects do not change.
        let isTracked = !core.isFrozen && schema.type is any Observable.Type
        // A read-only file may lack some: what is read then is the default.
        let lacksColumns = zip(columns, schema.properties).contains { $0 < 0 && !$1.isComputed }
        context.initialize(
            to: ClassContext(
                stores: core.stores,
                state: schema.hasIgnoredWrappers || isTracked || lacksColumns
                    ? ClassContext.neverState : core.session.state,
                columnNumbers: columnNumbers, binding: nil, kind: .managed))
        context.pointee.session = core.session.state
        recycled.initialize(to: RecycledValues())
        context.pointee.recycled = recycled
        context.pointee.isTracked = isTracked
        context.pointee.binding = Unmanaged.passUnretained(self).toOpaque()
        if let place = schema.primaryKey {
            context.pointee.primaryKeyOffset = schema.properties[place].offset
        }
        if !schema.plainForms.isEmpty {
            let names = UnsafeMutablePointer<NamePlaces>.allocate(capacity: 1)
            names.initialize(to: NamePlaces(schema, columns: columns))
            context.pointee.names = names
        }
    }

    /// Runs `body` with the table, without counting a reference; it must not change the session's tables.
    @inline(__always)
    func withTable<R>(_ body: (Table) throws(EngineError) -> R) -> R {
        uncounted._withUnsafeGuaranteedRef { table in engine { () throws(EngineError) in try body(table) } }
    }

    /// Runs `body` with what `add` stores per property, made on first use, without counting a reference.
    @inline(__always)
    func withInsertPlan<R>(_ body: (InsertPlan) -> R) -> R {
        if uncountedPlan == nil { insertPlan = InsertPlan(self) }
        return uncountedPlan.unsafelyUnwrapped._withUnsafeGuaranteedRef(body)
    }

    /// True where the columns that the properties were bound to are where they were, and hold the same.
    func fits(_ definition: TableDefinition) -> Bool {
        let old = table.definition
        return definition.name == old.name
            && columns.allSatisfy { column in
                if column < 0 { return true }
                guard column < definition.columns.count else { return false }
                var (now, before) = (definition.columns[column], old.columns[column])
                (now.isIndexed, before.isIndexed) = (false, false)
                (now.isContentIndexed, before.isContentIndexed) = (false, false)
                (now.deleteRule, before.deleteRule) = (.nullify, .nullify)
                (now.originRule, before.originRule) = (.nullify, .nullify)
                return now == before
            }
    }

    deinit {
        recycled.pointee.removeAll()
        recycled.deallocate()
        if let names = context.pointee.names {
            names.pointee.deallocate()
            names.deallocate()
        }
        context.deallocate()
        columnNumbers.deallocate()
    }

    /// A new accessor of an object that exists. Does not run the user's initialiser where it can be helped.
    /// About 35 ns.
    package func makeAccessor(_ key: ObjectKey) -> ObjectBase {
        let object = schema.accessors.make()
        bind(object, key)
        return object
    }

    /// Makes `object` the accessor of a row. It looks its row up at the first access.
    package func bind(_ object: ObjectBase, _ key: ObjectKey) {
        precondition(object.rowHolder == nil, "an object that is bound already")
        uncountedCore._withUnsafeGuaranteedRef { $0.countAccessor() }
        object.rowHolder = .fromOpaque(uncountedCore.toOpaque())
        object.rowKey = key
        object.rowEpoch = .min
        object.rowRollbacks = Int32(truncatingIfNeeded: rollbackFloors.count)
        object.rowContext = context
        if schema.hasStoredCollections { bindStoredCollections(of: object) }
        if schema.isEncodable { markWrappers(of: object) }
        // Frozen objects go from thread to thread: nothing of them may change after this.
        if isFrozen { _ = object.resolve() }
    }

    /// Gives an object that is bound its stored `let` collections.
    private func bindStoredCollections(of object: ObjectBase) {
        for (column, property) in zip(columns, schema.properties) where property.isField {
            property.placeField(in: object, column: column)
        }
    }

    private func markWrappers(of object: ObjectBase) {
        for property in schema.properties where property.storage == .wrapper { property.markManaged(in: object) }
    }

    /// `bind` with the row known: no lookup at the first access.
    package func bind(_ object: ObjectBase, _ key: ObjectKey, at location: RowLocation) {
        bind(object, key)
        object.rowColumns = location.group.columns
        object.rowNumber = Int32(truncatingIfNeeded: location.row)
        object.rowEpoch = context.pointee.session.pointee.epoch
    }

    /// Points an accessor that nobody else holds at another row. Only where `schema.isRecyclable`.
    @inline(__always)
    package func rebind(_ object: ObjectBase, _ key: ObjectKey, at location: RowLocation) {
        object.rowKey = key
        object.rowRollbacks = Int32(truncatingIfNeeded: rollbackFloors.count)
        object.rowColumns = location.group.columns
        object.rowNumber = Int32(truncatingIfNeeded: location.row)
        object.rowEpoch = context.pointee.session.pointee.epoch
        if object.hasMadeCollections(at: schema.collectionOffsets) { repointCollections(of: object, at: location) }
    }

    /// As `rebind` with the row not known: it is looked up at the first access.
    @inline(__always)
    func rebind(_ object: ObjectBase, _ key: ObjectKey) {
        object.rowKey = key
        object.rowRollbacks = Int32(truncatingIfNeeded: rollbackFloors.count)
        object.rowEpoch = .min
        if object.hasMadeCollections(at: schema.collectionOffsets) { repointCollections(of: object, at: nil) }
    }

    /// The collections that an accessor has made become those of its new row. One that somebody holds, or that no
    /// column stores, stays what it was, and the accessor lets go of it.
    @inline(never)
    func repointCollections(of object: ObjectBase, at location: RowLocation?) {
        let fields = Unmanaged.passUnretained(object).toOpaque()
        for offset in schema.collectionOffsets {
            let field = (fields + offset).assumingMemoryBound(to: Unmanaged<_ManagedCollection>?.self)
            guard let collection = field.pointee else { continue }
            let isOurs = collection.isHeldOnce
            if isOurs, collection._withUnsafeGuaranteedRef({ $0.isManaged }) {
                collection._withUnsafeGuaranteedRef {
                    $0.repoint(to: object.rowKey, rollbacks: Int(object.rowRollbacks), at: location)
                }
            } else {
                field.pointee = nil
                collection.release()
            }
        }
    }

    /// Where the object lies now; nil where it is gone for this accessor.
    func locate(_ key: ObjectKey, rollbacks: Int) -> RowLocation? {
        guard context.pointee.kind == .managed else { return nil }
        if rollbacks != rollbackFloors.count {
            for floor in rollbackFloors[rollbacks...] where key.rawValue > floor { return nil }
        }
        return engine { () throws(EngineError) in try table.locate(key) }
    }
}
