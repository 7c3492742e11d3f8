// SPDX-License-Identifier: Apache-2.0
// ObjectId and Decimal128 are classes, because they are in RealmSwift: every read makes an instance, and an allocation
// takes several times as long as the read of an Int. So each class of a Realm keeps the instance that was read last, and
// the next read fills it anew where nobody else holds it, strongly, weakly or unowned.

internal import RegnumEngine

/// What a `ClassContext` keeps of the values that were read last. Used by the Realm's own thread only.
@usableFromInline
package struct RecycledValues {
    private var objectID: Unmanaged<ObjectId>?
    private var decimal: Unmanaged<Decimal128>?

    /// An instance with these bytes; nobody else's.
    @inline(__always)
    mutating func objectID(low: UInt64, high: UInt32) -> ObjectId {
        if let objectID, objectID.isHeldOnce {
            let value = objectID.secondReference()
            value.become(low: low, high: high)
            return value
        }
        let value = ObjectId(low: low, high: high)
        objectID?.release()
        objectID = .passRetained(value)
        return value
    }

    /// An instance with this value; nobody else's.
    @inline(__always)
    mutating func decimal(_ bits: DecimalBits) -> Decimal128 {
        if let decimal, decimal.isHeldOnce {
            let value = decimal.secondReference()
            value.become(bits)
            return value
        }
        let value = Decimal128(bits: bits)
        decimal?.release()
        decimal = .passRetained(value)
        return value
    }

    /// Lets go of what is kept.
    mutating func removeAll() {
        objectID?.release()
        decimal?.release()
        self = RecycledValues()
    }
}

extension ObjectBase {
    /// Where values that are read may be kept; nil on other threads than the Realm's.
    @inline(__always)
    var recycledValues: UnsafeMutablePointer<RecycledValues>? {
        guard let context = rowContext, context.pointee.session.pointee.owner == currentThreadWord() else { return nil }
        return context.pointee.recycled
    }
}
