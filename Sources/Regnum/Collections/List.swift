// SPDX-License-Identifier: Apache-2.0
// `List`: the ordered collection that a property holds. Unmanaged it is an array; managed it is a view of the
// list in the file, by its owner's key, so that it outlives the accessor it came from. Reading is here,
// changing in `List+Mutations.swift`.

public import Foundation
internal import RegnumEngine

/// An ordered collection of values or objects as a property of a model class.
///
/// ```swift
/// class Person: Object {
///     @Persisted var dogs: List<Dog>
///     let tags = List<String>()
/// }
/// ```
///
/// When its object is added to a Realm the same instance becomes managed. Then it may only be changed in a
/// write transaction. A loop runs over the order at its start.
public final class List<Element: RealmCollectionValue> {
    /// While unmanaged.
    var items: [Element] = []
    /// Where the list lies while it is managed.
    private(set) var place: ManagedPlace?
    /// The name under which reads are recorded, while a key path is traced.
    private var traced: (recorder: _KeyPathRecorder, name: String?, depth: Int)?

    /// Empty and unmanaged.
    public init() {}
}

// MARK: Places

extension List {
    /// The place of a managed list, checked; nil for an unmanaged one.
    @inline(__always)
    func checkedPlace() -> ManagedPlace? {
        guard let place else { return nil }
        place.core.check()
        if place.locate() == nil { refusePlace() }
        return place
    }

    @inline(never)
    private func refusePlace() -> Never {
        misuse(
            "List is no longer valid. Either the parent object was deleted or the containing Realm has "
                + "been invalidated "
                + "or closed.")
    }

    /// As `checkedPlace`, in a write.
    func writablePlace() -> ManagedPlace? {
        guard let place = checkedPlace() else { return nil }
        place.core.requireWrite(
            "Cannot modify List outside of a write transaction. Put the change into `realm.write { }`.")
        return place
    }

    /// An element from the engine.
    func element(_ value: Value, _ place: ManagedPlace) -> Element {
        var raw = _RawValue(value)
        if case .link = value, let target = Element._shape.target {
            raw.binding = place.target(target)
        }
        return Element._fromRaw(raw)
    }

    func values(_ place: ManagedPlace) -> [Value] {
        engine { () throws(EngineError) in try place.binding.table.listValues(place.column, of: place.key) }
    }
}

// MARK: Elements

extension List: RealmCollection, MutableCollection {
    public typealias Index = Int
    public typealias SubSequence = Slice<List>
    public typealias Indices = Range<Int>

    public var startIndex: Int { 0 }
    public var endIndex: Int { count }
    public func index(after i: Int) -> Int { i + 1 }
    public func index(before i: Int) -> Int { i - 1 }

    /// How many elements there are.
    public var count: Int {
        guard let place = checkedPlace() else { return items.count }
        return engine { () throws(EngineError) in
            try place.binding.table.listCount(place.column, of: place.key)
        }
    }

    public var isEmpty: Bool { count == 0 }

    /// The element at a position; misuse where it is out of bounds.
    public subscript(position: Int) -> Element {
        get {
            if let traced { return tracedElement(traced) }
            guard let place = checkedPlace() else {
                checkIndex(position, count: items.count)
                return items[position]
            }
            checkIndex(position, count: count)
            let value = engine { () throws(EngineError) in
                try place.binding.table.listValue(place.column, of: place.key, at: position)
            }
            return element(value, place)
        }
        set { replace(index: position, object: newValue) }
    }

    /// A part of the list, sharing its elements.
    public subscript(bounds: Range<Int>) -> Slice<List> {
        get { Slice(base: self, bounds: bounds) }
        set { replaceSubrange(bounds, with: Array(newValue)) }
    }

    /// The first element, or nil where there is none.
    public var first: Element? { isEmpty ? nil : self[0] }

    /// The last element, or nil where there is none.
    public var last: Element? {
        let count = count
        return count == 0 ? nil : self[count - 1]
    }

