// SPDX-License-Identifier: Apache-2.0
// The fast decoder of snapshots: decodes the objects of one class, one after another, straight from the columns. What a
// property is and where it is stored is determined once, for the first object; see `RowDecoder+Columns.swift`.
//
// A type that is decoded must not keep its decoder: the decoder moves on to the next object. Nearly no type does, so
// this is checked after each object by reference counts instead of prevented. A decoder that was kept stays at its
// object and becomes slow (`keep`); the following objects get a new decoder.

internal import RegnumEngine

final class RowDecoder {
    /// How a property is read.
    enum Form: UInt8 {
        /// Through `LiveNode`: the property has no column that is read here.
        case other
        /// The class has no such property.
        case missing
        case bool, int, float, double, string, data, date, objectID, uuid, decimal128
        /// An optional enum or custom type, stored as an integer or a text that the type may not be able to represent.
        case checkedInt, checkedString
        case link
        /// A list or a set of links.
        case links
        /// Linking objects.
        case linking
        /// A list or a set of integers or of texts, none of which is nil.
        case integers, texts

        /// True if the property is read here. Absent properties and those that go through `LiveNode` are not.
        var isDirect: Bool { rawValue > Form.missing.rawValue }
    }

    /// A property of the class.
    struct Slot {
        let form: Form
        var isCustom = false
        let column: Int32
        /// Owned by the class's schema; nil for `missing`.
        let property: Unmanaged<ClassProperty>?
        /// For the checked forms: which stored values the type can represent.
        var known: KnownForms?
        /// Decodes the objects that the property links to. Owned.
        var child: Unmanaged<RowDecoder>?
    }

    // The object in `current` keeps its core alive, which owns the binding.
    unowned(unsafe) let binding: ClassBinding
    /// That of the binding: reading it through the binding would count a reference.
    let context: UnsafeMutablePointer<ClassContext>
    /// By index in the schema's properties, and one more that is `missing`. Freed with the decoder.
    let slots: UnsafeMutablePointer<Slot>
    let slotCount: Int
    /// The object being decoded; nil in a decoder that must not be used any longer.
    @exclusivity(unchecked) private var object: Unmanaged<ObjectBase>?
    @exclusivity(unchecked) private var ownsObject = false
    /// The state whose epoch the object's row belongs to. One that matches no object if each read needs `prepare`.
    @exclusivity(unchecked) private(set) var state: UnsafeMutablePointer<SessionState>
    private let usualState: UnsafeMutablePointer<SessionState>
    /// True if an accessor may be pointed at the next object.
    private let isRecyclable: Bool

    // MARK: The container

    /// The type of keys that `held` is for: the one that was asked for first.
    @exclusivity(unchecked) private var keyType: ObjectIdentifier?
    /// A `HeldContainer`, owned. Its container refers to this decoder without retaining it.
    @exclusivity(unchecked) private var held: Unmanaged<AnyObject>?
    /// The box in the container, not owned.
    @exclusivity(unchecked) private var box: UnsafeRawPointer?
    /// By the byte that a key consists of: the index of its slot. Freed with the decoder; nil for larger keys.
    @exclusivity(unchecked) private var slotsByKey: UnsafeMutablePointer<UInt16>?

    // MARK: The coding path

    /// The number of keys in the coding path.
    let depth: Int
    /// The decoder whose property links here; nil for the outermost one. It owns this decoder.
    @exclusivity(unchecked) private unowned(unsafe) var parent: RowDecoder?
    private let key: (any CodingKey)?
    /// The index of the object in the list that links here; -1 for a single link.
    @exclusivity(unchecked) private var index = -1
    /// The path of a decoder that was kept.
    private var fixedPath: [any CodingKey]?

