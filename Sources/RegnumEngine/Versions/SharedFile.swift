// SPDX-License-Identifier: Apache-2.0
// `<path>.lock`: what the processes that have one file open tell each other. Nothing in it has to survive, and no
// process that is killed at any instruction leaves anything in it to repair: a lock on a byte ends with its
// process, and whoever needs a slot or a pin asks for the lock of its owner first.
//
//   offset size  meaning
//        0    8  magic "RLCK" and layout 1
//        8   16  UUID of the database file
//       24   40  boot identifier of the machine (36 characters)
//      512    8  number of the newest version (atomic)
//      520    8  slots in use: none from this number on has ever been claimed (atomic)
//     4096  256 process slots of 1,024 bytes:
//              0    8  oldest pin from which on everything is kept, where the 62 below do not suffice (atomic)
//              8  496  pinned versions, 0 = none (atomic)
//
//   locked bytes: 0 the writer · 1 opening · 1,000 + i the process of slot i, held as long as it has the file open
//
// Pinning: store the pin, then read the newest version again; if it has moved, pin that one. A writer collects pins
// after it has the writer's lock and before it takes space, so it sees a pin or the reader sees its version.

import RegnumSystem
import Synchronization

/// One process's end of the shared file. Guard: the mutex of `VersionRegistry` for `pin` and `unpin`; the rest is
/// atomic or below the writer's lock.
final class SharedFile: @unchecked Sendable {
    // Sendable: see above.
    static let byteCount = 4096 + slotCount * slotByteCount
    static let slotCount = 256
    static let slotByteCount = 1024
    static let pinsPerSlot = 62
    private static let magic: UInt64 = 0x0000_0001_4B43_4C52
    private static let writerByte = 0
    private static let openingByte = 1
    private static let firstSlotByte = 1000

    private let file: any File
    private let base: UnsafeMutableRawPointer
    private var slot = -1

    init(path: String, fileSystem: any FileSystem) throws(SystemError) {
        file = try fileSystem.open(path + ".lock", .readWriteCreate)
        if try file.byteCount() < Self.byteCount { try file.allocate(Self.byteCount) }
        base = try file.mapShared(Self.byteCount)
    }

    deinit {
        if slot >= 0 { clearSlot(slot) }
        file.close()
    }

    // MARK: Opening

