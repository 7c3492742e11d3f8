// SPDX-License-Identifier: Apache-2.0
// What a migration block gets: the objects as they were, the objects as they are to be.

internal import RegnumEngine

/// An object in a migration: its properties are known by name.
public typealias MigrationObject = DynamicObject

/// Called with an object as it was, nil where its class is new, and as it is to be, nil where its class is gone.
public typealias MigrationObjectEnumerateBlock = (_ oldObject: MigrationObject?, _ newObject: MigrationObject?) -> Void

/// A file on its way from one schema to another. Good inside of the migration block, on the thread that runs it.
///
/// Everything that the block does is one write transaction: when it ends, primary keys are proved, and all of it is
/// stored together with the new schema version. Whatever fails leaves the file as it was.
///
/// ```swift
/// migration.enumerateObjects(ofType: "Person") { old, new in
///     new?["fullName"] = "\(old?["firstName"] ?? "") \(old?["lastName"] ?? "")"
/// }
/// ```
public final class Migration {
    /// The classes as they are in the file: the names of properties are those of the columns.
    public private(set) var oldSchema: Schema
    /// The classes as they are declared; while steps run, by the names of columns.
    public private(set) var newSchema: Schema

    let work: SchemaWork
    private(set) var old: RealmCore
    private let new: RealmCore
    let settings: RealmSettings
    private let control: MigrationControl?
    private var failure: (any Error)?
    private var hasBegun = false
    private var isOver = false
    /// How often tables got other columns since.
    private var shapeCount = 0

    /// Why the migration did not go through.
    enum Failure: Error { case refused(String) }

    /// `before` shows the version before; `settings` are those of the Realm, with the classes to be. Tables are changed
    /// at the first use, as a list of steps may have other ideas first.
    init(_ work: SchemaWork, before: Session, settings: RealmSettings) {
        self.work = work
        self.settings = settings
        control = settings.configuration.extras.control
        new = RealmCore(session: work.session)
        let ours = RealmSettings(
            configuration: settings.configuration, place: settings.place, database: settings.database,
            schema: settings.schema, queue: settings.queue)
        ours.work = work
        new.configurationBox = ours
        newSchema = Schema(settings.schema.classes)
        (old, oldSchema) = Self.core(before, settings)
    }

    private static func core(_ before: Session, _ settings: RealmSettings) -> (RealmCore, Schema) {
        let core = RealmCore(session: before, isReadOnly: true, isFrozen: true)
        // Frozen ones ask at each use whether they are still open; this one is told when the migration ends.
        before.state.pointee.owner = currentThreadWord()
        core.configurationBox = RealmSettings(
            configuration: settings.configuration, place: settings.place, database: settings.database,
            schema: SchemaSet.of([]), queue: nil)
        return (core, Schema(before.tables.map { ClassSchema.dynamic($0.definition, known: nil, in: before) }))
    }

    /// Before the first use: steps have brought the file to another version, which `before` shows.
    func start(from before: Session) {
        precondition(!hasBegun)
        old.retireForGood()
        (old, oldSchema) = Self.core(before, settings)
    }

    /// Brings the tables to the classes. True while there is something to be done.
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

    /// Steps go by columns, and classes of a text have no types: both are reached by name alone.
    private func bindClasses() {
        if work.goesByColumns { return }
        new.bind(settings.schema.classes.filter { $0.type != DynamicObject.self })
    }

    /// Runs `body` with the new objects as files know them: by the names of columns, without the defaults, numbers and
    /// types of classes. So it means the same with the classes of today and with those of a text.
    func goingByColumns(_ body: () -> Void) {
        goByColumns(true)
        body()
        goByColumns(false)
    }

    private func goByColumns(_ does: Bool) {
        let declared = Schema(settings.schema.classes)
        // What the classes will be to the next step, should there be one some day.
        newSchema = does ? (try? Schema.golden(declared.goldenText)) ?? declared : declared
        work.goesByColumns = does
        if !hasBegun || failure is EngineError { return }
        new.retireForGood()
        bindClasses()
        shapeCount += 1
    }

    /// After the block. Throws what went wrong in it.
    func end() throws {
        if !isOver { _ = ready() }
        isOver = true
        new.retireForGood()
        old.retireForGood()
        new.settings.work = nil
        if let failure { throw failure }
    }

    private func check() {
        if isOver { misuse("A migration cannot be used after its block: do everything inside of the block.") }
        new.check()
    }

