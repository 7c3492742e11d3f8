// SPDX-License-Identifier: Apache-2.0
// Accessors that results have handed out by subscript. Making one and letting go of it takes longer than reading from it;
// a program that goes over results by position, as `people[i].friend = people[j]`, gets the same two again and again.

internal import RegnumEngine

/// The two accessors handed out last. Used by the Realm's own thread only; they keep the Realm alive, so that nothing
/// that the Realm holds may hold this.
struct RecycledAccessors: ~Copyable {
    private var last: Unmanaged<ObjectBase>?
    private var other: Unmanaged<ObjectBase>?
    /// True while one ends: the `deinit` of its class may do anything, also come here.
    private var isLettingGo = false

    deinit {
        last?.release()
        other?.release()
    }

    /// An accessor of the object that nobody else holds, kept here until the call after the next. Only where the class's
    /// `isRecyclable`. Nil while one that was kept ends.
    mutating func accessor(
        _ binding: ClassBinding, _ key: ObjectKey, _ location: RowLocation?
    ) -> Unmanaged<ObjectBase>? {
        if let other, other.isHeldOnce {
            (last, self.other) = (other, last)
            other._withUnsafeGuaranteedRef { object in
                if let location { binding.rebind(object, key, at: location) } else { binding.rebind(object, key) }
            }
            return other
        }
        if isLettingGo { return nil }
        let object = Unmanaged.passRetained(
            location.map { binding.makeAccessor(key, at: $0) } ?? binding.makeAccessor(key))
        let before = other
        other = nil
        isLettingGo = true
        before?.release()
        isLettingGo = false
        (last, other) = (object, last)
        return object
    }
}
