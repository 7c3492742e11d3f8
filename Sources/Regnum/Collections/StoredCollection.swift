// SPDX-License-Identifier: Apache-2.0
// The code shared by `List` and `MutableSet`. An unmanaged collection holds an array. A managed one is a view of the
// elements in the file, found by the owner's key, so that it outlives the accessor it was read from.

public import Foundation
internal import RegnumEngine

/// The base class of `List` and `MutableSet`; only these are instantiated.
public class _StoredCollection<Element: RealmCollectionValue>: _ManagedCollection, TracedField {
    /// The elements while unmanaged. In a set they are distinct.
    final var items: [Element] = []
    /// The recorder, and the name it records for a read, while a key path is traced.
    private final var traced: (recorder: _KeyPathRecorder, name: String?, depth: Int)?

    /// Creates an empty, unmanaged collection.
    public override init() {}

    deinit {
        guard Element.self == AnyRealmValue.self, !items.isEmpty else { return }
        DeepRelease.release { waiting in
            for item in items { if let value = item as? AnyRealmValue { DeepRelease.take(value, into: &waiting) } }
            items = []
        }
    }

    /// The names of the collection's kind in messages.
    class var words: CollectionNames { .list }
}

/// The names of a kind of collection, as used in messages.
struct CollectionNames: Sendable {
    /// "List"
    let name: String
    /// "RLMArray"
    let objectiveName: String
    /// "array"
    let kind: String
    /// "arrays"
    let plural: String

    static let list = CollectionNames(name: "List", objectiveName: "RLMArray", kind: "array", plural: "arrays")
    static let set = CollectionNames(name: "Set", objectiveName: "RLMSet", kind: "set", plural: "sets")
    static let dictionary = CollectionNames(
        name: "Dictionary", objectiveName: "RLMDictionary", kind: "dictionary", plural: "dictionaries")
}

// MARK: Location

extension PropertyLocation {
    /// Returns the owner's row. Reports a programmer error if the collection cannot be read on this thread.
    @inline(__always) @discardableResult
    func check(_ words: @autoclosure () -> CollectionNames) -> RowLocation {
        core.check()
        guard let location = locate(), path == nil || isThere(words()) else { refuse(words()) }
        return location
    }

    @inline(never)
    private func refuse(_ words: CollectionNames) -> Never {
        misuse(
            "\(words.name) is no longer valid. Either the parent object was deleted or the containing Realm "
                + "has been invalidated or closed.")
    }

    /// Returns the owner's row. Reports a programmer error if the collection cannot be changed now.
    @inline(__always) @discardableResult
    func checkWritable(_ words: @autoclosure () -> CollectionNames) -> RowLocation {
        let location = check(words())
        if core.isWriting { return location }
        core.requireWrite(
            "Cannot modify \(words().name) outside of a write transaction. Put the change into "
                + "`realm.write { }`.")
        return location
    }

    /// Converts an engine value to an element.
    func element<Element: _HasPersistedType>(_ value: Value, as type: Element.Type) -> Element {
        // Common types are converted without a `_RawValue`.
        switch value {
        case .int(let number) where type == Int.self: return unsafeBitCast(Int(number), to: Element.self)
        case .double(let number) where type == Double.self: return unsafeBitCast(number, to: Element.self)
        case .string(let text) where type == String.self: return unsafeBitCast(text, to: Element.self)
        default: break
        }
        return Element._fromRaw(raw(value, of: type))
    }

    /// Converts an engine value to the form that subscripts of objects return.
    func shown<Element: _HasPersistedType>(_ value: Value, as type: Element.Type) -> Any? {
        Element._shown(raw(value, of: type))
    }

    /// Returns an engine value with the information needed to make an element of it.
    @inline(__always)
    private func raw<Element: _HasPersistedType>(_ value: Value, of type: Element.Type) -> _RawValue {
        var raw = _RawValue(value)
        switch value {
        case .link(let key):
            guard let target = Element._shape.target else { break }
            if key == .none { raw.value = .null } else { raw.binding = self.target(target) }
        case .typedLink, .list, .dictionary: raw.place = self
        // Needed for the message if the type cannot represent the value.
        default: if Element._shape.isPartial { raw.place = self }
        }
        return raw
    }

    /// Like `element(_:as:)`. If the element is itself a collection, it is given its own location.
    func element<Element: _HasPersistedType>(
        _ value: Value, as type: Element.Type, at step: @autoclosure () -> NestedStep
    ) -> Element {
        switch value {
        case .list, .dictionary: nested(at: step()).element(value, as: type)
        default: element(value, as: type)
        }
    }

