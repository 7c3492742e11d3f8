// SPDX-License-Identifier: Apache-2.0
// Names of key paths. On Linux a key path does not know its name, so it is traced: the getters of a traced
// object record which property was read and hand on objects that are traced too. About 0.6 us a level, 0.1 us
// cached.

internal import RegnumEngine
internal import RegnumSystem

/// Collects the names of the properties that a key path reads.
public final class _KeyPathRecorder {
    private(set) var names: [String] = []
    /// False where a computed property read two properties of one object.
    private(set) var isStraight = true

    /// An object whose reads are recorded. Runs the user's initialiser only where there is no other way.
    func makeTraced(_ type: ObjectBase.Type) -> ObjectBase {
        let schema = ClassSchema.of(type)
        let object = schema.accessors.make()
        object.rowHolder = Unmanaged.passRetained(self)
        object.rowKey = ObjectKey(rawValue: UInt64(names.count))
        object.rowContext = TracedContext.pointer
        for property in schema.properties where property.isField { property.placeTraced(in: object, self) }
        return object
    }

    /// The names joined by dots; nil where no property was read, or not one after the other.
    var path: String? { isStraight && !names.isEmpty ? names.joined(separator: ".") : nil }

    /// The key of a traced object is how many names were recorded when it was made.
    fileprivate func record(_ name: String, from object: ObjectBase) {
        record(name, depth: Int(truncatingIfNeeded: object.rowKey.rawValue))
    }

    func record(_ name: String, depth: Int) {
        if depth != names.count { isStraight = false }
        names.append(name)
    }

    /// Records what a key path ended at, where that is the collection or the box of a field: only what was read of it
    /// would have been recorded.
    func recordEnd(_ value: Any) {
        if let field = value as? any TracedField { field.recordField() }
    }
}

/// What a traced object has in a field.
protocol TracedField {
    /// Records the name of the field, if nothing has yet.
    func recordField()
}

private enum TracedContext {
    // unsafe: written once here, only read afterwards. No offset table: the slow path does not ask for it.
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

/// A read of a traced object.
func recordRead<Value: _Persistable>(of object: ObjectBase, _ offset: Int) -> Value {
    let recorder = unsafeDowncast(object.rowHolder.unsafelyUnwrapped.takeUnretainedValue(), to: _KeyPathRecorder.self)
    let schema = ClassSchema.of(type(of: object))
    guard let property = schema.property(at: offset) else { return unmanagedGet(object, offset) }
    recorder.record(property.name, from: object)
    // The default that the class gives: of a custom type there may be no other.
    if Value._shape.isCustom, !Value._shape.isCollection { return unmanagedGet(type(of: object).init(), offset) }
    return Value._traced(recorder)
}

private let cachedNames = Lock<[AnyKeyPathBox: String]>([:])

/// A key path as a key of a dictionary that all threads share.
private struct AnyKeyPathBox: Hashable, @unchecked Sendable {
    // Sendable: key paths are immutable; those of stored properties capture nothing that is not.
    let keyPath: AnyKeyPath
}

/// The name of the property, or the names joined by dots, that a key path leads through. Misuse where it
/// leads to something that is not stored.
public func _name<Root: ObjectBase>(for keyPath: PartialKeyPath<Root>) -> String {
    let box = AnyKeyPathBox(keyPath: keyPath)
    if let name = cachedNames.withLock({ $0[box] }) { return name }
    let name = tracedName(keyPath)
    cachedNames.withLock { $0[box] = name }
    return name
}

/// The name of a key path whose root is known only at run time; nil where it leads through nothing that is stored.
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
