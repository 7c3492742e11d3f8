// SPDX-License-Identifier: Apache-2.0
// The parameter of a migration block: the objects before the migration and after it.

internal import RegnumEngine

/// An object in a migration. Its properties are accessed by name.
public typealias MigrationObject = DynamicObject

/// Receives an object before the migration, nil if its class is new, and the same object after it, nil if its class has
/// been removed.
public typealias MigrationObjectEnumerateBlock = (_ oldObject: MigrationObject?, _ newObject: MigrationObject?) -> Void

/// A migration of a file from one schema to another. Valid within the migration block, on the thread that runs it.
///
/// Everything that the block does is part of one write transaction. When the block ends, primary keys are checked for
/// duplicates, and all changes are stored together with the new schema version. If anything fails, the file is left
/// unchanged.
///
/// ```swift
/// migration.enumerateObjects(ofType: "Person") { old, new in
///     new?["fullName"] = "\(old?["firstName"] ?? "") \(old?["lastName"] ?? "")"
/// }
/// ```
public final class Migration {
    /// The classes as stored in the file; properties have the names of their columns.
    public private(set) var oldSchema: Schema
    /// The classes as declared; while steps run, properties have the names of their columns.
    public private(set) var newSchema: Schema

    let work: SchemaMigrator
    private(set) var old: RealmCore
    private let new: RealmCore
    let settings: RealmSettings
    private let control: MigrationControl?
    private var failure: (any Error)?
    private var hasBegun = false
    private var isOver = false
    /// The number of times that columns of tables have changed.
    private var shapeCount = 0

    /// Why the migration failed.
    enum Failure: Error { case refused(String) }

    /// Creates a migration. `before` shows the version before it; `settings` are those of the Realm, with the new
    /// classes. Tables are changed at the first use, because a list of steps may first migrate to other schemas.
    init(_ work: SchemaMigrator, before: Session, settings: RealmSettings) {
        self.work = work
        self.settings = settings
        control = settings.configuration.extras.control
        new = RealmCore(session: work.session)
        let ours = RealmSettings(
            configuration: settings.configuration, place: settings.place, database: settings.database,
            schema: settings.schema, queue: settings.queue)
        ours.work = work
        new.openedWith = ours
        newSchema = Schema(settings.schema.classes)
        (old, oldSchema) = Self.core(before, settings)
    }

    private static func core(_ before: Session, _ settings: RealmSettings) -> (RealmCore, Schema) {
        let core = RealmCore(session: before, isReadOnly: true, isFrozen: true)
        // Frozen Realms check at each use whether they are still open; this one is retired when the migration ends.
        before.state.pointee.owner = currentThreadWord()
        core.openedWith = RealmSettings(
            configuration: settings.configuration, place: settings.place, database: settings.database,
            schema: SchemaSet.of([]), queue: nil)
        return (core, Schema(before.tables.map { ClassSchema.dynamic($0.definition, known: nil, in: before) }))
    }

    /// Starts from another version, which `before` shows, because steps have migrated the file to it. Call only before
    /// the first use.
    func start(from before: Session) {
        precondition(!hasBegun)
        old.retireForGood()
        (old, oldSchema) = Self.core(before, settings)
    }

    /// Adapts the tables to the classes at the first use. True if the migration has not failed.
    private func ready() -> Bool {
        check()
        if !hasBegun, failure == nil {
            hasBegun = true
            do {
                try work.begin()
                bindClasses()
            } catch { failure = error }
        }
        if control?.isCancelled == true { cancel() }
        return failure == nil
    }

    /// Steps work on columns, and classes from a schema text have no types: both are accessed by name only.
    private func bindClasses() {
        if work.goesByColumns { return }
        new.bind(settings.schema.classes.filter { $0.type != DynamicObject.self })
    }

    /// Runs `body` with the new objects as files describe them: by column names, without the defaults, automatic
    /// numbers and types of classes. Its effect is therefore the same with the current classes and with those of a
    /// schema text.
    func goingByColumns(_ body: () -> Void) {
        goByColumns(true)
        body()
        goByColumns(false)
    }

