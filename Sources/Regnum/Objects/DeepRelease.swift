// SPDX-License-Identifier: Apache-2.0
// Deinitialisation of unmanaged objects and collections. Swift releases an object's fields within the release of the
// object, so deinitialising a long chain of objects would need a stack as deep as the chain. Here each object takes the
// references out of its fields and releases them itself, in the order of the fields. Beyond a depth of 64 objects it
// moves them to a per-thread list instead, and the outermost release works through that list. So the objects of
// ordinary graphs are deinitialised in Swift's order, each within its owner.
//
// A superclass's deinitialiser runs before the fields of its subclasses are destroyed, so the deinitialiser of
// `ObjectBase` can take the references out of them. The memory then holds zeros, whose destruction has no effect.

internal import RegnumSystem
private import Synchronization

enum DeepRelease {
    private typealias References = [Unmanaged<AnyObject>]

    /// The nested releases that are running on a thread.
    private struct Running {
        /// The number of running releases.
        var depth = 1
        /// The references that they have taken and not yet released, outermost first.
        var taken: References = []
        /// References taken beyond the limit, which the outermost release works through.
        var waiting: References = []
    }

    /// The releases running on the calling thread; nil if there are none.
    private static let running = ThreadPointer()
    private static let depthLimit = 64

    /// Takes and releases the references in the fields of an unmanaged object. Called by the object's deinitialiser.
    static func empty(_ object: UnsafeMutableRawPointer, of type: ObjectBase.Type) {
        let fields = HoldingFields.of(type)
        if fields.isEmpty { return }
        release { fields.take(from: object, into: &$0) }
    }

    /// Appends a retained reference to the object or collection that the value holds, if any.
    static func take(_ value: AnyRealmValue, into waiting: inout [Unmanaged<AnyObject>]) {
        switch value {
        case .object(let object): waiting.append(.passRetained(object))
        case .list(let list): waiting.append(.passRetained(list))
        case .dictionary(let map): waiting.append(.passRetained(map))
        default: break
        }
    }

    /// Releases the references that `take` appends to the list. When `take` returns, nothing else may hold them;
    /// otherwise they are not deinitialised here.
    static func release(_ take: (inout [Unmanaged<AnyObject>]) -> Void) {
        if let outer = running.value { return release(take, within: outer.assumingMemoryBound(to: Running.self)) }
        var state = Running()
        take(&state.taken)
        if state.taken.isEmpty { return }
        withUnsafeMutablePointer(to: &state) { state in
            running.value = UnsafeMutableRawPointer(state)
            releaseTaken(from: 0, state)
            while let next = state.pointee.waiting.popLast() { next.release() }
            running.value = nil
        }
    }

    private static func release(
        _ take: (inout References) -> Void, within state: UnsafeMutablePointer<Running>
    ) {
        if state.pointee.depth >= depthLimit { return take(&state.pointee.waiting) }
        let start = state.pointee.taken.count
        take(&state.pointee.taken)
        state.pointee.depth += 1
        releaseTaken(from: start, state)
        state.pointee.depth -= 1
    }

    /// Releases the references from `start` on, in order, and removes them. A nested release appends its references
    /// after these, and removes them before it returns.
    private static func releaseTaken(from start: Int, _ state: UnsafeMutablePointer<Running>) {
        for place in start..<state.pointee.taken.count { state.pointee.taken[place].release() }
        state.pointee.taken.removeSubrange(start...)
    }
}

/// The fields of a class that may hold objects or collections of objects, by byte offset.
private final class HoldingFields: Sendable {
    private let type: ObjectIdentifier
    /// Offsets of fields that hold a reference or nil.
    private let references: [Int]
    /// Offsets of fields that hold an `AnyRealmValue`.
    private let values: [Int]
    let isEmpty: Bool

    private init(_ type: ObjectBase.Type) {
        self.type = ObjectIdentifier(type)
        var references: [Int] = []
        var values: [Int] = []
        // A field that is not a property may be unowned.
        let ignored = Set(type.ignoredProperties())
        for field in FieldScan(type).fields where !ignored.contains(field.name) {
            if let wrapper = field.type as? any AnyPersisted.Type {
                let shape = wrapper.valueType._shape
                let holds = shape.target != nil || shape.type == .any
                switch shape.code {
                case .link: references.append(field.offset)
                case .collection where holds: references.append(field.offset)
                case .mixed: values.append(field.offset)
                default: break
                }
            } else if field.type is any AnyOwnedCollection.Type || field.type is any AnyRealmProperty.Type {
                references.append(field.offset)
            }
        }
        self.references = references
        self.values = values
        isEmpty = references.isEmpty && values.isEmpty
    }

    /// Moves the references in the fields to the list.
    func take(from object: UnsafeMutableRawPointer, into waiting: inout [Unmanaged<AnyObject>]) {
        for offset in references {
            let field = (object + offset).assumingMemoryBound(to: Unmanaged<AnyObject>?.self)
            guard let held = field.pointee else { continue }
            field.pointee = nil
            waiting.append(held)
        }
        for offset in values {
            let field = (object + offset).assumingMemoryBound(to: AnyRealmValue.self)
            DeepRelease.take(field.pointee, into: &waiting)
            field.pointee = .none
        }
    }

    // MARK: Cache

    /// The fields of each class seen so far; never freed. `recent` finds an entry by the class's address without a
    /// lock.
    private static let known = Lock<[ObjectIdentifier: HoldingFields]>([:])
    private static let recentCount = 64
    nonisolated(unsafe) private static let recent: UnsafeMutablePointer<Atomic<UInt>> = {
        let slots = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: recentCount)
        for place in 0..<recentCount { (slots + place).initialize(to: Atomic(0)) }
        return slots
    }()

    static func of(_ type: ObjectBase.Type) -> HoldingFields {
        let id = ObjectIdentifier(type)
        let slot = recent + Int(bitPattern: id) >> 5 & (recentCount - 1)
        if let word = UnsafeRawPointer(bitPattern: slot.pointee.load(ordering: .acquiring)) {
            let fields = Unmanaged<HoldingFields>.fromOpaque(word).takeUnretainedValue()
            if fields.type == id { return fields }
        }
        let fields = known.withLock { known in
            if let fields = known[id] { return fields }
            let fields = HoldingFields(type)
            known[id] = fields
            return fields
        }
        slot.pointee.store(UInt(bitPattern: Unmanaged.passUnretained(fields).toOpaque()), ordering: .releasing)
        return fields
    }
}
