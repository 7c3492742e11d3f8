// SPDX-License-Identifier: Apache-2.0
// Builds the contents of a disk after a power loss: the durable state plus some of the unconfirmed operations.

import RegnumSystem

/// Applies the operations that survive. Used once: `init`, then `build`.
struct CrashImage {
    private struct File {
        var bytes: [UInt8]
        var byteCount: Int
        /// The number of length changes that survive, and the number seen so far.
        var survivingLengths = 0
        var lengths = 0
    }

    private static let sectorByteCount = 512

    private var files: [ObjectIdentifier: File] = [:]
    private var names: [String: SimulatedNode]
    private let operations: ArraySlice<PendingOperation>
    private let model: LossModel

    init(_ disk: SimulatedDisk, keepingFirst count: Int, model: LossModel, random: inout SeededRandom) {
        self.model = model
        names = disk.durableNames
        var operations = disk.pending.prefix(count)
        if model == .prefix { operations = operations.prefix(random.below(operations.count + 1)) }
        self.operations = operations
    }

    /// The surviving names and the bytes of their files. Two names of one file have the same identifier.
    mutating func build(
        _ random: inout SeededRandom
    ) -> (names: [String: ObjectIdentifier], files: [ObjectIdentifier: [UInt8]]) {
        applyNames(&random)
        for node in names.values {
            files[ObjectIdentifier(node)] = File(bytes: node.durable, byteCount: node.durable.count)
        }
        chooseLengths(&random)
        for operation in operations {
            guard let node = operation.node, var file = files.removeValue(forKey: ObjectIdentifier(node))
            else {
                continue
            }
            apply(operation, to: &file, &random)
            files[ObjectIdentifier(node)] = file
        }
        let finished = files.mapValues { file in
            var bytes = file.bytes
            bytes.setCount(file.byteCount)
            return bytes
        }
        return (names.mapValues { ObjectIdentifier($0) }, finished)
    }

    private var losesTails: Bool { model != .everything && model != .prefix }

    private mutating func applyNames(_ random: inout SeededRandom) {
        var counts: [String: Int] = [:]
        for operation in operations {
            if let directory = operation.directory { counts[directory, default: 0] += 1 }
        }
        if losesTails {
            // Sorted, because the order of a dictionary differs between runs.
            for directory in counts.keys.sorted() {
                counts[directory] = random.below((counts[directory] ?? 0) + 1)
            }
        }
        for operation in operations {
            guard let directory = operation.directory, let left = counts[directory], left > 0 else {
                continue
            }
            counts[directory] = left - 1
            operation.apply(to: &names)
        }
    }

    private mutating func chooseLengths(_ random: inout SeededRandom) {
        // In order of first appearance, so that the choice does not depend on addresses.
        var order: [ObjectIdentifier] = []
        for operation in operations {
            switch operation {
            case .grow(let node, _), .cut(let node, _):
                let identifier = ObjectIdentifier(node)
                guard var file = files.removeValue(forKey: identifier) else { continue }
                if file.survivingLengths == 0 { order.append(identifier) }
                file.survivingLengths += 1
                files[identifier] = file
            default: break
            }
        }
        guard losesTails, model != .writes else { return }
        for identifier in order {
            guard let count = files[identifier]?.survivingLengths else { continue }
            files[identifier]?.survivingLengths = random.below(count + 1)
        }
    }

    private func apply(_ operation: PendingOperation, to file: inout File, _ random: inout SeededRandom) {
        switch operation {
        case .write(_, let offset, let bytes, let isUnknown):
            applyWrite(offset, bytes, isUnknown, to: &file, &random)
        case .grow(_, let byteCount):
            file.lengths += 1
            if file.lengths <= file.survivingLengths { file.byteCount = max(file.byteCount, byteCount) }
        case .cut(_, let byteCount):
            file.lengths += 1
            if file.lengths <= file.survivingLengths {
                file.byteCount = min(file.byteCount, byteCount)
                file.bytes.setCount(min(file.bytes.count, byteCount))
            }
        case .link, .rename, .unlink: break
        }
    }

    private func applyWrite(
        _ offset: Int, _ bytes: ArraySlice<UInt8>, _ isUnknown: Bool, to file: inout File,
        _ random: inout SeededRandom
    ) {
        switch model {
        case .everything, .prefix:
            file.bytes.place(bytes, at: offset)
        case .writes, .lengths:
            if random.below(2) == 0 { file.bytes.place(bytes, at: offset) }
        case .sectors, .garbage:
            let sector = Self.sectorByteCount
            var position = offset
            let end = offset + bytes.count
            while position < end {
                let next = min((position / sector + 1) * sector, end)
                switch random.below(model == .garbage ? 3 : 2) {
                case 0: break
                case 1:
                    let start = bytes.startIndex + position - offset
                    file.bytes.place(bytes[start..<(start + next - position)], at: position)
                default:
                    // A torn sector becomes garbage as a whole. But around bytes left unknown by a failed sync there
                    // may be confirmed bytes that were written later, so only the unknown part becomes garbage.
                    let first = isUnknown ? position : position / sector * sector
                    let last = isUnknown ? next : (position / sector + 1) * sector
                    let garbage = (first..<last).map { _ in UInt8(truncatingIfNeeded: random.next()) }
                    file.bytes.place(garbage[...], at: first)
                }
                position = next
            }
        }
    }
}