    /// Calls `body` while no other process opens the file.
    func whileOpening<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
        do { try file.lock(byte: Self.openingByte) } catch { throw .system(error) }
        defer { file.unlock(byte: Self.openingByte) }
        return try body()
    }

    /// True if another process has this very file open, so that its state here counts and must be joined.
    func hasOthers(_ header: FileHeader) throws(EngineError) -> Bool {
        guard isValid(header) else { return false }
        do {
            for i in 0..<slotsInUse where try file.isLocked(byte: Self.firstSlotByte + i) { return true }
        } catch { throw .system(error) }
        return false
    }

    private func isValid(_ header: FileHeader) -> Bool {
        guard base.load(as: UInt64.self) == Self.magic,
            base.load(fromByteOffset: 8, as: UInt64.self) == header.identifierLow,
            base.load(fromByteOffset: 16, as: UInt64.self) == header.identifierHigh
        else { return false }
        let boot = Array(Machine.bootIdentifier.utf8.prefix(40))
        return (0..<40).allSatisfy {
            base.load(fromByteOffset: 24 + $0, as: UInt8.self) == ($0 < boot.count ? boot[$0] : 0)
        }
    }

    /// Begins anew: nobody else has the file open.
    func reset(_ header: FileHeader, newest: UInt64) {
        Memory.zero(base, Self.byteCount)
        base.storeBytes(of: header.identifierLow, toByteOffset: 8, as: UInt64.self)
        base.storeBytes(of: header.identifierHigh, toByteOffset: 16, as: UInt64.self)
        for (i, byte) in Machine.bootIdentifier.utf8.prefix(40).enumerated() {
            base.storeBytes(of: byte, toByteOffset: 24 + i, as: UInt8.self)
        }
        newestWord.pointee.store(newest, ordering: .sequentiallyConsistent)
        base.storeBytes(of: Self.magic, as: UInt64.self)
    }

    /// Takes a free slot, or that of a dead process.
    func claimSlot() throws(EngineError) {
        do {
            for i in 0..<Self.slotCount where try file.tryLock(byte: Self.firstSlotByte + i) {
                clearSlot(i)
                slot = i
                if slotsInUse < i + 1 { slotLimitWord.pointee.store(UInt64(i + 1), ordering: .sequentiallyConsistent) }
                return
            }
        } catch { throw .system(error) }
        throw .limit("More than \(Self.slotCount) processes have the file open.")
    }

    private func clearSlot(_ i: Int) {
        for word in 0...Self.pinsPerSlot { pinWord(i, word).pointee.store(0, ordering: .sequentiallyConsistent) }
    }

    // MARK: Versions

    private var newestWord: UnsafeMutablePointer<Atomic<UInt64>> {
        (base + 512).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private var slotLimitWord: UnsafeMutablePointer<Atomic<UInt64>> {
        (base + 520).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private var slotsInUse: Int {
        Int(min(slotLimitWord.pointee.load(ordering: .sequentiallyConsistent), UInt64(Self.slotCount)))
    }

    /// Word 0 of a slot is the floor, the others are pins.
    private func pinWord(_ slot: Int, _ word: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (base + 4096 + slot * Self.slotByteCount + word * 8).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    /// Number of the newest version. One load.
    var newest: UInt64 {
        get { newestWord.pointee.load(ordering: .sequentiallyConsistent) }
        set { newestWord.pointee.store(newValue, ordering: .sequentiallyConsistent) }
    }

    /// Shows a version as pinned by this process. `oldest` is the oldest of all it pins: where there is no free
    /// word, everything from there on is kept.
    func pin(_ number: UInt64, oldest: UInt64) {
        for word in 1...Self.pinsPerSlot where pinWord(slot, word).pointee.load(ordering: .relaxed) == 0 {
            pinWord(slot, word).pointee.store(number, ordering: .sequentiallyConsistent)
            return
        }
        pinWord(slot, 0).pointee.store(min(number, oldest), ordering: .sequentiallyConsistent)
    }

    /// `remaining` are the versions this process still pins.
    func unpin(_ number: UInt64, remaining: some Collection<UInt64>) {
        for word in 1...Self.pinsPerSlot where pinWord(slot, word).pointee.load(ordering: .relaxed) == number {
            pinWord(slot, word).pointee.store(0, ordering: .sequentiallyConsistent)
            break
        }
        guard pinWord(slot, 0).pointee.load(ordering: .relaxed) != 0 else { return }
        var shown: Set<UInt64> = []
        for word in 1...Self.pinsPerSlot { shown.insert(pinWord(slot, word).pointee.load(ordering: .relaxed)) }
        let hidden = remaining.filter { !shown.contains($0) }
        pinWord(slot, 0).pointee.store(hidden.min() ?? 0, ordering: .sequentiallyConsistent)
    }

    // MARK: Writing

    /// Waits for the writer's lock among processes.
    func lockWriter() throws(EngineError) {
        do { try file.lock(byte: Self.writerByte) } catch { throw .system(error) }
    }

    func unlockWriter() { file.unlock(byte: Self.writerByte) }

    /// The versions that other processes pin, and the version from which on everything is kept, if any. Pins of
    /// processes that have ended are cleared. Below the writer's lock.
    func pinsOfOthers() throws(EngineError) -> (pins: [UInt64], floor: UInt64?) {
        var pins: [UInt64] = []
        var floor: UInt64?
        do {
            for i in 0..<slotsInUse where i != slot {
                let words = (0...Self.pinsPerSlot).map {
                    pinWord(i, $0).pointee.load(ordering: .sequentiallyConsistent)
                }
                guard words.contains(where: { $0 != 0 }) else { continue }
                guard try file.isLocked(byte: Self.firstSlotByte + i) else {
                    // Claimed only with this lock: whoever takes the slot clears it too.
                    if try file.tryLock(byte: Self.firstSlotByte + i) {
                        clearSlot(i)
                        file.unlock(byte: Self.firstSlotByte + i)
                    }
                    continue
                }
                pins.append(contentsOf: words.dropFirst().filter { $0 != 0 })
                if words[0] != 0 { floor = min(floor ?? .max, words[0]) }
            }
        } catch { throw .system(error) }
        return (pins, floor)
    }
}
