// SPDX-License-Identifier: Apache-2.0
// The state of a simulated file system: what programs see, what is durable, and the operations in between.

import RegnumSystem

/// A file. The lock of its file system guards everything in it except the bytes of `live`, which open files and regions
/// access directly.
final class SimulatedNode: @unchecked Sendable {
    // Unchecked: guarded as described above.

    let identity: FileIdentity
    let locks = MemoryByteLocks()
    /// The bytes that programs see, created when the file is first opened. Until then the durable bytes stand for them.
    private(set) var live: ReservedMemory?
    /// The length that programs see.
    private(set) var byteCount: Int
    /// The bytes that are certain to be on the disk; their count is the durable length.
    var durable: [UInt8]
    /// The number of failed syncs.
    var failedSyncs = 0

    init(_ identity: FileIdentity, durable: [UInt8]) {
        self.identity = identity
        self.durable = durable
        byteCount = durable.count
    }

    func openLive(_ reservation: Int) throws(SystemError) -> ReservedMemory {
        if let live { return live }
        let memory = try ReservedMemory(byteCount: max(reservation, byteCount), minimum: byteCount)
        try memory.ensure(memory.byteCount)
        copyDurable(to: memory)
        live = memory
        return memory
    }

    var liveBytes: [UInt8] {
        guard let live else { return durable }
        return [UInt8](UnsafeRawBufferPointer(start: live.base, count: byteCount))
    }

    /// Replaces the bytes and the length, both live and durable.
    func reset(to bytes: [UInt8]) {
        durable = bytes
        if let live {
            precondition(
                bytes.count <= live.byteCount, "more bytes than the simulation reserves for one file")
            live.discard(0..<byteCount)
            copyDurable(to: live)
        }
        byteCount = bytes.count
    }

    func setLiveLength(_ newByteCount: Int) {
        if newByteCount < byteCount { live?.discard(newByteCount..<byteCount) }
        byteCount = newByteCount
    }

    private func copyDurable(to memory: ReservedMemory) {
        durable.withUnsafeBytes { source in
            if let start = source.baseAddress { Memory.copy(memory.base, start, source.count) }
        }
    }
}

/// A change that no sync has confirmed.
enum PendingOperation {
    /// `isUnknown` is set after a failed sync: the system considers these bytes written and never writes them again, so
    /// a later sync does not confirm them.
    case write(SimulatedNode, offset: Int, bytes: ArraySlice<UInt8>, isUnknown: Bool)
    case grow(SimulatedNode, to: Int)
    case cut(SimulatedNode, to: Int)
    case link(path: String, SimulatedNode)
    case rename(source: String, target: String, SimulatedNode)
    case unlink(path: String)

    /// The file whose sync confirms this operation; nil for a change of names.
    var node: SimulatedNode? {
        switch self {
        case .write(let node, _, _, _), .grow(let node, _), .cut(let node, _): node
        case .link, .rename, .unlink: nil
        }
    }

    /// For a change of a name, the directory whose changes are kept in order with it.
    var directory: String? {
        switch self {
        case .write, .grow, .cut: nil
        case .link(let path, _), .unlink(let path): parentPath(path)
        case .rename(_, let target, _): parentPath(target)
        }
    }

    /// The directories that it changes: two if a file is renamed from one directory into another.
    var directories: [String] {
        guard let directory else { return [] }
        if case .rename(let source, _, _) = self { return [directory, parentPath(source)] }
        return [directory]
    }

    func apply(to names: inout [String: SimulatedNode]) {
        switch self {
        case .write, .grow, .cut: break
        case .link(let path, let node): names[path] = node
        case .unlink(let path): names[path] = nil
        case .rename(let source, let target, let node):
            if names[source] === node { names[source] = nil }
            names[target] = node
        }
    }
}

struct SimulatedDisk {
    var names: [String: SimulatedNode] = [:]
    var durableNames: [String: SimulatedNode] = [:]
    var directories: Set<String> = []
    /// In the order in which they were issued, over all files and directories.
    var pending: [PendingOperation] = []
    var random: SeededRandom
    var nextInode: UInt64 = 1

    var callCount = 0
    var callCounts: [String: Int] = [:]
    /// The operations in the order of their calls; nil if they are not recorded.
    var recordedCalls: [String]?
    var failure: SimulatedFailure?
    var tellsEachFile = false
    var powerEnds = Int.max
    var hasPower = true

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    /// Counts the call; throws if it is to fail.
    mutating func enter(_ operation: String, _ path: String) throws(SystemError) {
        let call = callCount
        let callOfOperation = callCounts[operation, default: 0]
        callCount += 1
        callCounts[operation] = callOfOperation + 1
        recordedCalls?.append(operation)
        if call >= powerEnds {
            hasPower = false
            throw SystemError(.io, operation, path)
        }
        guard let failure, failure.operation == nil || failure.operation == operation else { return }
        let index = failure.operation == nil ? call : callOfOperation
        if index == failure.call || (failure.isPersistent && index > failure.call) {
            throw SystemError(failure.kind, operation, path)
        }
    }