    private func goByColumns(_ does: Bool) {
        let declared = Schema(settings.schema.classes)
        // Use the classes as the next step would see them if one were added.
        newSchema = does ? (try? Schema.golden(declared.goldenText)) ?? declared : declared
        work.goesByColumns = does
        if !hasBegun || failure is EngineError { return }
        new.retireForGood()
        bindClasses()
        shapeCount += 1
    }

    /// Ends the migration after its block. Throws the first error of the block.
    func end() throws {
        if !isOver { _ = ready() }
        isOver = true
        new.retireForGood()
        old.retireForGood()
        new.settings.work = nil
        if let failure { throw failure }
    }

    private func check() {
        if isOver { misuse("A migration cannot be used after its block: do everything inside the block.") }
        new.check()
    }

    private func note(_ words: String?) {
        if let words, failure == nil { failure = Failure.refused(words) }
    }

    /// Fails the migration for the given reason.
    func refuse(_ words: String) { note(words) }

    /// True once something has been changed.
    var isUnderWay: Bool { hasBegun }
    /// True once the migration is certain to fail.
    var hasFailed: Bool { failure != nil }

    // MARK: Objects

    /// Calls `block` with each object of a class that was in the file before the migration, in the order of creation:
    /// with the old object, by column names, and the new one, by property names. For a new class, calls it with each
    /// object created so far. Skips objects that are deleted in the meantime; does not visit objects that are created
    /// in the meantime. O(n).
    public func enumerateObjects(ofType typeName: String, _ block: MigrationObjectEnumerateBlock) {
        guard ready() else { return }
        let isDeclared = newSchema[typeName] != nil
        guard let before = oldTable(typeName) else {
            if isDeclared { enumerateNew(typeName, block) }
            return
        }
        let oldBinding = old.dynamicBinding(before)
        let key = before.definition.key
        var watch = EnumerationWatch(control, typeName, total: before.count)
        var (oldObject, newObject) = (PassingAccessor(), PassingAccessor())
        var newBinding = newTable(key).map { new.dynamicBinding($0) }
        var shape = shapeCount
        var rows = RowTraversal(before)
        for position in 0..<before.count {
            if !watch.goesOn(position) { cancel() }
            if failure != nil { return }
            if shape != shapeCount {
                newBinding = newTable(key).map { new.dynamicBinding($0) }
                shape = shapeCount
            }
            guard let location = engine({ () throws(EngineError) in try rows.next() }) else { break }
            let object = location.key
            guard let newBinding else {
                block(oldObject.at(object, location, oldBinding), nil)
                continue
            }
            guard let place = engine({ () throws(EngineError) in try newBinding.table.locate(object) }) else {
                continue
            }
            block(oldObject.at(object, location, oldBinding), newObject.at(object, place, newBinding))
        }
        if !watch.goesOn(before.count) { cancel() }
    }

    private func cancel() {
        if failure == nil { failure = CancellationError() }
    }

    private func enumerateNew(_ typeName: String, _ block: MigrationObjectEnumerateBlock) {
        guard let table = new.session.table(named: typeName) else { return }
        let keys = engine { () throws(EngineError) in
            var keys: [ObjectKey] = []
            for position in 0..<table.count { keys.append(try table.key(atPosition: position)) }
            return keys
        }
        for key in keys {
            guard let table = new.session.table(named: typeName),
                engine({ () throws(EngineError) in try table.contains(key) })
            else { continue }
            block(nil, accessor(new.dynamicBinding(table), key))
        }
    }

    /// The table in the file before the migration: the one of that name, or the one that has been renamed to it.
    private func oldTable(_ typeName: String) -> Table? {
        if let table = new.session.table(named: typeName), let before = old.session.table(table.definition.key) {
            return before
        }
        return old.session.table(named: typeName)
    }

    /// The table in its new form; nil if no class corresponds to it.
    private func newTable(_ key: TableKey) -> Table? {
        guard let table = new.session.table(key), newSchema[table.definition.name] != nil else { return nil }
        return table
    }

    private func accessor(_ binding: ClassBinding, _ key: ObjectKey) -> MigrationObject {
        unsafeDowncast(binding.makeAccessor(key), to: DynamicObject.self)
    }