    /// Iterates over the order of now.
    public func makeIterator() -> RLMIterator<Element> {
        guard let place = checkedPlace() else { return RLMIterator(items) }
        let values = values(place)
        if let target = Element._shape.target {
            let keys = values.compactMap { value in if case .link(let key) = value { key } else { nil } }
            return RLMIterator(ObjectCursor(keys, of: place.target(target)))
        }
        return RLMIterator(values.map { element($0, place) })
    }

    /// The elements at the positions; misuse where one is out of bounds.
    public func objects(at indexes: IndexSet) -> [Element] {
        if let last = indexes.last, last >= count { misuse("Indexes for collection are out of bounds.") }
        return indexes.map { self[$0] }
    }

    /// The position of the first element equal to `object`; a managed list of objects finds only objects of
    /// its Realm.
    public func index(of object: Element) -> Int? {
        guard let place = checkedPlace() else { return items.firstIndex(of: object) }
        let values = values(place)
        guard let target = Element._shape.target, let wanted = object as? ObjectBase else {
            let wanted = Element._toRaw(object).value
            return values.firstIndex { $0.matches(wanted) }
        }
        if !type(of: wanted).isKind(of: target) {
            misuse(
                "Object of type '\(ClassNames.name(of: type(of: wanted)))' does not match RLMArray type "
                    + "'\(ClassNames.name(of: target))'.")
        }
        guard wanted.rowContext != nil else { return nil }
        wanted.requireValid()
        return wanted.core === place.core ? values.firstIndex(of: .link(wanted.rowKey)) : nil
    }

    /// Unmanaged lists: equal elements. Managed ones: the same list of the same object.
    public static func == (left: List, right: List) -> Bool {
        if left === right { return true }
        switch (left.place, right.place) {
        case (nil, nil):
            return left.items == right.items
        case (let left?, let right?):
            return left.binding === right.binding && left.key == right.key && left.column == right.column
        default:
            return false
        }
    }
}

extension List: Hashable {
    public func hash(into hasher: inout Hasher) {
        guard let place else {
            hasher.combine(items)
            return
        }
        hasher.combine(place.key)
        hasher.combine(place.column)
    }
}

// MARK: State

extension List {
    /// The Realm of the owner; nil while unmanaged.
    public var realm: Realm? { place.map { Realm(core: $0.core) } }

    /// True where the owner was deleted or its Realm invalidated.
    public var isInvalidated: Bool {
        guard let place else { return false }
        place.core.check()
        return place.locate() == nil
    }

    /// True where the Realm is frozen.
    public var isFrozen: Bool { place?.core.isFrozen ?? false }

    /// The elements, the first hundred of them.
    public var description: String { ObjectDescription.text(of: self) }
}

extension ObjectBase {
    /// True for the class itself and those that derive from it.
    static func isKind(of base: ObjectBase.Type) -> Bool {
        var type: AnyClass? = self
        while let current = type {
            if current == base { return true }
            type = _getSuperclass(current)
        }
        return false
    }
}

// MARK: For those who do not know the type of the elements

/// Any `List`.
protocol AnyList: AnyObject {
    init()
    /// The type of the elements, in messages.
    static var elementName: String { get }
    /// The class of the elements; nil where they are values.
    static var targetClass: ObjectBase.Type? { get }
    var isManaged: Bool { get }
    func becomeManaged(_ place: ManagedPlace)
    func trace(_ recorder: _KeyPathRecorder, as name: String?)
    /// The elements of an unmanaged list for the engine.
    var rawItems: [_RawValue] { get }
    var anyElements: [Any] { get }
    /// Lets go of the elements it had before it became managed.
    func dropItems()
    /// Replaces all elements by those of a sequence of values of type Any. False where it is no sequence.
    func replaceElements(with value: Any) -> Bool
}

extension List: AnyList {
    static var elementName: String {
        let shape = Element._shape
        return (shape.target.map { ClassNames.name(of: $0) } ?? shape.type.text)
            + (shape.isOptional ? "?" : "")
    }
    static var targetClass: ObjectBase.Type? { Element._shape.target }
    var isManaged: Bool { place != nil }
    func becomeManaged(_ place: ManagedPlace) { self.place = place }
    func dropItems() { items = [] }
    var rawItems: [_RawValue] { items.map { Element._toRaw($0) } }
    var anyElements: [Any] { map { $0 as Any } }

