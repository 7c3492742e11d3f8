// SPDX-License-Identifier: Apache-2.0
// `@Projected`: a property of a projection, read through the root object at each access.

/// A property of a `Projection`: the value at a key path from its root object. It can be set if the key path is
/// writable; if the root is managed, only in a write transaction.
@propertyWrapper
public struct Projected<Root: ObjectBase, Value> {
    private let keyPath: KeyPath<Root, Value>

    /// Creates a property with the value at `projectedKeyPath`.
    public init(_ projectedKeyPath: KeyPath<Root, Value>) { keyPath = projectedKeyPath }

    @available(*, unavailable, message: "@Projected is only available on properties of Projection classes")
    public var wrappedValue: Value {
        get { fatalError("unavailable") }
        set { fatalError("unavailable") }
    }

    public static subscript<EnclosingSelf: Projection<Root>>(
        _enclosingInstance projection: EnclosingSelf,
        wrapped wrapped: ReferenceWritableKeyPath<EnclosingSelf, Value>,
        storage storage: ReferenceWritableKeyPath<EnclosingSelf, Self>
    ) -> Value {
        get { projection.rootObject[keyPath: projection[keyPath: storage].keyPath] }
        set {
            guard let path = projection[keyPath: storage].keyPath as? ReferenceWritableKeyPath<Root, Value> else {
                misuse(
                    "KeyPath is not writable: set the property of the object that the projected property leads "
                        + "to instead.")
            }
            projection.rootObject[keyPath: path] = newValue
        }
    }
}

/// A type-erased `Projected`, found by reflection.
protocol AnyProjected {
    /// Reads the value from a traced root, which records the names of the stored properties on the path.
    func trace() -> _KeyPathRecorder
    func value(of root: ObjectBase) -> Any
}

extension AnyProjected {
    /// The names of the properties on the path, joined by dots.
    var path: String { trace().path ?? "self" }
}

extension Projected: AnyProjected {
    func trace() -> _KeyPathRecorder {
        let recorder = _KeyPathRecorder()
        recorder.recordEnd(Root._traced(recorder)[keyPath: keyPath])
        return recorder
    }

    func value(of root: ObjectBase) -> Any { unsafeDowncast(root, to: Root.self)[keyPath: keyPath] }
}
