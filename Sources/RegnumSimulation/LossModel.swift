// SPDX-License-Identifier: Apache-2.0
// Models of how much a power loss leaves of the operations that no sync has confirmed.

package import RegnumSystem

/// How unconfirmed operations may or may not reach the disk. Names in one directory, and lengths of one file, change on
/// the disk in the order in which they were changed, as file system journals ensure, so a loss takes their last
/// changes. There is no order between directories, files and writes.
package enum LossModel: CaseIterable, Sendable {
    /// Every operation reached the disk.
    case everything
    /// The operations up to some point reached the disk, in order.
    case prefix
    /// Each write survives or not; all length changes survive.
    case writes
    /// Like `writes`, but the last length changes may be lost: a file whose new length survived without the written
    /// bytes holds zeros there, and a file whose new length was lost ends before them.
    case lengths
    /// Each 512-byte sector of a write survives or not; lengths as in `lengths`.
    case sectors
    /// Like `sectors`, but a whole sector may also become garbage.
    case garbage
}

/// A call that the simulation makes fail.
package struct SimulatedFailure: Sendable, Equatable {
    /// The index of the call, from 0, among all calls or among those of `operation`.
    package var call: Int
    package var kind: SystemError.Kind
    /// Whether all later calls fail as well.
    package var isPersistent: Bool
    /// The operation whose calls fail, named as in errors ("write", "sync", "allocate" ...), or nil for any.
    package var operation: String?

    package init(call: Int, kind: SystemError.Kind, isPersistent: Bool = false, operation: String? = nil) {
        self.call = call
        self.kind = kind
        self.isPersistent = isPersistent
        self.operation = operation
    }
}