    func trace(_ recorder: _KeyPathRecorder, as name: String?) {
        traced = (recorder, name, recorder.names.count)
    }

    /// Any element of a traced list stands for all.
    private func tracedElement(_ traced: (recorder: _KeyPathRecorder, name: String?, depth: Int)) -> Element {
        if let name = traced.name { traced.recorder.record(name, depth: traced.depth) }
        return Element._traced(traced.recorder)
    }

    func replaceElements(with value: Any) -> Bool {
        guard let value = unwrapped(value) else {
            removeAll()
            return true
        }
        if let list = value as? List {
            assign(list)
            return true
        }
        guard let elements = Coercion.elements(value) else { return false }
        let coerced = elements.map { coercedElement($0) }
        removeAll()
        append(objectsIn: coerced)
        return true
    }

    /// A value of type Any as an element; misuse where it does not fit.
    private func coercedElement(_ value: Any) -> Element {
        if let element = Element._coerced(value) { return element }
        if let object = unwrapped(value) as? ObjectBase {
            misuse(
                "Object of type '\(ClassNames.name(of: type(of: object)))' does not match RLMArray type "
                    + "'\(List.elementName)'.")
        }
        guard let present = unwrapped(value) else {
            misuse("Invalid nil value for array of '\(List.elementName)'.")
        }
        misuse(
            "Invalid value '\(describe(present))' of type '\(type(of: present))' for expected type "
                + "'\(List.elementName)'."
        )
    }
}

// MARK: As a property

extension List: _Persistable {
    public typealias PersistedType = List
    public typealias _Stored = List?

    public static var _shape: _PropertyShape {
        var shape = Element._shape
        shape.collection = .list
        shape.code = .list
        return shape
    }

    public static var _unset: List? { nil }
    public static func _wrapped(_ value: List) -> List? { value }
    public static func _peek(_ stored: List?) -> List? { stored }
    public static func _filled(_ stored: inout List?) -> List {
        if let stored { return stored }
        let list = List()
        stored = list
        return list
    }

    /// Assigning to the property of an unmanaged object copies the elements: its list stays the same
    /// instance.
    public static func _replace(_ stored: inout List?, _ value: List) {
        guard let list = stored else {
            stored = value.isManaged ? copy(value) : value
            return
        }
        list.assign(value)
    }

    private static func copy(_ list: List) -> List {
        let copy = List()
        copy.items = Array(list)
        return copy
    }

    /// The list of a managed object: one instance for each accessor.
    public static func _load(_ column: UnsafeRawPointer, _ row: Int, _ object: ObjectBase, _ offset: Int)
        -> List
    {
        let stored = storedPointer(object, offset, List.self)
        if let list = stored.pointee { return list }
        let list = List()
        let number =
            (column - UnsafeRawPointer(object.rowColumns.unsafelyUnwrapped)) / MemoryLayout<ColumnView>.stride
        list.becomeManaged(ManagedPlace(object, column: number))
        stored.pointee = list
        return list
    }

    public static var _hasFixedSize: Bool { false }
    public static func _store(
        _ value: List, _ column: UnsafeMutableRawPointer, _ row: Int, _ object: ObjectBase
    ) {
        fatalError("a list is stored through its table")
    }

    public static func _assign(_ value: List, _ object: ObjectBase, _ column: Int) {
        let list = List()
        list.becomeManaged(ManagedPlace(object, column: column))
        list.assign(value)
    }

    public static func _fromRaw(_ raw: _RawValue) -> List { List() }
    public static func _toRaw(_ value: List) -> _RawValue { _RawValue(.null) }
    public static func _coerced(_ value: Any) -> List? {
        if let list = value as? List { return list }
        let list = List()
        return list.replaceElements(with: value) ? list : nil
    }
    public static func _dynamic(_ value: List) -> Any? { value }
    public static func _traced(_ recorder: _KeyPathRecorder) -> List {
        let list = List()
        list.trace(recorder, as: nil)
        return list
    }
}
