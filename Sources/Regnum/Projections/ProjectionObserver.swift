// SPDX-License-Identifier: Apache-2.0
// Observers of projections: an observed object whose changes are told by the names of the projected properties, with
// the values that these show.

public import Dispatch
internal import RegnumEngine
internal import RegnumObservation

/// A projected property that has changed.
public typealias ProjectedPropertyChange = PropertyChange

final class ProjectionObserver<P: ProjectionObservable>: ChangeObserver {
    private struct Property {
        let name: String
        let projected: any AnyProjected
        /// What counts as its change.
        let region: Region
        /// The property of the root with which the path begins, and its column.
        let first: ClassProperty
        let column: Int
    }

    private var projection: P
    private let properties: [Property]
    private let block: (ObjectChange<P>) -> Void
    private var isDeleted = false

    /// Nil: all projected properties. Misuse for key paths that lead to nothing.
    init(_ projection: P, keyPaths: [String]?, _ block: @escaping (ObjectChange<P>) -> Void) {
        self.projection = projection
        self.block = block
        let binding = projection.rootObject.binding
        let projected = projection.projectedProperties()
        // A name is that of a property of the root, or of one of the projection's own.
        let wanted = keyPaths?.map { name -> String in
            let first = name.prefix { $0 != "." }
            if binding.schema.properties.contains(where: { $0.name == first }) { return name }
            return projected.first { $0.name == name }?.projected.path ?? name
        }
        for name in wanted ?? [] { _ = binding.region([name], depth: 0) }
        properties = projected.compactMap { name, projected in
            let path = projected.path
            if let wanted, !wanted.contains(where: { Self.areRelated($0, path) }) { return nil }
            let first = path.prefix { $0 != "." }
            // What shows no stored property does not change.
            guard let place = binding.schema.properties.firstIndex(where: { $0.name == first }) else { return nil }
            return Property(
                name: name, projected: projected, region: binding.region([path], depth: 0),
                first: binding.schema.properties[place], column: binding.columns[place])
        }
    }

    /// True where one begins with the other.
    private static func areRelated(_ left: String, _ right: String) -> Bool {
        left == right || left.hasPrefix(right + ".") || right.hasPrefix(left + ".")
    }

    func tables(in session: Session) -> Set<TableKey>? {
        properties.reduce(into: [projection.rootObject.binding.tableKey]) {
            $0.formUnion($1.region.tables(in: session))
        }
    }

    func begin() throws(EngineError) -> (() -> Void)? { nil }

    func revive(in home: _RealmHome) {
        if let moved = projection._moved(to: home, mayBeMissing: true) { projection = moved }
    }

    func advance(_ walk: RegionWalk, isLocal: Bool) throws(EngineError) -> (() -> Void)? {
        let root = projection.rootObject
        if isDeleted { return nil }
        if root.isInvalidated {
            isDeleted = true
            return { [block] in block(.deleted) }
        }
        var changes: [PropertyChange] = []
        for property in properties where try walk.modified(property.region).contains(root.rowKey) {
            changes.append(
                PropertyChange(
                    name: property.name, oldValue: isLocal ? nil : try oldValue(property, root, walk),
                    newValue: unwrapped(property.projected.value(of: root))))
        }
        if changes.isEmpty { return nil }
        return { [block, projection] in block(.change(projection, changes)) }
    }

    /// What the property showed before, where the root's own property has changed: an unmanaged root with the value
    /// of then shows it.
    private func oldValue(
        _ property: Property, _ root: ObjectBase, _ walk: RegionWalk
    ) throws(EngineError) -> Any? {
        let table = root.binding.tableKey
        guard property.column >= 0, !property.first.shape.isCollection,
            walk.changes[table]?.columns(of: root.rowKey)?.contains(property.column) ?? false,
            let before = try walk.older.table(table)?.value(property.column, of: root.rowKey)
        else { return nil }
        let past = P.Root()
        let value = property.first.dynamicValue(before, of: root, property.column)
        guard property.first.set(past, value as Any) else { return nil }
        return Self.shown(property.projected.value(of: past))
    }

    /// Collections have no old values.
    private static func shown(_ value: Any) -> Any? {
        guard let value = unwrapped(value), !(value is any Sequence & ThreadConfined) else { return nil }
        return value
    }
}

extension ProjectionObservable {
    /// Calls `block` after each change of what the projection shows, and once when its object is deleted. Changes have
    /// the names of the projected properties.
    ///
    /// - Parameters:
    ///   - keyPaths: names of properties of the root object, as in "name" or "address.city", or of projected
    ///     properties: only what these show counts. Nil: all projected properties.
    ///   - queue: a serial queue to be called on; nil: the thread of the projection.
    ///   - block: is told what has changed.
    /// - Returns: the token to hold as long as calls are wanted. Misuse where the object is unmanaged or frozen.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        requireObservable()
        if queue == nil { rootObject.requireValid() }
        return observing(self, on: queue, tellsEnd: true, checking: { $0.check(keyPaths: keyPaths) }) {
            $0.entry(keyPaths, block)
        }
    }

    /// Misuse for key paths that lead to nothing.
    func check(keyPaths: [String]?) { _ = ProjectionObserver(self, keyPaths: keyPaths) { _ in } }

    /// As `observe(keyPaths:on:_:)`, with key paths of the projection.
    public func observe(
        keyPaths: [PartialKeyPath<Self>], on queue: DispatchQueue? = nil,
        _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }

    /// Observes where the object is, or has been.
    func entry(_ keyPaths: [String]?, _ block: @escaping (ObjectChange<Self>) -> Void) -> ObservationEntry {
        rootObject.core.observeFromNow(ProjectionObserver(self, keyPaths: keyPaths, block))
    }

    func requireObservable() {
        if realm == nil { misuse("Only objects which are managed by a Realm support change notifications") }
    }
}