    private func note(_ words: String?) {
        if let words, failure == nil { failure = Failure.refused(words) }
    }

    /// The migration cannot go on, for the reason given.
    func refuse(_ words: String) { note(words) }

    /// True once something was changed.
    var isUnderWay: Bool { hasBegun }
    /// True once it is certain that the migration fails.
    var hasFailed: Bool { failure != nil }

    // MARK: Objects

    /// Calls `block` with each object of a class that was in the file before, in the order of their making: as it was,
    /// by the names of columns, and as it is to be, by the names of properties. Of a class that is new, with each
    /// object made so far. Objects deleted meanwhile are left out; objects made meanwhile are not visited. O(n).
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
        var rows = RowWalk(before)
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

    /// The table of the file before: of the same name, or that which has been renamed to it.
    private func oldTable(_ typeName: String) -> Table? {
        if let table = new.session.table(named: typeName), let before = old.session.table(table.definition.key) {
            return before
        }
        return old.session.table(named: typeName)
    }

    /// The table as it is to be; nil where no class stands for it.
    private func newTable(_ key: TableKey) -> Table? {
        guard let table = new.session.table(key), newSchema[table.definition.name] != nil else { return nil }
        return table
    }

    private func accessor(_ binding: ClassBinding, _ key: ObjectKey) -> MigrationObject {
        unsafeDowncast(binding.makeAccessor(key), to: DynamicObject.self)
    }

    /// Makes an object from a dictionary, an array in the order of the properties, or another object. Misuse for a
    /// class that is not declared, and for values that do not fit.
    @discardableResult
    public func create(_ typeName: String, value: Any = [:] as [String: Any]) -> MigrationObject {
        // An object must be made even of a migration that was given up; where tables could not be changed there is none.
        if !ready(), let error = failure as? EngineError { misuse(error) }
        if newSchema[typeName] == nil { new.refuseClass(typeName) }
        return Realm(core: new).dynamicCreate(typeName, value: value)
    }

    /// Deletes an object as it is to be. Misuse for one as it was.
    public func delete(_ object: MigrationObject) {
        _ = ready()
        new.delete(object)
    }

    /// Deletes all objects of a class; where it is not declared any more, its table too. False where the file has no
    /// such class.
    @discardableResult
    public func deleteData(forType typeName: String) -> Bool {
        guard ready(), let table = new.session.table(named: typeName) else { return false }
        let session = new.session
        engine { () throws(EngineError) in
            if newSchema[typeName] == nil {
                if session.isTarget(table.definition.key) {
                    // The columns whose links lead there go when the block has ended, and the table behind them.
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

    /// Gives the values of one property to another. Objects as they are to be that were taken before are invalid
    /// afterwards. What stands against it fails the migration when the block has ended: opening throws, and the file
    /// stays as it was.
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

    /// As the member of `MigrationAdditions`.
    func rename(class oldName: String, to newName: String) {
        guard ready() else { return }
        engine { () throws(EngineError) in note(try work.renameClass(from: oldName, to: newName)) }
        reshaped()
    }

    /// As the member of `MigrationAdditions`.
    func fail(_ error: any Error) {
        check()
        if failure == nil { failure = error }
    }

    /// Tables have other columns now.
    private func reshaped() {
        new.retireAccessors()
        shapeCount += 1
    }
}

/// The accessor that a block is given for one object after the other: a new one only where the block has kept it.
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

/// What migrations can do beyond RealmSwift. A protocol, so that members of your own with these names win.
public protocol MigrationAdditions: AnyObject {}

extension Migration: MigrationAdditions {}

extension MigrationAdditions {
    /// Gives the objects of one class to another, with all links to them: what they have in common stays, the rest is
    /// added and removed as in any migration. The old class must not be declared any more, and no object of the new
    /// one exist; that the file has the new class without objects does not matter. What stands against it fails the
    /// migration when the block has ended. O(1) but for indexes.
    ///
    /// ```swift
    /// migration.renameClass(from: "Car", to: "Vehicle")
    /// ```
    public func renameClass(from oldName: String, to newName: String) {
        (self as? Migration)?.rename(class: oldName, to: newName)
    }

    /// Gives the migration up: when the block has ended, opening throws `error` and the file is as it was.
    public func abort(_ error: any Error) { (self as? Migration)?.fail(error) }
}
