// SPDX-License-Identifier: Apache-2.0
// Ends a long query or measurement from another thread.

package import RegnumEngine

/// A request to end the work of an inspector: `Inspector.stop`. **Unstable**, like `Inspector`.
///
/// Thread: any. A stop is final.
public final class InspectionStop: Sendable {
    package let scans = ScanStop()

    public init() {}

    /// Makes queries and measurements that read many objects throw `InspectionError` with the reason `stopped`.
    public func stop() { scans.stop() }

    public var isStopped: Bool { scans.isStopped }
}
