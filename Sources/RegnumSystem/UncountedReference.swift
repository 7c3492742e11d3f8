// SPDX-License-Identifier: Apache-2.0
// Uncounted references, for operations per row: counting a reference costs as much as a search in a tree's leaf.

extension Unmanaged {
    /// Runs `body` with the object, without counting a reference. The caller ensures that another reference keeps it
    /// alive.
    @inlinable @inline(__always)
    package func whileHeld<R, E: Error>(_ body: (Instance) throws(E) -> R) throws(E) -> R {
        let result: Result<R, E> = _withUnsafeGuaranteedRef { object in
            do throws(E) { return .success(try body(object)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
