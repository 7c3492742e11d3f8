// SPDX-License-Identifier: Apache-2.0
// References that are not counted, for what is done once a row: a count costs as much as a look into a tree's leaf.

extension Unmanaged {
    /// Runs `body` with the object, which somebody else must hold meanwhile, without counting a reference.
    @inlinable @inline(__always)
    package func whileHeld<R, E: Error>(_ body: (Instance) throws(E) -> R) throws(E) -> R {
        let result: Result<R, E> = _withUnsafeGuaranteedRef { object in
            do throws(E) { return .success(try body(object)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