    /// Creates a decoder for the objects of a class, as yet without an object. O(properties of the class).
    init(_ binding: ClassBinding, parent: RowDecoder? = nil, key: (any CodingKey)? = nil, depth: Int = 0) {
        self.binding = binding
        context = binding.context
        self.parent = parent
        self.key = key
        self.depth = depth
        let isFrozen = binding.core.isFrozen
        isRecyclable = binding.schema.isRecyclable && (!isFrozen || binding.schema.collectionOffsets.isEmpty)
        usualState = binding.context.pointee.isTracked ? ClassContext.neverState : binding.context.pointee.session
        state = usualState
        let properties = binding.schema.properties
        slotCount = properties.count
        slots = .allocate(capacity: slotCount + 1)
        for (place, property) in properties.enumerated() {
            let column = binding.columns[place]
            let form = Form(property, column)
            (slots + place).initialize(
                to: Slot(
                    form: form, isCustom: property.shape.isCustom, column: Int32(column),
                    property: .passUnretained(property),
                    known: form == .checkedInt || form == .checkedString ? KnownForms() : nil))
        }
        (slots + slotCount).initialize(to: Slot(form: .missing, column: -1, property: nil))
    }

    deinit {
        for place in 0..<slotCount { slots[place].child?.release() }
        slots.deinitialize(count: slotCount + 1)
        slots.deallocate()
        slotsByKey?.deallocate()
        held?.release()
        if ownsObject { object?.release() }
    }

    // MARK: Objects

    /// Makes this the decoder of `object`, which the caller keeps alive until `isPrivate` has been asked.
    func move(to object: ObjectBase) {
        self.object = .passUnretained(object)
        state = context.pointee.asksForReadColumn ? ClassContext.neverState : usualState
    }

    /// Makes this the decoder of an object that a link leads to.
    func move(to key: ObjectKey, index: Int) {
        self.index = index
        if ownsObject, let object, object.isHeldOnce, isRecyclable {
            object._withUnsafeGuaranteedRef { binding.rebind($0, key) }
            return
        }
        let made = Unmanaged.passRetained(binding.makeAccessor(key))
        if ownsObject { object?.release() }
        (object, ownsObject) = (made, true)
    }

    /// The object being decoded, without a reference to it.
    @inline(__always)
    var uncounted: Unmanaged<ObjectBase> {
        if let object { return object }
        refuse()
    }

    @inline(never)
    private func refuse() -> Never {
        misuse(
            "A decoding container of a snapshot was used after `init(from:)` of the value had returned. Keep the decoder "
                + "instead, or the values.")
    }

    /// The object being decoded.
    var current: ObjectBase { uncounted.takeUnretainedValue() }

    /// The path to the object.
    var codingPath: [any CodingKey] {
        if let fixedPath { return fixedPath }
        var path = parent?.codingPath ?? []
        if let key { path.append(key) }
        if index >= 0 { path.append(SnapshotKey(intValue: index)) }
        return path
    }

    /// Makes the object's row known before the column is read. It is a programmer error if the object is invalid.
    @inline(never)
    func prepare(_ column: Int) {
        let object = current
        object.requireValid()
        guard let context = object.rowContext else { return }
        if context.pointee.isTracked { trackRead(of: object, column) }
        if context.pointee.asksForReadColumn {
            context.pointee.asksForReadColumn = false
            context.pointee.readColumn = column
        }
    }

    // MARK: Decoders that are kept

    /// Returns whether the caller, who owns the decoder, has the only reference to it and to its container.
    @inline(__always)
    static func isPrivate(_ decoder: Unmanaged<RowDecoder>) -> Bool {
        decoder.isHeldOnce && decoder._withUnsafeGuaranteedRef { !$0.hasSharedContainer }
    }

    @inline(__always)
    private var hasSharedContainer: Bool {
        guard let box else { return false }
        return !Unmanaged<AnyObject>.fromOpaque(box).isHeldOnce
    }

    /// Releases a decoder for which `isPrivate` is false. It stays at its object, so that a decoder that was kept
    /// remains correct. A container that was kept does not retain the decoder: then the decoder is never freed, and its
    /// use is a programmer error. Call it while the object is alive.
    static func dismiss(_ decoder: Unmanaged<RowDecoder>) {
        let isFreed = decoder._withUnsafeGuaranteedRef { $0.keep() }
        if isFreed { decoder.release() }
    }

    private func keep() -> Bool {
        fixedPath = codingPath
        parent = nil
        state = ClassContext.neverState
        let isFreed = !hasSharedContainer
        if !isFreed {
            // Nothing in a decoder that is never freed may keep the Realm alive.
            if ownsObject { object?.release() }
            (object, ownsObject) = (nil, false)
            for slot in 0..<slotCount {
                slots[slot].child?.release()
                slots[slot].child = nil
            }
        } else if !ownsObject {
            _ = object?.retain()
            ownsObject = true
        }
        held?.release()
        (held, box) = (nil, nil)
        return isFreed
    }
}

