// SPDX-License-Identifier: Apache-2.0
// What the hub refuses in an upload before it clamps and applies it: edits that no client makes.

public enum RefusedEdit: Error, Hashable, Sendable {
    /// The stamp has no time, or its replica or that of an element is not one that the hub issues.
    case invalidStamp, invalidElement
    /// The position was not made by a `PositionSource`, or is too long.
    case invalidPosition
}

extension Edit {
    /// The greatest length of a position, in bytes. A list reaches it when thousands of elements are inserted one after
    /// the other, each between the last two.
    public static let maximumPosition = 1 << 16

    /// Checks an edit from outside. The stamp may be far in the future: it is clamped.
    /// - Throws: `RefusedEdit`.
    public func check() throws(RefusedEdit) {
        if stamp.time == .zero || stamp.replica < .first { throw .invalidStamp }
        switch change {
        case .insert(_, let id, let position, _), .move(_, let id, let position):
            if id.replica == .unregistered { throw .invalidElement }
            if position.bytes.count > Self.maximumPosition || !position.isWellFormed { throw .invalidPosition }
        case .replace(_, let id, _), .remove(_, let id):
            if id.replica == .unregistered { throw .invalidElement }
        case .create, .delete, .set, .setEntry, .increment, .assignCounter: break
        }
    }
}
