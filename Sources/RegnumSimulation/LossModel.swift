// SPDX-License-Identifier: Apache-2.0
// What a power loss may leave of the writes that no sync has confirmed.

package import RegnumSystem

/// The ways in which unconfirmed operations reach the disk or do not. Names in one directory and lengths of
/// one file change in the order in which they were changed, as journals of file systems see to it, so that a
/// loss takes their last changes; between directories, files and writes there is no order.
package enum LossModel: CaseIterable, Sendable {
    /// Everything issued reached the disk.
    case everything
    /// The operations reached the disk in order up to some point.
    case prefix
    /// Each write is there or not; lengths are.
    case writes
    /// As `writes`, and the last changes of a length may be lost: zeros where a file grew without its bytes,
    /// and no bytes where it did not grow.
    case lengths
    /// Each part of a write in one sector of 512 bytes is there or not; lengths as in `lengths`.
    case sectors
    /// As `sectors`, but a sector may also be garbage from one end to the other.
    case garbage
}

/// A call that the simulation lets fail.
package struct SimulatedFailure: Sendable, Equatable {
    /// Index of the call, from 0: among all calls, or among those of `operation`.
    package var call: Int
    package var kind: SystemError.Kind
    /// Whether the calls after it fail too.
    package var isPersistent: Bool
    /// Nil for any operation, otherwise the name in the errors: "write", "sync", "allocate" ...
    package var operation: String?

    package init(call: Int, kind: SystemError.Kind, isPersistent: Bool = false, operation: String? = nil) {
        self.call = call
        self.kind = kind
        self.isPersistent = isPersistent
        self.operation = operation
    }
}