// MARK: Decoder

extension RowDecoder: Decoder {
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    /// The object as the general decoder sees it.
    private var node: LiveNode { LiveNode(value: current, path: codingPath) }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        if keyType == ObjectIdentifier(type), let held {
            return copied(
                unsafeDowncast(held.takeUnretainedValue(), to: HeldContainer<KeyedDecodingContainer<Key>>.self))
        }
        return try newContainer(type)
    }

    /// Out of line: creating the type of a container takes longer than the rest.
    @inline(never)
    private func newContainer<Key: CodingKey>(_ type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        // A second type of keys, or a decoder that was kept.
        if keyType != nil || fixedPath != nil { return try node.container(keyedBy: type) }
        if MemoryLayout<Key>.size <= 1 {
            let slots = UnsafeMutablePointer<UInt16>.allocate(capacity: 256)
            slots.initialize(repeating: Self.unknownSlot, count: 256)
            slotsByKey = slots
        }
        let container = KeyedDecodingContainer(RowContainer<Key>(.passUnretained(self), slotsByKey))
        keyType = ObjectIdentifier(type)
        guard MemoryLayout<KeyedDecodingContainer<Key>>.size == MemoryLayout<UnsafeRawPointer>.size else {
            // Not a reference to a box as expected, so that it cannot be known whether the container is kept.
            return try node.container(keyedBy: type)
        }
        box = unsafeBitCast(container, to: UnsafeRawPointer.self)
        held = Unmanaged.passRetained(HeldContainer(container) as AnyObject)
        return container
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try node.unkeyedContainer() }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    /// An entry of `slotsByKey` that has not been looked up.
    static var unknownSlot: UInt16 { .max }

    /// Returns the index of the slot for the property of that name.
    @inline(never)
    func slot(named name: String) -> Int { binding.schema.place(named: name) ?? slotCount }
}

/// A container that is handed out for each object. A class, because the type of a container is generic.
private final class HeldContainer<Container> {
    let container: Container
    init(_ container: Container) { self.container = container }
}

/// Out of line, because here the type of the container is known from the object. In the caller it would have to be
/// looked up, which takes longer than the copy.
@inline(never)
private func copied<Container>(_ held: HeldContainer<Container>) -> Container { held.container }

extension RowDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { false }

    func decode(_ type: Bool.Type) throws -> Bool { try node.decode(type) }
    func decode(_ type: String.Type) throws -> String { try node.decode(type) }
    func decode(_ type: Double.Type) throws -> Double { try node.decode(type) }
    func decode(_ type: Float.Type) throws -> Float { try node.decode(type) }
    func decode(_ type: Int.Type) throws -> Int { try node.decode(type) }
    func decode(_ type: Int8.Type) throws -> Int8 { try node.decode(type) }
    func decode(_ type: Int16.Type) throws -> Int16 { try node.decode(type) }
    func decode(_ type: Int32.Type) throws -> Int32 { try node.decode(type) }
    func decode(_ type: Int64.Type) throws -> Int64 { try node.decode(type) }
    func decode(_ type: UInt.Type) throws -> UInt { try node.decode(type) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try node.decode(type) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try node.decode(type) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try node.decode(type) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try node.decode(type) }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: self) }
}

/// Which stored values of an optional enum or custom type the type can represent. Asking the type takes longer than
/// reading the value.
final class KnownForms {
    private static let limit = 256
    private var integers: [Int64: Bool] = [:]
    private var texts: [String: Bool] = [:]

    func has(_ number: Int64, _ ask: () -> Bool) -> Bool {
        if let known = integers[number] { return known }
        if integers.count >= Self.limit { integers = [:] }
        let isKnown = ask()
        integers[number] = isKnown
        return isKnown
    }

    func has(_ text: String, _ ask: () -> Bool) -> Bool {
        if let known = texts[text] { return known }
        if texts.count >= Self.limit { texts = [:] }
        let isKnown = ask()
        texts[text] = isKnown
        return isKnown
    }
}