    func isDirectory(_ path: String) -> Bool {
        if path == "/" || path == "." || directories.contains(path) { return true }
        let prefix = path.hasSuffix("/") ? path : path + "/"
        return names.keys.contains { $0.hasPrefix(prefix) }
    }

    mutating func write(
        _ node: SimulatedNode, _ live: ReservedMemory, _ bytes: UnsafeRawBufferPointer, at offset: Int
    ) {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return }
        grow(node, to: offset + bytes.count)
        Memory.move(live.base + offset, base, bytes.count)
        pending.append(.write(node, offset: offset, bytes: [UInt8](bytes)[...], isUnknown: false))
    }

    mutating func grow(_ node: SimulatedNode, to byteCount: Int) {
        if byteCount <= node.byteCount { return }
        node.setLiveLength(byteCount)
        pending.append(.grow(node, to: byteCount))
    }

    mutating func cut(_ node: SimulatedNode, to byteCount: Int) {
        if byteCount >= node.byteCount { return }
        node.setLiveLength(byteCount)
        pending.append(.cut(node, to: byteCount))
    }
}

// MARK: - Syncs

extension SimulatedDisk {
    /// Confirms a file: makes its lengths durable, and the bytes that no failed sync has made unknown.
    mutating func confirm(_ synced: SimulatedNode) {
        var others: [PendingOperation] = []
        for operation in pending {
            guard operation.node === synced else {
                others.append(operation)
                continue
            }
            switch operation {
            case .write(_, let offset, let bytes, let isUnknown):
                if isUnknown {
                    others.append(operation)
                } else {
                    synced.durable.place(bytes, at: offset)
                    Self.forget(offset..<(offset + bytes.count), of: synced, in: &others)
                }
            case .grow(_, let byteCount):
                synced.durable.setCount(max(byteCount, synced.durable.count))
            case .cut(_, let byteCount):
                synced.durable.setCount(min(byteCount, synced.durable.count))
                Self.forget(byteCount..<Int.max, of: synced, in: &others)
            case .link, .rename, .unlink:
                others.append(operation)
            }
        }
        pending = others
    }

    /// Called after a failed sync: whether the bytes written so far are on the disk stays unknown for good.
    mutating func distrust(_ synced: SimulatedNode) {
        synced.failedSyncs += 1
        for index in pending.indices {
            if case .write(let node, let offset, let bytes, _) = pending[index], node === synced {
                pending[index] = .write(node, offset: offset, bytes: bytes, isUnknown: true)
            }
        }
    }

    /// Makes the names in one directory durable. A rename between two directories also confirms the earlier changes in
    /// the other one, so that the order in each is kept.
    mutating func confirmNames(in directory: String) {
        var confirmed: Set<String> = [directory]
        var isConfirmed = [Bool](repeating: false, count: pending.count)
        for (index, operation) in pending.enumerated().reversed() {
            let changed = operation.directories
            guard changed.contains(where: confirmed.contains) else { continue }
            isConfirmed[index] = true
            confirmed.formUnion(changed)
        }
        for (operation, isConfirmed) in zip(pending, isConfirmed) where isConfirmed {
            operation.apply(to: &durableNames)
        }
        pending = zip(pending, isConfirmed).filter { !$0.1 }.map(\.0)
    }

    /// Removes a range of bytes from the unknown writes, because it is now confirmed to hold something else.
    private static func forget(
        _ range: Range<Int>, of node: SimulatedNode, in operations: inout [PendingOperation]
    ) {
        var result: [PendingOperation] = []
        for operation in operations {
            guard case .write(let owner, let offset, let bytes, let isUnknown) = operation, owner === node,
                isUnknown,
                range.overlaps(offset..<(offset + bytes.count))
            else {
                result.append(operation)
                continue
            }
            let before = bytes.prefix(max(0, range.lowerBound - offset))
            let after = bytes.suffix(max(0, offset + bytes.count - range.upperBound))
            if !before.isEmpty { result.append(.write(node, offset: offset, bytes: before, isUnknown: true)) }
            if !after.isEmpty {
                result.append(.write(node, offset: range.upperBound, bytes: after, isUnknown: true))
            }
        }
        operations = result
    }
}

extension [UInt8] {
    /// Copies `bytes` to `offset`, extending the array if needed.
    mutating func place(_ bytes: ArraySlice<UInt8>, at offset: Int) {
        if offset + bytes.count > count { setCount(offset + bytes.count) }
        withUnsafeMutableBytes { target in
            bytes.withUnsafeBytes { source in
                guard let target = target.baseAddress, let source = source.baseAddress else { return }
                Memory.copy(target + offset, source, bytes.count)
            }
        }
    }

    /// Truncates, or extends with zeros. Extends all at once, because extending element by element took five sixths of
    /// the time of a debug build's tests. Appends, so that a file that grows step by step is not copied each time.
    mutating func setCount(_ newCount: Int) {
        if newCount <= count { return removeLast(count - newCount) }
        let added = newCount - count
        append(
            contentsOf: [UInt8](unsafeUninitializedCapacity: added) { target, initializedCount in
                if let start = target.baseAddress { Memory.zero(start, added) }
                initializedCount = added
            })
    }
}
