// SPDX-License-Identifier: Apache-2.0
// `LinkingObjects` as a property: nothing is stored; reading it from a managed object returns one bound to its row.

internal import RegnumEngine

/// A type-erased `LinkingObjects`, for code that knows the property from the schema.
public protocol _LinkingObjectsProtocol: _Persistable {
    init(_originProperty: String)
    /// The name of the property that links to the object; "" if the declaration does not specify it.
    var _originProperty: String { get }
    /// Returns the linking objects of a managed object, without retaining the object.
    static func _bound(to object: ObjectBase, originProperty: String) -> Self
}

extension LinkingObjects: _HasPersistedType, _Persistable, _LinkingObjectsProtocol {
    public typealias PersistedType = Self
    public typealias _Stored = LinkingObjects?

    public static var _shape: _PropertyShape {
        var shape = _PropertyShape(.linkingObjects, target: Element.self)
        shape.collection = .linkingObjects
        return shape
    }

    public init(_originProperty: String) { self.init(property: _originProperty) }
    public var _originProperty: String { handle.originProperty }

    public static func _bound(to object: ObjectBase, originProperty: String) -> LinkingObjects {
        let handle = LinkingObjectsHandle(originType: Element.self, originProperty: originProperty)
        handle.bind(
            to: RowReference(binding: object.binding, key: object.rowKey, rollbacks: Int(object.rowRollbacks))
        )
        return LinkingObjects(handle: handle)
    }

    public static var _unset: LinkingObjects? { nil }
    public static func _wrapped(_ value: LinkingObjects) -> LinkingObjects? { value }
    public static func _peek(_ stored: LinkingObjects?) -> LinkingObjects? { stored }
    public static func _filled(_ stored: inout LinkingObjects?) -> LinkingObjects {
        if let stored { return stored }
        return LinkingObjects(property: "")
    }
    public static func _replace(_ stored: inout LinkingObjects?, _ value: LinkingObjects) { stored = value }

    public static func _load(
        _ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int
    ) -> LinkingObjects {
        _bound(to: object, originProperty: object.binding.schema.originProperty(at: offset))
    }

    public static var _hasFixedSize: Bool { false }
    public static func _store(
        _ value: LinkingObjects, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        fatalError("linking objects have no column")
    }
    public static func _assign(_ value: LinkingObjects, _ object: ObjectBase, _ column: Int) {
        fatalError("linking objects have no column")
    }

    public static func _fromRaw(_ raw: _RawValue) -> LinkingObjects { LinkingObjects(property: "") }
    public static func _toRaw(_ value: LinkingObjects) -> _RawValue { _RawValue(.null) }
    public static func _coerced(_ value: Any) -> LinkingObjects? { nil }
    public static func _dynamic(_ value: LinkingObjects) -> Any? { value }
    public static func _traced(_ recorder: _KeyPathRecorder) -> LinkingObjects {
        let links = LinkingObjects(property: "")
        links.handle.trace(recorder, as: nil)
        return links
    }
}

/// A type-erased `LinkingObjects`, for tracing key paths.
protocol TraceableLinks {
    var handle: LinkingObjectsHandle { get }
}

extension LinkingObjects: TraceableLinks, TracedField {
    func recordField() { handle.recordField() }
}
