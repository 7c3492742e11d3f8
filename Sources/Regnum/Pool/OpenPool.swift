// SPDX-License-Identifier: Apache-2.0
// The open pools of the process, for metrics: without keeping the pools, or their files, open.

internal import RegnumSystem

/// The counts of a pool, also after it was closed. Any thread.
package struct OpenPool: Sendable {
    /// The path of the file, or the identifier of the in-memory Realm.
    package let name: String
    private let reading: PoolGate
    private let writing: PoolGate

    init(_ name: String, reading: PoolGate, writing: PoolGate) {
        (self.name, self.reading, self.writing) = (name, reading, writing)
    }

    package var id: ObjectIdentifier { ObjectIdentifier(reading) }
    package var reads: RealmPool.Metrics.Activity { reading.activity }
    package var writes: RealmPool.Metrics.Activity { writing.activity }

    /// Written when a pool is opened, closed, or released.
    private static let open = Lock<[ObjectIdentifier: OpenPool]>([:])

    /// The pools that are open in this process.
    package static var all: [OpenPool] { open.withLock { Array($0.values) } }

    func add() { Self.open.withLock { $0[id] = self } }

    /// Removes the pool whose readers pass this gate, if it is there.
    static func remove(reading: PoolGate) { open.withLock { $0[ObjectIdentifier(reading)] = nil } }
}
