// SPDX-License-Identifier: Apache-2.0
// Reuse of accessors returned by subscripts of results. Creating and releasing an accessor takes longer than reading
// from it; a program that accesses results by position, as in `people[i].friend = people[j]`, gets the same two
// accessors repeatedly.

internal import RegnumEngine

/// The two accessors returned last. Used only on the Realm's own thread. They keep the Realm alive, so nothing that the
/// Realm retains may retain this.
struct RecycledAccessors: ~Copyable {
    private var last: Unmanaged<ObjectBase>?
    private var other: Unmanaged<ObjectBase>?
    /// True while an accessor is being released: the `deinit` of its class may run any code, including a call to this
    /// type.
    private var isLettingGo = false

    deinit {
        last?.release()
        other?.release()
    }

    /// Returns an accessor of the object that nothing else references. It is kept here until the call after the next
    /// one. Requires that `isRecyclable` is true for the class. Returns nil while a kept accessor is being released.
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
