// SPDX-License-Identifier: Apache-2.0
// Reuse of ObjectId and Decimal128 instances. Both are classes, as in RealmSwift, so every read needs an instance, and
// an allocation takes several times as long as reading an Int. Each class of a Realm therefore keeps the instance that
// was read last, and the next read reuses it if nothing else holds a strong, weak or unowned reference to it.

internal import RegnumEngine

/// The values of a `ClassContext` that were read last. Used only on the Realm's own thread.
@usableFromInline
package struct RecycledValues {
    private var objectID: Unmanaged<ObjectId>?
    private var decimal: Unmanaged<Decimal128>?

    /// Returns an instance with these bytes that nothing else references.
    @inline(__always)
    mutating func objectID(low: UInt64, high: UInt32) -> ObjectId {
        if let objectID, objectID.isHeldOnce {
            let value = objectID.secondReference()
            value.become(low: low, high: high)
            return value
        }
        let value = ObjectId(low: low, high: high)
        if RuntimeLayout.isVerified {
            objectID?.release()
            objectID = .passRetained(value)
        }
        return value
    }

    /// Returns an instance with this value that nothing else references.
    @inline(__always)
    mutating func decimal(_ bits: DecimalBits) -> Decimal128 {
        if let decimal, decimal.isHeldOnce {
            let value = decimal.secondReference()
            value.become(bits)
            return value
        }
        let value = Decimal128(bits: bits)
        if RuntimeLayout.isVerified {
            decimal?.release()
            decimal = .passRetained(value)
        }
        return value
    }

    /// Releases the kept instances.
    mutating func removeAll() {
        objectID?.release()
        decimal?.release()
        self = RecycledValues()
    }
}

extension ObjectBase {
    /// The storage for values that are read; nil on threads other than the Realm's.
    @inline(__always)
    var recycledValues: UnsafeMutablePointer<RecycledValues>? {
        guard let context = rowContext, context.pointee.session.pointee.owner == currentThreadWord() else { return nil }
        return context.pointee.recycled
    }
}
