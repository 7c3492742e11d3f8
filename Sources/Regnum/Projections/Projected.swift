// SPDX-License-Identifier: Apache-2.0
// `@Projected`: a property of a projection, found through the root object at each access.

/// A property of a `Projection`: what the key path from its root object leads to. It can be set where the key path
/// can, in a write transaction where the root is managed.
@propertyWrapper
public struct Projected<Root: ObjectBase, Value> {
    private let keyPath: KeyPath<Root, Value>

    /// Shows what `projectedKeyPath` leads to.
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

/// Any `Projected`, for those who find it by reflection.
protocol AnyProjected {
    /// Reads the value of a traced root: the names of the stored properties on the way.
    func trace() -> _KeyPathRecorder
    func value(of root: ObjectBase) -> Any
}

extension AnyProjected {
    /// The names of the properties on the way, joined by dots.
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
