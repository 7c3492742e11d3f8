// SPDX-License-Identifier: Apache-2.0
// Property names of key paths. On Linux a key path has no name, so it is traced: the getters of a traced
// object record which property was read and return objects that are traced too. About 0.6 us per level, 0.1 us if
// cached.

internal import RegnumEngine
internal import RegnumSystem

/// Records the names of the properties that a key path reads.
public final class _KeyPathRecorder {
    private(set) var names: [String] = []
    /// False if a computed property has read two properties of one object.
    private(set) var isStraight = true

    /// Returns an object whose reads are recorded. Runs the user's initialiser only if that cannot be avoided.
    func makeTraced(_ type: ObjectBase.Type) -> ObjectBase {
        let schema = ClassSchema.of(type)
        let object = schema.accessors.make()
        object.rowHolder = Unmanaged.passRetained(self)
        object.rowKey = ObjectKey(rawValue: UInt64(names.count))
        object.rowContext = TracedContext.pointer
        for property in schema.properties where property.isField { property.placeTraced(in: object, self) }
        return object
    }

    /// The names joined by dots; nil if no property was read, or if they do not form one path.
    var path: String? { isStraight && !names.isEmpty ? names.joined(separator: ".") : nil }

    /// Records a name. The key of a traced object is the number of names recorded when it was created.
    fileprivate func record(_ name: String, from object: ObjectBase) {
        record(name, depth: Int(truncatingIfNeeded: object.rowKey.rawValue))
    }

    func record(_ name: String, depth: Int) {
        if depth != names.count { isStraight = false }
        names.append(name)
    }

    /// Records the field at the end of a key path, if its value is a collection or box: otherwise only reads of its
    /// contents would be recorded.
    func recordEnd(_ value: Any) {
        if let field = value as? any TracedField { field.recordField() }
    }
}

/// The value of a field of a traced object.
protocol TracedField {
    /// Records the field's name while a key path is traced through it.
    func recordField()
}

private enum TracedContext {
    // unsafe: written once here, then only read. There is no offset table, because the slow path does not use it.
    nonisolated(unsafe) static let pointer: UnsafeMutablePointer<ClassContext> = {
        let numbers = UnsafeMutablePointer<Int16>.allocate(capacity: 1)
        numbers.initialize(to: -1)
        let pointer = UnsafeMutablePointer<ClassContext>.allocate(capacity: 1)
        pointer.initialize(
            to: ClassContext(
                stores: .allocate(capacity: 1), state: ClassContext.neverState,
                columnNumbers: UnsafePointer(numbers),
                binding: nil, kind: .traced))
        return pointer
    }()
}

/// Reads a property of a traced object and records its name.
func recordRead<Value: _Persistable>(of object: ObjectBase, _ offset: Int) -> Value {
    let recorder = unsafeDowncast(object.rowHolder.unsafelyUnwrapped.takeUnretainedValue(), to: _KeyPathRecorder.self)
    let schema = ClassSchema.of(type(of: object))
    guard let property = schema.property(at: offset) else { return unmanagedGet(object, offset) }
    recorder.record(property.name, from: object)
    // Use the default declared by the class: a custom type may have no other.
    if Value._shape.isCustom, !Value._shape.isCollection { return unmanagedGet(type(of: object).init(), offset) }
    return Value._traced(recorder)
}

private let cachedNames = Lock<[AnyKeyPathBox: String]>([:])

/// A key path as a key of a dictionary shared by all threads.
private struct AnyKeyPathBox: Hashable, @unchecked Sendable {
    // Sendable: key paths are immutable, and those of stored properties capture only immutable state.
    let keyPath: AnyKeyPath
}

/// Returns the property name of a key path, or several names joined by dots. A key path to something that is not stored
/// is a programmer error.
public func _name<Root: ObjectBase>(for keyPath: PartialKeyPath<Root>) -> String {
    let box = AnyKeyPathBox(keyPath: keyPath)
    if let name = cachedNames.withLock({ $0[box] }) { return name }
    let name = tracedName(keyPath)
    cachedNames.withLock { $0[box] = name }
    return name
}

/// Returns the name of a key path whose root is known only at run time; nil if it reads no stored property.
func tracedName(of keyPath: AnyKeyPath, _ root: ObjectBase.Type) -> String? {
    let recorder = _KeyPathRecorder()
    if let end = recorder.makeTraced(root)[keyPath: keyPath] { recorder.recordEnd(end) }
    return recorder.isStraight && !recorder.names.isEmpty ? recorder.names.joined(separator: ".") : nil
}

private func tracedName<Root: ObjectBase>(_ keyPath: PartialKeyPath<Root>) -> String {
    let recorder = _KeyPathRecorder()
    let root = unsafeDowncast(recorder.makeTraced(Root.self), to: Root.self)
    recorder.recordEnd(root[keyPath: keyPath])
    guard recorder.isStraight, !recorder.names.isEmpty else {
        misuse(
            "The key path \(keyPath) of '\(Root.self)' does not lead to a stored property. Key paths in "
                + "queries, sorts "
                + "and observations may only go through properties marked @Persisted.")
    }
    return recorder.names.joined(separator: ".")
}
