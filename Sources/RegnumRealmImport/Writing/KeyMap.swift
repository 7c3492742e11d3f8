// SPDX-License-Identifier: Apache-2.0
// Maps the keys of the source's objects to keys of the new file. The keys of a source ascend, and new keys count
// upwards, so a class without deleted objects is one run of 24 bytes. Each gap starts another run.

internal import Foundation
internal import RegnumEngine

/// A map from old keys to new keys. Old keys are added in ascending order.
struct KeyMap {
    /// Consecutive old keys with consecutive new keys.
    private struct Run {
        var old: Int64
        var new: UInt64
        var count: UInt64
    }

    private var runs: [Run] = []
    /// The index of the run that was found last, which is tried first: links often point to neighbours.
    private var last = 0
    private(set) var count = 0

    /// Adds a pair of keys. Returns false, and adds nothing, unless `old` is greater than all keys in the map. O(1).
    mutating func add(_ old: Int64, _ new: ObjectKey) -> Bool {
        if let run = runs.last {
            let (distance, overflow) = old.subtractingReportingOverflow(run.old)
            guard overflow ? old > run.old : distance >= Int64(run.count) else { return false }
            if UInt64(bitPattern: old &- run.old) == run.count, new.rawValue == run.new + run.count {
                runs[runs.count - 1].count += 1
                count += 1
                return true
            }
        }
        runs.append(Run(old: old, new: new.rawValue, count: 1))
        count += 1
        return true
    }

    /// Returns the new key; nil if the object was not imported. O(log runs).
    mutating func find(_ old: Int64) -> ObjectKey? {
        if last < runs.count, let key = Self.key(old, in: runs[last]) { return key }
        var (low, high) = (0, runs.count)
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].old <= old { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return nil }
        last = low - 1
        return Self.key(old, in: runs[last])
    }

    private static func key(_ old: Int64, in run: Run) -> ObjectKey? {
        let (distance, overflow) = old.subtractingReportingOverflow(run.old)
        guard !overflow, distance >= 0, UInt64(distance) < run.count else { return nil }
        return ObjectKey(run.new + UInt64(distance))
    }

    /// Calls `body` with each old key and its new key, ascending by old keys.
    func visitAll(_ body: (Int64, ObjectKey) throws -> Void) rethrows {
        for run in runs {
            for offset in 0..<run.count { try body(run.old &+ Int64(offset), ObjectKey(run.new + offset)) }
        }
    }
}

/// A set of object keys, with one bit for each key up to the greatest.
struct KeyBits {
    private var words: [UInt64] = []

    /// Inserts the key. Returns true if it was not in the set.
    mutating func insert(_ key: ObjectKey) -> Bool {
        let place = Int(key.rawValue >> 6)
        if place >= words.count { words.append(contentsOf: repeatElement(0, count: place + 1 - words.count)) }
        let bit = UInt64(1) << (key.rawValue & 63)
        defer { words[place] |= bit }
        return words[place] & bit == 0
    }

    func contains(_ key: ObjectKey) -> Bool {
        let place = Int(key.rawValue >> 6)
        return place < words.count && words[place] & (1 << (key.rawValue & 63)) != 0
    }
}

/// Encoded as the bytes of its words: the state of an import stays on its machine.
extension KeyBits: Codable {
    init(from decoder: any Decoder) throws {
        let data = try decoder.singleValueContainer().decode(Data.self)
        words = Array(repeating: 0, count: data.count / 8)
        words.withUnsafeMutableBytes { $0.copyBytes(from: data.prefix($0.count)) }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(words.withUnsafeBytes { Data($0) })
    }
}