    /// Converts an element to an engine value; an unmanaged object is added to the Realm. An object of another class is
    /// a programmer error.
    func engineValue<Element: _HasPersistedType>(_ element: Element, _ words: CollectionNames) -> Value {
        if let plain = plainEngineValue(element) { return plain }
        let raw = Element._toRaw(element)
        if let mixed = raw.mixed {
            if words.kind == CollectionNames.set.kind { mixed.requireSetElement() }
            return core.mixedValue(mixed, depth: (path?.count ?? 0) + 1) { core.adopt($0, for: .property) }
        }
        guard let object = raw.object else { return raw.value }
        if Element._shape.target == DynamicObject.self {
            let target = self.target(DynamicObject.self)
            return core.dynamicKey(object, target, for: .collection(words.name)).map { .link($0) } ?? .null
        }
        if let target = Element._shape.target, type(of: object) != target {
            refuseClass(of: object, ClassNames.name(of: target), words)
        }
        return .link(core.adopt(object, for: .collection(words.name)))
    }

    /// Reports a programmer error for embedded objects that are already managed. Call it before the current elements
    /// are deleted.
    func requireNoOwners<Element: _HasPersistedType>(_ elements: [Element], _ words: CollectionNames) {
        if !binding.table.ownsTargets(of: column) { return }
        for element in elements {
            if let object = Element._toRaw(element).object { core.requireNoOwner(object, .collection(words.name)) }
        }
    }

    /// Returns the engine value to search for, or nil if the element is an object that is not in this Realm. An object
    /// of a class other than the element class is a programmer error, because its key may equal that of an element.
    func soughtValue<Element: _HasPersistedType>(_ element: Element, _ words: CollectionNames) -> Value? {
        let raw = Element._toRaw(element)
        if let mixed = raw.mixed { return core.soughtMixedValue(mixed) }
        guard let wanted = raw.object else { return raw.value }
        let isDynamic = Element._shape.target == DynamicObject.self
        if let target = Element._shape.target, !isDynamic, type(of: wanted) != target {
            refuseClass(of: wanted, ClassNames.name(of: target), words)
        }
        guard wanted.rowContext != nil else { return nil }
        wanted.requireValid()
        guard wanted.core === core else { return nil }
        if isDynamic {
            let target = self.target(DynamicObject.self)
            if wanted.binding.tableKey != target.tableKey { refuseClass(of: wanted, target.schema.name, words) }
        }
        return .link(wanted.rowKey)
    }

    /// Returns whether both are the same property of the same object.
    func isSame(as other: PropertyLocation) -> Bool {
        binding === other.binding && key == other.key && column == other.column && path == other.path
    }

    /// The owning object, for queries.
    var owner: RowReference { RowReference(binding: binding, key: key, rollbacks: rollbacks) }
}

/// Reports a programmer error for an object of a class other than the element class: a subclass has its own table.
func requireClass<Element: _HasPersistedType>(of elements: some Sequence<Element>, _ words: CollectionNames) {
    let shape = Element._shape
    guard let target = shape.target, !shape.isCustom, target != DynamicObject.self else { return }
    for element in elements {
        guard let object = Element._toRaw(element).object, type(of: object) != target else { continue }
        refuseClass(of: object, ClassNames.name(of: target), words)
    }
}

/// Reports a programmer error: an object of a class that the collection cannot hold.
@inline(never)
func refuseClass(of object: ObjectBase, _ wanted: String, _ words: CollectionNames) -> Never {
    // A dynamic object represents its table.
    let isDynamic = object is DynamicObject && object.rowContext != nil
    let given = isDynamic ? object.classSchema.name : ClassNames.name(of: type(of: object))
    if words.kind == CollectionNames.dictionary.kind {
        misuse("Value of type '\(given)' does not match RLMDictionary value type '\(wanted)'.")
    }
    misuse("Object of type '\(given)' does not match \(words.objectiveName) type '\(wanted)'.")
}

extension _StoredCollection {
    /// Returns the location of a managed collection after checking access to it; nil for an unmanaged collection.
    @inline(__always)
    final func checkedPlace() -> PropertyLocation? {
        guard let place else { return nil }
        note(place.check(Self.words))
        return place
    }

    /// Like `checkedPlace`, but also requires a write transaction.
    @inline(__always)
    final func writablePlace() -> PropertyLocation? {
        guard let place else { return nil }
        note(place.checkWritable(Self.words))
        return place
    }
}

// MARK: Elements

