// SPDX-License-Identifier: Apache-2.0
// Runs the checks of invariants: in debug builds, and in release builds that are compiled with `-D REGNUM_CHECKS`, as
// the simulation is. All other builds compile the checks away.
//
//   local check   O(node), at the end of one mutation in 16: the part of the structure that the mutation has touched
//   full check    the part that is in memory, at each seal or commit; of large structures at one in up to 64
//
// A check traps, because a finding is a bug of this library. So it may only judge what this process itself has made.
// Bytes from a file may hold anything: reading validates each block by itself and throws `.corrupted`, but it does not
// compare blocks with each other, so a damaged file can break every invariant between the nodes of a tree. Therefore
// trees are judged only while `BlockReader.isTrusted`: this process has created the file and written everything in it,
// and no sync has failed since, after which the system may show earlier bytes. They are not judged once a change of the
// transaction stopped halfway (`BlockSpace.failure`), which ends in a rollback. The state of locks, versions, queued
// commits, free pages and observers is never read from a file as it is, and is always judged. A check that stands
// between a damaged file and a commit throws `.corrupted` instead (`FreeSpace.checkInvariants`).

import RegnumSystem
import Synchronization

package enum Invariants {
    #if DEBUG || REGNUM_CHECKS
        @inlinable package static var areChecked: Bool {
            @inline(__always) get { true }
        }
    #else
        @inlinable package static var areChecked: Bool {
            @inline(__always) get { false }
        }
    #endif

    private final class Collector: Sendable {
        let findings = Lock<[String]>([])
    }

    /// Set while a test collects findings.
    @TaskLocal private static var collector: Collector?

    /// The number of tests that collect findings: every check is due then.
    private static let collecting = Atomic<Int>(0)

    /// The number of checks that were considered so far.
    private static let considered = Atomic<UInt64>(0)

    /// One in this many mutations ends with a local check.
    static let localRate = 16
    /// Structures of fewer elements are checked completely each time; larger ones less often, but not less often than
    /// one time in `fullRate`.
    private static let smallSize = 16
    private static let fullRate = 64

    /// Ends the process if there are findings. `isSeeded`: a test has broken the code on purpose.
    @inlinable @inline(__always)
    package static func require(
        _ subject: StaticString, isSeeded: Bool = false, _ findings: @autoclosure () -> [String]
    ) {
        guard areChecked else { return }
        let found = findings()
        if !found.isEmpty { report(subject, found, isSeeded: isSeeded) }
    }

    @usableFromInline @inline(never)
    package static func report(_ subject: StaticString, _ found: [String], isSeeded: Bool) {
        let text = "\(subject): \(found.prefix(3).joined(separator: "; "))"
        if let collector {
            collector.findings.withLock { $0.append(text) }
        } else if !isSeeded {
            fatalError(text)
        }
    }

    /// True for one call in `rate`, at random, so that checks of which one considers another are independent.
    @inline(__always)
    static func isDue(oneIn rate: Int = localRate) -> Bool {
        guard areChecked else { return false }
        return isSampled(rate)
    }

    @inline(never)
    private static func isSampled(_ rate: Int) -> Bool {
        if collecting.load(ordering: .relaxed) > 0 { return true }
        // The mixing function of splitmix64, shortened.
        var number = considered.wrappingAdd(1, ordering: .relaxed).newValue &* 0x9E37_79B9_7F4A_7C15
        number = (number ^ number >> 32) &* 0xD6E8_FEB8_6659_FD93
        return (number ^ number >> 32).multipliedFullWidth(by: UInt64(max(rate, 1))).high == 0
    }

    /// The rate of full checks of a structure of `size` elements: on average a check costs as much as that of a small
    /// structure, or a 64th of the check of the whole.
    static func rate(of size: Int) -> Int { min(size / smallSize + 1, fullRate) }

    /// Runs `body`, and returns the findings of the checks at its mutations, all of which are due. The process does not
    /// end. For tests that break a structure on purpose.
    package static func collect(_ body: () throws -> Void) rethrows -> [String] {
        let made = Collector()
        collecting.wrappingAdd(1, ordering: .relaxed)
        defer { collecting.wrappingSubtract(1, ordering: .relaxed) }
        try $collector.withValue(made) { try body() }
        return made.findings.withLock { $0 }
    }
}
