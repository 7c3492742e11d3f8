// SPDX-License-Identifier: Apache-2.0
// Memory, reservations of address space, and facts about the current process.

import Foundation
import RegnumSystem
import Testing

@Suite("Memory and process")
struct HelperTests {
    @Test("Compares as unsigned bytes and finds the first of several")
    func memory() {
        let a: [UInt8] = [1, 200, 3, 3], b: [UInt8] = [1, 100, 3, 3]
        a.withUnsafeBytes { a in
            b.withUnsafeBytes { b in
                guard let a = a.baseAddress, let b = b.baseAddress else { return }
                #expect(Memory.compare(a, b, 4) > 0)
                #expect(Memory.compare(b, a, 4) < 0)
                #expect(Memory.compare(a, b, 1) == 0)
                #expect(Memory.find(3, in: a, 4) == 2)
                #expect(Memory.find(9, in: a, 4) == nil)
            }
        }
        let pages = Memory.allocatePages(byteCount: 8_192)
        defer { Memory.freePages(pages) }
        #expect(UInt(bitPattern: pages) % 4_096 == 0)
        Memory.fill(pages, with: 9, 8_192)
        Memory.zero(pages + 1, 10)
        Memory.move(pages + 2, pages, 4)
        #expect(pages.load(fromByteOffset: 2, as: UInt8.self) == 9)
        #expect(pages.load(fromByteOffset: 3, as: UInt8.self) == 0)
        #expect(pages.load(fromByteOffset: 11, as: UInt8.self) == 9)
    }

    @Test("Reservations that may be smaller are smaller once the process has many")
    func manyReservations() throws {
        let reserved = try (0..<400).map { _ in try ReservedMemory(byteCount: 64 << 30, minimum: 1 << 30) }
        #expect(reserved.reduce(0) { $0 + $1.byteCount } <= (16 << 40) + 400 * (4 << 30))
        #expect(try ReservedMemory(byteCount: 64 << 30).byteCount == 64 << 30)
    }

    @Test(
        "Zeros exactly the discarded bytes",
        arguments: [0..<1, 10..<4_096, 100..<20_000, 4_096..<8_192, 5..<5])
    func discard(_ range: Range<Int>) throws {
        let memory = try ReservedMemory(byteCount: 1 << 20)
        Memory.fill(memory.base, with: 1, 40_000)
        memory.discard(range)
        for index in 0..<40_000 where memory.base.load(fromByteOffset: index, as: UInt8.self) != 1 {
            #expect(range.contains(index))
        }
        for index in range { #expect(memory.base.load(fromByteOffset: index, as: UInt8.self) == 0) }
    }

    @Test(
        "Temporary memory can be filled from end to end",
        arguments: [1, 4_096, 4 << 20, 4 << 20 | 1, 9_000_000])
    func scratch(_ byteCount: Int) {
        let memory = Memory.allocateScratch(byteCount: byteCount)
        Memory.fill(memory, with: 7, byteCount)
        #expect(memory.load(fromByteOffset: byteCount - 1, as: UInt8.self) == 7)
        Memory.freeScratch(memory, byteCount: byteCount)
    }

    #if os(Linux)
        @Test("Large pages are requested after the small bytes, and again after a renewal")
        func largePages() throws {
            // If the system has no large pages, there is nothing to request.
            guard FileManager.default.fileExists(atPath: "/sys/kernel/mm/transparent_hugepage/enabled") else { return }
            let scratch = Memory.allocateScratch(byteCount: 8 << 20)
            defer { Memory.freeScratch(scratch, byteCount: 8 << 20) }
            #expect(try wantsLargePages(scratch + (4 << 20)))
            let plain = try ReservedMemory(byteCount: 16 << 20)
            #expect(try !wantsLargePages(plain.base + (8 << 20)))
            let memory = try ReservedMemory(byteCount: 16 << 20, smallByteCount: 4 << 20)
            #expect(try !wantsLargePages(memory.base + 4096))
            #expect(try wantsLargePages(memory.base + (4 << 20)))
            memory.renew(2 << 20..<6 << 20)
            #expect(try !wantsLargePages(memory.base + (3 << 20)))
            #expect(try wantsLargePages(memory.base + (5 << 20)))
        }

        /// By the flags of the mapping that holds the address.
        private func wantsLargePages(_ address: UnsafeMutableRawPointer) throws -> Bool {
            let wanted = UInt(bitPattern: address)
            var isInside = false
            // The file reports a length of zero, so it is read as one of unknown length.
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/smaps"))
            let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
            for line in text.split(separator: "\n") {
                let range = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
                if range.count == 2 { isInside = range[0] <= wanted && wanted < range[1] }
                if isInside, line.hasPrefix("VmFlags:") { return line.split(separator: " ").contains("hg") }
            }
            throw SystemError(.notFound, "find", "a mapping")
        }
    #endif

    @Test("Identifies the process, its start and the boot")
    func process() {
        #expect(CurrentProcess.id > 0)
        #expect(CurrentProcess.startTime > 0)
        #expect(CurrentProcess.startTime(of: CurrentProcess.id) == CurrentProcess.startTime)
        #expect(CurrentProcess.startTime(of: 1) != CurrentProcess.startTime)
        #expect(CurrentProcess.startTime(of: .max) == nil)
        #expect(Machine.bootIdentifier.utf8.count == 36)
        #expect(!CurrentProcess.name.isEmpty)
        #expect(CurrentProcess.environment("PATH") != nil)
        #expect(CurrentProcess.environment("REGNUM_SURELY_UNSET") == nil)
        let before = MonotonicClock.now()
        CurrentThread.sleep(nanoseconds: 2_000_000)
        #expect(MonotonicClock.now() - before >= 2_000_000)
        #expect(CurrentThread.id == CurrentThread.id)
    }
}