extension _StoredCollection {
    public final var startIndex: Int { 0 }
    public final var endIndex: Int { count }
    public final func index(after i: Int) -> Int { i + 1 }
    public final func index(before i: Int) -> Int { i - 1 }

    /// The number of elements.
    public final var count: Int {
        if let known { return known.count }
        guard let place = checkedPlace() else {
            recordField()
            return items.count
        }
        return place.elementCount()
    }

    public final var isEmpty: Bool { count == 0 }

    final func element(at position: Int) -> Element {
        if let known {
            let value = known.withTable { table throws(EngineError) in
                try table.elementValue(known.column, of: known.key, at: known.location, position)
            }
            switch value {
            case .int(let number) where Element.self == Int.self: return unsafeBitCast(Int(number), to: Element.self)
            case .some(let value):
                if let place { return place.element(value, as: Element.self, at: .index(position)) }
            case nil: refuseIndex(position, count)
            }
        }
        if let traced { return tracedElement(traced) }
        if let place, place.path != nil {
            guard let value = place.nestedElement(at: position, Self.words) else { refuseIndex(position, count) }
            return place.element(value, as: Element.self, at: .index(position))
        }
        guard let place = checkedPlace() else {
            checkIndex(position, count: items.count)
            return items[position]
        }
        checkIndex(position, count: count)
        return place.element(place.elementValue(at: position), as: Element.self, at: .index(position))
    }

    /// The first element, or nil if the collection is empty.
    public final var first: Element? { !isTraced && isEmpty ? nil : element(at: 0) }

    /// The last element, or nil if the collection is empty.
    public final var last: Element? {
        if isTraced { return element(at: 0) }
        let count = count
        return count == 0 ? nil : element(at: count - 1)
    }

    /// Returns an iterator over the elements in their current order.
    public final func makeIterator() -> RLMIterator<Element> {
        if let known {
            let plain = known.withTable { table throws(EngineError) in
                table.plainElements(of: known.column, at: known.location, as: Element.self)
            }
            if let plain { return RLMIterator(plain) }
        }
        guard let place else { return RLMIterator(items) }
        let location = place.check(Self.words)
        note(location)
        if place.path == nil,
            let plain = place.binding.table.plainElements(of: place.column, at: location, as: Element.self)
        {
            return RLMIterator(plain)
        }
        if let target = Element._shape.target, !Element._shape.isCustom {
            return RLMIterator(ObjectCursor(place.targetKeys(location), of: place.target(target)))
        }
        return RLMIterator(Self.elements(place.shallowValues(), place))
    }

    private static func elements(_ values: [Value], _ place: PropertyLocation) -> [Element] {
        var elements: [Element] = []
        elements.reserveCapacity(values.count)
        for index in values.indices {
            elements.append(place.element(values[index], as: Element.self, at: .index(index)))
        }
        return elements
    }

    /// Returns the elements at the given positions. An out-of-bounds position is a programmer error.
    public final func objects(at indexes: IndexSet) -> [Element] {
        if let last = indexes.last, last >= count { misuse("Indexes for collection are out of bounds.") }
        return indexes.map { element(at: $0) }
    }

    /// The elements as engine values.
    final var engineValues: [Value] {
        guard let place = checkedPlace() else { return rawItems.map(\.value) }
        return place.values()
    }
}

// MARK: State

extension _StoredCollection {
    /// The owner's Realm; nil while unmanaged.
    public final var realm: Realm? { place.map { Realm(core: $0.core) } }

    /// True if the owner was deleted or its Realm was invalidated.
    public final var isInvalidated: Bool {
        guard let place else { return false }
        place.core.check()
        return place.locate() == nil || !place.isThere(Self.words)
    }

    /// True if the Realm is frozen.
    public final var isFrozen: Bool { place?.core.isFrozen ?? false }
}

// MARK: Type-erased elements

