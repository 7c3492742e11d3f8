// SPDX-License-Identifier: Apache-2.0
// The parts of the Swift runtime's memory layout that the object layer relies on for speed, and the test of them.
//
// On Apple's systems this layout is a stable ABI (swift/docs/ABI, RefCount.h); on Linux it can change with the
// compiler. Everything in the object layer that depends on it is in this file and in `ClassScan.swift`, which finds
// classes:
//
//     instance         word 0: its metadata, word 1: reference counts; 3 for an instance with one strong reference and
//                      no other; on 64-bit systems bits 33 to 62 count the additional strong references
//     class metadata   after two words and 8 bytes: the size of an instance, 32 bits
//     String           two words; a text of up to 15 bytes is stored in them, and equal texts have equal words
//     key path         debug builds: the 32-bit word at byte 32 has the offset of a stored property in its low 23 bits
//
// `isVerified` tests each of them when it is first read. If a test fails, the object layer takes the plain path:
// objects are made by their initialisers and are not reused, and names are looked up as texts. Results are the same,
// only slower: the step `instructions` of `.ci/run` fails if a release build takes this path.

internal import RegnumSystem

@usableFromInline
package enum RuntimeLayout {
    /// The numbers of the layout. A test passes wrong ones to `problems`.
    package struct Constants: Sendable {
        package var uniqueCount: UInt = 3
        package var additionalReference: UInt = 1 << 33
        package var instanceSizeByteOffset = 2 * MemoryLayout<UInt>.size + 8
        package var keyPathByteOffset = 32

        package init() {}
    }

    /// True if the runtime has the layout that this file describes. In debug builds it is false if the environment has
    /// `REGNUM_PLAIN_RUNTIME`, so that tests can run on the plain path. Any thread.
    @usableFromInline
    package static let isVerified: Bool = {
        #if DEBUG
            if CurrentProcess.environment("REGNUM_PLAIN_RUNTIME") != nil { return false }
        #endif
        return problems(Constants()).isEmpty
    }()

    /// Returns the differences from `constants`; empty if there are none.
    package static func problems(_ constants: Constants) -> [String] {
        var found: [String] = []
        if !hasInstanceSize(constants) { found.append("the size of an instance in the metadata of its class") }
        if !hasReferenceCounts(constants) { found.append("the reference counts of an instance") }
        // Only if both are correct: otherwise an instance made from bytes cannot be released.
        if found.isEmpty, !canMakeInstance() { found.append("an instance made from bytes") }
        if !hasInlineTexts() { found.append("the words of a short text") }
        if !hasKeyPathOffset(constants) { found.append("the offset in a key path") }
        return found
    }

    // MARK: Instances

    /// Writes the header of an instance with one reference at `memory`.
    static func writeHeader(of type: AnyClass, to memory: UnsafeMutableRawPointer) {
        memory.storeBytes(of: unsafeBitCast(type, to: UInt.self), as: UInt.self)
        memory.storeBytes(of: Constants().uniqueCount, toByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
    }

    /// Returns the size of an instance in bytes. Meaningless unless `isVerified` is true.
    static func instanceSize(of type: AnyClass) -> Int { instanceSize(of: type, Constants()) }

    private static func instanceSize(of type: AnyClass, _ constants: Constants) -> Int {
        let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
        return Int(metadata.load(fromByteOffset: constants.instanceSizeByteOffset, as: UInt32.self))
    }

    private class Probe {
        // Final, because a key path of a property that can be overridden has no offset.
        final var first = 1
        final var second = 2
        private static let header = 2 * MemoryLayout<UInt>.size
        static let byteCount = header + 2 * MemoryLayout<Int>.size
    }

    private final class LargerProbe: Probe {
        let ends: UnsafeMutablePointer<Int>
        var third = 3
        static let largerByteCount = byteCount + MemoryLayout<UInt>.size + MemoryLayout<Int>.size

        init(ends: UnsafeMutablePointer<Int>) { self.ends = ends }
        deinit { ends.pointee += 1 }
    }

    private static func hasInstanceSize(_ constants: Constants) -> Bool {
        instanceSize(of: Probe.self, constants) == Probe.byteCount
            && instanceSize(of: LargerProbe.self, constants) == LargerProbe.largerByteCount
    }

    // Not inlined: the optimiser would allocate the instance on the stack, and remove a retain and the release that
    // follows it. It does neither in the code of the object layer that relies on the counts.
    @inline(never) private static func makeProbe() -> Unmanaged<Probe> { .passRetained(Probe()) }
    @inline(never) private static func retain(_ held: Unmanaged<Probe>) { _ = held.retain() }
    @inline(never) private static func release(_ held: Unmanaged<Probe>) { held.release() }
    @inline(never) private static func count(_ held: Unmanaged<Probe>) -> UInt {
        held.toOpaque().load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
    }

    private static func hasReferenceCounts(_ constants: Constants) -> Bool {
        let held = makeProbe()
        defer { release(held) }
        let type = held.toOpaque().load(as: UInt.self)
        guard type == unsafeBitCast(Probe.self as AnyClass, to: UInt.self), count(held) == constants.uniqueCount else {
            return false
        }
        retain(held)
        let ofTwo = count(held)
        release(held)
        #if _pointerBitWidth(_64)
            guard ofTwo == constants.uniqueCount + constants.additionalReference else { return false }
        #endif
        guard ofTwo != constants.uniqueCount, count(held) == constants.uniqueCount else { return false }
        weak let other = held.takeUnretainedValue()
        return count(held) != constants.uniqueCount && other != nil
    }

    /// Makes an instance from bytes, uses it, and expects that its `deinit` runs once.
    private static func canMakeInstance() -> Bool {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 1) { ends in
            ends.initialize(repeating: 0)
            let memory = Memory.allocateInstance(LargerProbe.largerByteCount)
            Memory.zero(memory, LargerProbe.largerByteCount)
            writeHeader(of: LargerProbe.self, to: memory)
            let ofEnds = Probe.byteCount
            memory.storeBytes(
                of: ends.baseAddress.unsafelyUnwrapped, toByteOffset: ofEnds, as: UnsafeMutablePointer<Int>.self)
            let held = Unmanaged<LargerProbe>.fromOpaque(memory)
            let isRight = held._withUnsafeGuaranteedRef { probe in
                probe.first = 5
                probe.third = 7
                return probe.first == 5 && probe.second == 0 && probe.third == 7 && ends[0] == 0
            }
            held.release()
            return isRight && ends[0] == 1
        }
    }

    // MARK: Texts

    /// Returns the two words of a text. Two texts with equal words are equal if one of them has at most
    /// `inlineByteCount` bytes and was copied from bytes. Requires `isVerified`.
    @inline(__always)
    static func words(of text: String) -> (UInt64, UInt64) {
        #if _pointerBitWidth(_64)
            return unsafeBitCast(text, to: (UInt64, UInt64).self)
        #else
            return (0, 0)
        #endif
    }

    /// The largest byte count of a text that is stored inline.
    static let inlineByteCount = 15

    private static func hasInlineTexts() -> Bool {
        guard MemoryLayout<String>.size == 2 * MemoryLayout<UInt64>.size else { return false }
        for byteCount in 1...inlineByteCount {
            let bytes = (0..<byteCount).map { UInt8(97 + $0) }
            var text = ""
            for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
            let copy = String(decoding: bytes, as: UTF8.self)
            guard words(of: text) == words(of: copy) else { return false }
            for place in bytes.indices {
                var others = bytes
                others[place] ^= 1
                if words(of: String(decoding: others, as: UTF8.self)) == words(of: copy) { return false }
            }
        }
        return true
    }

    // MARK: Key paths

    /// Returns the offset of the stored property of a class that a key path names. Requires `isVerified`, and a
    /// property that its class declares without a type parameter in its offset.
    @inlinable @inline(__always)
    static func storedOffset<Root: AnyObject, Stored>(of path: ReferenceWritableKeyPath<Root, Stored>) -> Int {
        Int(unsafeBitCast(path, to: UnsafeRawPointer.self).load(fromByteOffset: 32, as: UInt32.self) & 0x7f_ffff)
    }

    private static func hasKeyPathOffset(_ constants: Constants) -> Bool {
        #if DEBUG
            let path: ReferenceWritableKeyPath<Probe, Int> = \Probe.second
            let word = unsafeBitCast(path, to: UnsafeRawPointer.self)
                .load(fromByteOffset: constants.keyPathByteOffset, as: UInt32.self)
            return Int(word & 0x7f_ffff) == Probe.byteCount - MemoryLayout<Int>.size
                && (constants.keyPathByteOffset != Constants().keyPathByteOffset
                    || storedOffset(of: path) == Probe.byteCount - MemoryLayout<Int>.size)
        #else
            return true
        #endif
    }
}

extension Unmanaged {
    /// True if the caller has the only reference to the instance. Unlike `isKnownUniquelyReferenced`, this also counts
    /// weak and unowned references. Other threads that had a reference are done with the instance: their reads happened
    /// before they released it. Nothing else can change the counts in the meantime, because creating a reference
    /// requires having one. Requires `RuntimeLayout.isVerified`.
    @inlinable @inline(__always)
    package var isHeldOnce: Bool {
        toOpaque().load(fromByteOffset: MemoryLayout<UInt>.size, as: UInt.self) == 3
    }

    /// Returns a second reference to an instance for which `isHeldOnce` is true, without the atomic operation of a
    /// retain. Requires `RuntimeLayout.isVerified`.
    @inlinable @inline(__always)
    package func secondReference() -> Instance {
        #if _pointerBitWidth(_64)
            toOpaque().storeBytes(of: 3 + 1 << 33, toByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
            return takeRetainedValue()
        #else
            return takeUnretainedValue()
        #endif
    }
}
