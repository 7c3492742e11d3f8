// SPDX-License-Identifier: Apache-2.0
// Observation of projections: an object is observed, and its changes are reported by the names and values of the
// projected properties.

public import Dispatch
internal import RegnumEngine
internal import RegnumObservation

/// A changed projected property.
public typealias ProjectedPropertyChange = PropertyChange

final class ProjectionObserver<P: ProjectionObservable>: ChangeObserver {
    private struct Property {
        let name: String
        let projected: any AnyProjected
        /// The region whose changes count as changes to the property.
        let region: Region
        /// The first property of the path, in the root, and its column.
        let first: ClassProperty
        let column: Int
    }

    private var projection: P
    private let properties: [Property]
    private let block: (ObjectChange<P>) -> Void
    private var isDeleted = false

    /// Creates an observer. If `keyPaths` is nil, it observes all projected properties. Invalid key paths are a
    /// programmer error.
    init(_ projection: P, keyPaths: [String]?, _ block: @escaping (ObjectChange<P>) -> Void) {
        self.projection = projection
        self.block = block
        let binding = projection.rootObject.binding
        let projected = projection.projectedProperties()
        // A name may be that of a property of the root, or of a projected property.
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
            // A projected property without a stored property never changes.
            guard let place = binding.schema.properties.firstIndex(where: { $0.name == first }) else { return nil }
            return Property(
                name: name, projected: projected, region: binding.region([path], depth: 0),
                first: binding.schema.properties[place], column: binding.columns[place])
        }
    }

    /// Returns whether one path is a prefix of the other.
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

    func advance(_ walk: RegionTraversal, isLocal: Bool) throws(EngineError) -> (() -> Void)? {
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

    /// Returns the previous value of the projected property if the root's own property has changed: it is read from an
    /// unmanaged root with the previous value.
    private func oldValue(
        _ property: Property, _ root: ObjectBase, _ walk: RegionTraversal
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

    /// Returns the value, or nil for a collection: collections have no old values.
    private static func shown(_ value: Any) -> Any? {
        guard let value = unwrapped(value), !(value is any Sequence & ThreadConfined) else { return nil }
        return value
    }
}

extension ProjectionObservable {
    /// Calls `block` after each change to a projected property, and once when the object is deleted. Changes are
    /// reported under the names of the projected properties. It is a programmer error if the object is unmanaged or
    /// frozen.
    ///
    /// - Parameters:
    ///   - keyPaths: names of properties of the root object, such as "name" or "address.city", or of projected
    ///     properties; only changes to these are reported. If nil, changes to all projected properties.
    ///   - queue: a serial queue for the callbacks; if nil, they run on the thread of the projection.
    ///   - block: the callback, which receives the changes.
    /// - Returns: A token. Keep it as long as you want to be notified.
    public func observe(
        keyPaths: [String]? = nil, on queue: DispatchQueue? = nil, _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        requireObservable()
        if queue == nil { rootObject.requireValid() }
        return observing(self, on: queue, tellsEnd: true, checking: { $0.check(keyPaths: keyPaths) }) {
            $0.entry(keyPaths, block)
        }
    }

    /// Reports a programmer error for invalid key paths.
    func check(keyPaths: [String]?) { _ = ProjectionObserver(self, keyPaths: keyPaths) { _ in } }

    /// Like `observe(keyPaths:on:_:)`, with key paths of the projection.
    public func observe(
        keyPaths: [PartialKeyPath<Self>], on queue: DispatchQueue? = nil,
        _ block: @escaping (ObjectChange<Self>) -> Void
    ) -> NotificationToken {
        observe(keyPaths: keyPaths.map { _name(for: $0) }, on: queue, block)
    }

    /// Registers the observation in the Realm that the object is, or was, in.
    func entry(_ keyPaths: [String]?, _ block: @escaping (ObjectChange<Self>) -> Void) -> ObservationEntry {
        rootObject.core.observeFromNow(ProjectionObserver(self, keyPaths: keyPaths, block))
    }

    func requireObservable() {
        if realm == nil { misuse("Only objects which are managed by a Realm support change notifications") }
    }
}