/// Any `List`, `MutableSet` or `Map`.
protocol AnyOwnedCollection: AnyObject {
    init()
    /// The names of the collection's kind in messages.
    static var words: CollectionNames { get }
    /// The name of the element type in messages.
    static var elementName: String { get }
    /// The class of the elements; nil if they are values.
    static var targetClass: ObjectBase.Type? { get }
    static var elementType: PropertyType { get }
    var isManaged: Bool { get }
    /// The location of the elements in the file; nil while unmanaged.
    var place: PropertyLocation? { get }
    func becomeManaged(_ place: PropertyLocation)
    func trace(_ recorder: _KeyPathRecorder, as name: String?)
    /// The unmanaged elements, for the engine; in a map, the values.
    var rawItems: [_RawValue] { get }
    /// The elements as engine values.
    var engineValues: [Value] { get }
    /// In a map, the keys that correspond to `rawItems`; otherwise empty.
    var rawKeys: [String] { get }
    /// The elements, converted to their type. Those that it cannot represent are returned as stored.
    var anyElements: [Any] { get }
    /// Returns the form in which an unmanaged collection can hold the value; nil if there is none.
    static func held(_ value: Any) -> Any?
    /// Returns whether a value of type Any can be an element.
    static func accepts(_ value: Any) -> Bool
    /// Returns whether the element type can represent a value of type Any.
    static func represents(_ value: Any) -> Bool
    /// Returns whether the element type can represent a stored value.
    static func hasForm(for stored: Value) -> Bool
    /// Converts a value of type Any to elements to store, for an element type that cannot represent every stored value;
    /// also converts a collection of the same type. Returns nil if the value is not a collection. A value that cannot
    /// be stored is a programmer error.
    func storableElements(of value: Any) -> OwnedElements?
    /// Releases the elements that the collection held while it was unmanaged.
    func dropItems()
    /// Replaces all elements with those of a value of type Any: a sequence, or for a map a dictionary. Returns false
    /// for any other value.
    func replaceElements(with value: Any) -> Bool
}

/// Any `List` or `MutableSet`.
protocol AnyList: AnyOwnedCollection {
    /// True while a key path is traced through the collection.
    var isTraced: Bool { get }
}

/// Returns the name of an element type, for messages.
func elementName<Element: _HasPersistedType>(_ type: Element.Type) -> String {
    let shape = Element._shape
    if let target = shape.target { return ClassNames.name(of: target) }
    return shape.type.text + (shape.isOptional ? "?" : "")
}

/// Returns the element that stands for a value that the type cannot represent: nil if elements are optional and the
/// value could be stored; in a map, the default of a custom type that is stored as an embedded object, for a missing
/// value.
private func unformedElement<Element: _HasPersistedType>(_ value: Any, _ words: CollectionNames) -> Element? {
    let shape = Element._shape
    if shape.hasEmbeddedForm, words.kind == CollectionNames.dictionary.kind, unwrapped(value) == nil {
        return Element._fromRaw(_RawValue(.null))
    }
    guard shape.isPartial, shape.isOptional, accepts(value, as: Element.self) else { return nil }
    return Element._fromRaw(_RawValue(.null))
}

/// Converts a value of type Any to an element. A value that does not fit is a programmer error.
func coercedElement<Element: _HasPersistedType>(
    _ value: Any, _ type: Element.Type, _ words: CollectionNames
) -> Element {
    if let element = coerced(value, as: Element.self) ?? unformedElement(value, words) { return element }
    let name = elementName(Element.self)
    if let object = unwrapped(value).flatMap(objectBase) { refuseClass(of: object, name, words) }
    guard let present = unwrapped(value) else { misuse("Invalid nil value for \(words.kind) of '\(name)'.") }
    misuse(
        "Invalid value '\(describe(present))' of type '\(Swift.type(of: present))' for expected type '\(name)'.")
}

extension _StoredCollection {
    static var elementName: String { Regnum.elementName(Element.self) }
    static var targetClass: ObjectBase.Type? { Element._shape.target }
    static var elementType: PropertyType { Element._shape.type }
    final var isTraced: Bool { traced != nil }
    final var rawItems: [_RawValue] { items.map { Element._toRaw($0) } }
    final var rawKeys: [String] { [] }

    public final func _becomeManaged(_ object: ObjectBase, _ column: Int) {
        becomeManaged(PropertyLocation(object, column: column))
    }
    public final func _trace(_ recorder: _KeyPathRecorder) { trace(recorder, as: nil) }

    final func trace(_ recorder: _KeyPathRecorder, as name: String?) {
        traced = (recorder, name, recorder.names.count)
    }

    /// Records the field's name while a key path is traced through the collection.
    final func recordField() {
        if let traced, let name = traced.name { traced.recorder.record(name, depth: traced.depth) }
    }

    /// Returns the element that stands for every element of a traced collection.
    private final func tracedElement(
        _ traced: (recorder: _KeyPathRecorder, name: String?, depth: Int)
    ) -> Element {
        if let name = traced.name { traced.recorder.record(name, depth: traced.depth) }
        return Element._traced(traced.recorder)
    }

    /// Converts values of type Any to elements. A value that does not fit is a programmer error.
    final func coerced(_ elements: [Any]) -> [Element] {
        elements.map { coercedElement($0, Element.self, Self.words) }
    }
}
