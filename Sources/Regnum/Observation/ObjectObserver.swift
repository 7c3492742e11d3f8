// SPDX-License-Identifier: Apache-2.0
// Observers of single objects.

public import Foundation
internal import RegnumEngine
internal import RegnumObservation

/// A property of an observed object that has changed.
public struct PropertyChange {
    /// The name of the property in Swift.
    public let name: String
    /// The value before the change. Nil if the change was made through the same Realm, for collections, and for links
    /// that the observer's key paths follow.
    public let oldValue: Any?
    /// The value after the change. Nil for collections, and for links that the observer's key paths follow.
    public let newValue: Any?

    package init(name: String, oldValue: Any?, newValue: Any?) {
        self.name = name
        self.oldValue = oldValue
        self.newValue = newValue
    }
}

/// A change passed to the block that observes an object.
@frozen
public enum ObjectChange<T> {
    /// Never sent: kept for switches that name it.
    case error(_ error: NSError)
    /// Properties have changed, in the order of the schema.
    case change(_ object: T, _ properties: [PropertyChange])
    /// The object was deleted; no call follows.
    case deleted
}

extension ObjectChange {
    /// Returns the same change for a block that takes changes of a base class.
    func seen<Base>(as type: Base.Type) -> ObjectChange<Base> {
        switch self {
        case .error(let error): return .error(error)
        case .deleted: return .deleted
        case .change(let object, let properties):
            guard let object = object as? Base else { misuse("'\(T.self)' is not a '\(Base.self)'.") }
            return .change(object, properties)
        }
    }
}

final class ObjectObserver<T: ObjectBase>: ChangeObserver {
    private var object: T
    private let region: Region
    private let block: (ObjectChange<T>) -> Void
    private var isDeleted = false

    init(_ object: T, region: Region, _ block: @escaping (ObjectChange<T>) -> Void) {
        self.object = object
        self.region = region
        self.block = block
    }

    func tables(in session: Session) -> Set<TableKey>? { region.tables(in: session) }

    var watching: Watching { Watching(region: region) }

    func begin() throws(EngineError) -> (() -> Void)? { nil }

    func revive(in home: _RealmHome) {
        if let moved = object._moved(to: home, mayBeMissing: true) { object = moved }
    }

    func advance(_ walk: RegionTraversal, isLocal: Bool) throws(EngineError) -> (() -> Void)? {
        if isDeleted { return nil }
        if object.isInvalidated {
            isDeleted = true
            return { [block] in block(.deleted) }
        }
        guard try walk.modified(region).contains(object.rowKey) else { return nil }
        let binding = object.binding
        let columns = try region.columns(of: object.rowKey, in: walk)
        var changes: [PropertyChange] = []
        for (property, column) in zip(binding.schema.properties, binding.columns) {
            if column >= 0 {
                guard columns.contains(column) else { continue }
                changes.append(try change(of: property, column, walk, isLocal: isLocal))
            } else if let step = binding.step(property, column)?.step,
                try walk.isReached(object.rowKey, by: step, region)
            {
                changes.append(PropertyChange(name: property.name, oldValue: nil, newValue: nil))
            }
        }
        return { [block, object] in block(.change(object, changes)) }
    }

    private func change(
        of property: ClassProperty, _ column: Int, _ walk: RegionTraversal, isLocal: Bool
    ) throws(EngineError) -> PropertyChange {
        // Links that key paths follow are reported without values, however the change was reached.
        let isOwn =
            !region.passedColumns.contains(column)
            && (walk.changes[object.binding.tableKey]?.columns(of: object.rowKey)?.contains(column) ?? false)
        if property.shape.isCollection || !isOwn {
            return PropertyChange(name: property.name, oldValue: nil, newValue: nil)
        }
        var old: Any?
        if !isLocal, let table = walk.older.table(object.binding.tableKey) {
            old = property.dynamicValue(try table.value(column, of: object.rowKey), of: object, column)
        }
        return PropertyChange(
            name: property.name, oldValue: byName(old, property.isBridgedByName), newValue: property.named(of: object))
    }
}

extension ClassProperty {
    /// Returns the value that the column of the object held, as a subscript would show it. Nil for links to objects
    /// that no longer exist, and for collections inside mixed values, which can only be read at their location.
    func dynamicValue(_ value: Value, of object: ObjectBase, _ column: Int) -> Any? {
        let core = object.core
        var raw = _RawValue(value)
        switch value {
        case .link(let key):
            guard let target = shape.target.flatMap({ linkedClass($0, of: object, column) }), target.holds(key)
            else { return nil }
            raw.binding = target
        case .typedLink(let table, let key):
            let known = core.binding(forTable: table) ?? core.session.table(table).map { core.dynamicBinding($0) }
            guard let known, known.holds(key) else { return nil }
            raw.place = PropertyLocation(object, column: column, path: [])
        case .list, .dictionary: return nil
        default: break
        }
        func open<V: _HasPersistedType>(_ type: V.Type) -> Any? { V._shown(raw) }
        if let type { return open(type) }
        return (fieldType as? any AnyRealmProperty.Type).flatMap { open($0.valueType) }
    }

    /// The class that the links of the column point to; for a dynamic object, the class of the target table.
    private func linkedClass(_ type: ObjectBase.Type, of object: ObjectBase, _ column: Int) -> ClassBinding? {
        type == DynamicObject.self
            ? object.core.dynamicTarget(of: object.binding, column) : object.core.bindingIfAny(for: type)
    }
}

extension ClassBinding {
    /// True if the object currently exists.
    fileprivate func holds(_ key: ObjectKey) -> Bool { locate(key, rollbacks: rollbackFloors.count) != nil }
}
