// SPDX-License-Identifier: Apache-2.0
// The speed of the machine itself, measured between the workloads: a durable commit, sequential and random memory
// access, and the simplest getter of a live object.

import Foundation

/// The calibrations that a target may refer to.
enum Calibration: String, CaseIterable {
    /// 20 KiB contiguous, a slot of 4 KiB and one fdatasync.
    case commit = "C"
    /// The sum of 8 M Int64.
    case sum = "sum"
    /// 1 M random reads in 8 MB.
    case random = "random"
    /// A getter of an object of `let`s.
    case getter = "P"

    var title: String {
        switch self {
        case .commit: "C, 20 KiB + 4 KiB + fdatasync, ns"
        case .sum: "sum of 8 M Int64, ns each"
        case .random: "1 M random reads in 8 MB, ns each"
        case .getter: "P, plain getter, ns each"
        }
    }
}

/// Takes the measurements and keeps them.
final class Calibrations {
    private(set) var samples: [Calibration: [Double]] = [:]
    private let file: Int32
    private var offset = commitArea
    private let numbers: [Int64]
    private let objects = (0..<1_000).map { _ in PlainObject() }
    private let block: UnsafeMutableRawPointer

    private static let commitArea = 4_096
    private static let fileSize = 32 << 20

    init(file path: String) throws {
        file = Foundation.open(path, O_RDWR | O_CREAT, 0o600)
        guard file >= 0 else { throw Failure("\(path) cannot be made") }
        block = .allocate(byteCount: 1 << 20, alignment: 4_096)
        block.initializeMemory(as: UInt8.self, repeating: 0x5A, count: 1 << 20)
        for part in 0..<(Self.fileSize >> 20) { _ = pwrite(file, block, 1 << 20, part << 20) }
        fsync(file)
        numbers = (0..<8_000_000).map { Int64($0) }
    }

    deinit {
        Foundation.close(file)
        block.deallocate()
    }

    func median(_ calibration: Calibration) -> Double { percentile(calibration, 0.5) }

    func percentile(_ calibration: Calibration, _ part: Double) -> Double {
        let sorted = (samples[calibration] ?? []).sorted()
        guard !sorted.isEmpty else { return .nan }
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
    }

    /// A disk that takes more than 1 ms for each of ten syncs is throttled: write times are meaningless then.
    var diskIsThrottled: Bool { percentile(.commit, 0.1) > 1_000_000 }

    /// One round of all four, about 20 ms.
    func measure() {
        for _ in 0..<20 { add(.commit, nanoseconds(measureCommit)) }
        add(.sum, nanoseconds { sink(Int(truncatingIfNeeded: sum())) } / Double(numbers.count))
        add(.random, nanoseconds { sink(readAtRandom(1_000_000)) } / 1_000_000)
        add(.getter, nanoseconds(readObjects) / 1_000_000)
    }

    private func add(_ calibration: Calibration, _ value: Double) {
        samples[calibration, default: []].append(value)
    }

    private func measureCommit() {
        if offset + 20_480 > Self.fileSize { offset = Self.commitArea }
        _ = pwrite(file, block, 20_480, offset)
        _ = pwrite(file, block, 4_096, 0)
        fdatasync(file)
        offset += 20_480
    }

    /// A thousand objects a thousand times, so that nothing of an object stays in a register.
    private func readObjects() {
        for _ in 0..<1_000 {
            for object in objects { sink(object.value) }
        }
    }

    private func sum() -> Int64 { numbers.withUnsafeBufferPointer { $0.reduce(0, &+) } }

    private func readAtRandom(_ count: Int) -> Int {
        numbers.withUnsafeBufferPointer { numbers in
            var state: UInt64 = 1
            var sum = 0
            for _ in 0..<count {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                sum &+= Int(numbers[Int(state >> 44)])
            }
            return sum
        }
    }
}

/// The minimal live object: it knows the location of its row, and checks version and thread.
final class PlainObject {
    private struct Context {
        var epoch: Int
        var owner: UInt
    }

    private let context: UnsafeMutablePointer<Context>
    private let bytes: UnsafeMutableRawPointer
    private let epoch: Int
    private let row: Int

    init() {
        context = .allocate(capacity: 1)
        context.initialize(to: Context(epoch: 7, owner: UInt(pthread_self())))
        bytes = .allocate(byteCount: 4_096, alignment: 64)
        bytes.initializeMemory(as: UInt8.self, repeating: 1, count: 4_096)
        epoch = 7
        row = 100
    }

    deinit {
        context.deallocate()
        bytes.deallocate()
    }

    /// The header's first byte is the width of a value.
    var value: Int {
        guard context.pointee.epoch == epoch, context.pointee.owner == UInt(pthread_self()) else { return -1 }
        switch bytes.load(as: UInt8.self) {
        case 1: return Int(bytes.load(fromByteOffset: 64 + row, as: UInt8.self))
        case 2: return Int(bytes.load(fromByteOffset: 64 + row * 2, as: UInt16.self))
        case 4: return Int(bytes.load(fromByteOffset: 64 + row * 4, as: UInt32.self))
        default: return Int(bytes.load(fromByteOffset: 64 + row * 8, as: Int64.self))
        }
    }
}

/// The duration.
func nanoseconds(_ body: () throws -> Void) rethrows -> Double {
    let clock = ContinuousClock()
    let start = clock.now
    try body()
    return (clock.now - start) / .nanoseconds(1)
}