    /// Creates an object from a dictionary, an array in the order of the properties, or another object. It is a
    /// programmer error if the class is not declared or the values do not fit.
    @discardableResult
    public func create(_ typeName: String, value: Any = [:] as [String: Any]) -> MigrationObject {
        // An object must be returned even if the migration has failed; if the tables could not be changed, there is
        // none.
        if !ready(), let error = failure as? EngineError { misuse(error) }
        if newSchema[typeName] == nil { new.refuseClass(typeName) }
        return Realm(core: new).dynamicCreate(typeName, value: value)
    }

    /// Deletes a new object. Passing an old object is a programmer error.
    public func delete(_ object: MigrationObject) {
        _ = ready()
        new.delete(object)
    }

    /// Deletes all objects of a class, and its table if the class is no longer declared. Returns false if the file has
    /// no such class.
    @discardableResult
    public func deleteData(forType typeName: String) -> Bool {
        guard ready(), let table = new.session.table(named: typeName) else { return false }
        let session = new.session
        engine { () throws(EngineError) in
            if newSchema[typeName] == nil {
                if session.isTarget(table.definition.key) {
                    // The columns that link to it are dropped when the block has ended, and then the table.
                    try table.deleteAllPlainly()
                    work.remove(table.definition.key)
                } else {
                    try session.removeTable(table.definition.key)
                    reshaped()
                }
            } else {
                try table.deleteAll()
            }
        }
        return true
    }

    // MARK: Renaming

    /// Moves the values of one property to another. New objects obtained before the call are invalid afterwards. If the
    /// rename is not possible, the migration fails when the block has ended: opening throws, and the file is left
    /// unchanged.
    ///
    /// - Parameters:
    ///   - typeName: the name of the class.
    ///   - oldName: the name of the column in the file.
    ///   - newName: the name of the declared property, or of its column; or a name that is renamed again later.
    public func renameProperty(onType typeName: String, from oldName: String, to newName: String) {
        guard ready() else { return }
        engine { () throws(EngineError) in
            note(try work.renameProperty(of: typeName, from: oldName, to: newName))
        }
        reshaped()
    }

    /// Implements `MigrationAdditions.renameClass(from:to:)`.
    func rename(class oldName: String, to newName: String) {
        guard ready() else { return }
        engine { () throws(EngineError) in note(try work.renameClass(from: oldName, to: newName)) }
        reshaped()
    }

    /// Implements `MigrationAdditions.abort(_:)`.
    func fail(_ error: any Error) {
        check()
        if failure == nil { failure = error }
    }

    /// Called when the columns of tables have changed.
    private func reshaped() {
        new.retireAccessors()
        shapeCount += 1
    }
}

/// Reuses one accessor for successive objects; creates a new one only if the block has kept the last.
private struct PassingAccessor {
    private var object: MigrationObject?
    private var binding: ClassBinding?

    mutating func at(_ key: ObjectKey, _ location: RowLocation, _ binding: ClassBinding) -> MigrationObject {
        if self.binding === binding, isKnownUniquelyReferenced(&object), let object {
            binding.rebind(object, key, at: location)
            return object
        }
        let made = unsafeDowncast(binding.makeAccessor(key), to: DynamicObject.self)
        (object, self.binding) = (made, binding)
        return made
    }
}

/// Additions to RealmSwift's `Migration`. A protocol, so that a program's own members of the same names take
/// precedence.
public protocol MigrationAdditions: AnyObject {}

extension Migration: MigrationAdditions {}

extension MigrationAdditions {
    /// Moves the objects of one class to another, with all links to them. Properties that both classes have are kept;
    /// the others are added and removed as in any migration. The old class must no longer be declared, and there must
    /// be no objects of the new one; an empty table of the new class does not matter. If the rename is not possible,
    /// the migration fails when the block has ended. O(1), except for indexes.
    ///
    /// ```swift
    /// migration.renameClass(from: "Car", to: "Vehicle")
    /// ```
    public func renameClass(from oldName: String, to newName: String) {
        (self as? Migration)?.rename(class: oldName, to: newName)
    }

    /// Aborts the migration: when the block has ended, opening throws `error`, and the file is left unchanged.
    public func abort(_ error: any Error) { (self as? Migration)?.fail(error) }
}
