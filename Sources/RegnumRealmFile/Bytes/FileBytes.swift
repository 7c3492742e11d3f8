// SPDX-License-Identifier: Apache-2.0
// The decrypted bytes of a file, read in chunks of 64 KiB on first access. They are copied, not mapped, so that
// truncation of the file by another program is an error and never a signal.

internal import RegnumSystem

/// The bytes of a file at addresses that do not change. One thread at a time.
///
/// A pointer returned by `pointer(at:count:)` is valid until `trim()` releases memory.
final class FileBytes {
    static let chunkByteCount = 1 << 16
    /// The amount of memory that `trim()` may leave in use.
    static let keptByteCount = 64 << 20
    /// The address space of a process on 64-bit systems.
    private static let byteCountLimit = 1 << 47

    let byteCount: Int
    private let memory: ReservedMemory
    private let source: any ByteSource
    /// The raw values of the states; memory that was never written has the first one.
    private enum ChunkState: UInt8 { case absent, withGaps, complete }
    /// The state of each chunk, after the contents in `memory`: a sparse file may have more chunks than there is memory
    /// for their states, so that only states that are written take memory.
    private let states: UnsafeMutablePointer<UInt8>
    /// The chunks in memory, in the order in which they were loaded.
    private var loadedChunks: [Int] = []

    init(_ source: any ByteSource) throws(RealmFileError) {
        self.source = source
        byteCount = source.byteCount
        guard byteCount <= Self.byteCountLimit else { throw Self.tooLarge(byteCount) }
        let chunkCount = max((byteCount + Self.chunkByteCount - 1) / Self.chunkByteCount, 1)
        do throws(SystemError) {
            memory = try ReservedMemory(byteCount: chunkCount * (Self.chunkByteCount + 1))
            try memory.ensure(memory.byteCount)
        } catch {
            throw Self.tooLarge(source.byteCount)
        }
        states = (memory.base + chunkCount * Self.chunkByteCount).assumingMemoryBound(to: UInt8.self)
    }

    private static func tooLarge(_ byteCount: Int) -> RealmFileError {
        RealmFileError(.unreadable, "there is not enough address space for its \(byteCount) bytes")
    }

    /// The address of the byte at `offset`, from which `count` bytes can be read. The caller has checked the range.
    @inline(__always)
    func pointer(at offset: Int, count: Int) throws(RealmFileError) -> UnsafeRawPointer {
        assert(offset >= 0 && count >= 0 && offset + count <= byteCount, "the range is outside of the file")
        if count == 0 { return UnsafeRawPointer(memory.base + offset) }
        var chunk = offset / Self.chunkByteCount
        let last = (offset + count - 1) / Self.chunkByteCount
        while chunk <= last {
            if states[chunk] != ChunkState.complete.rawValue { try load(chunk, for: offset..<offset + count) }
            chunk += 1
        }
        return UnsafeRawPointer(memory.base + offset)
    }

    /// Releases the chunks that were loaded first if more than `keptByteCount` is in use: half of that remains.
    /// The parts of an object may be far apart in the file: those of the last objects are likely to be needed again.
    func trim() {
        guard loadedChunks.count * Self.chunkByteCount > Self.keptByteCount else { return }
        let released = loadedChunks.count - Self.keptByteCount / Self.chunkByteCount / 2
        for chunk in loadedChunks[..<released] {
            let start = chunk * Self.chunkByteCount
            memory.discard(start..<start + Self.chunkByteCount)
            states[chunk] = ChunkState.absent.rawValue
        }
        loadedChunks.removeFirst(released)
    }

    /// Reads the chunk if it is absent. Throws if a page of `range` in this chunk has no contents.
    @inline(never)
    private func load(_ chunk: Int, for range: Range<Int>) throws(RealmFileError) {
        let start = chunk * Self.chunkByteCount
        let count = min(Self.chunkByteCount, byteCount - start)
        if states[chunk] == ChunkState.absent.rawValue {
            let buffer = UnsafeMutableRawBufferPointer(start: memory.base + start, count: count)
            let isComplete = try source.read(buffer, at: start)
            states[chunk] = (isComplete ? ChunkState.complete : .withGaps).rawValue
            loadedChunks.append(chunk)
        }
        if states[chunk] == ChunkState.withGaps.rawValue { try source.check(range.clamped(to: start..<start + count)) }
    }
}

/// Bytes that can be read at any offset: those of a plain file, or the decrypted ones of an encrypted file.
protocol ByteSource: AnyObject {
    var byteCount: Int { get }
    /// Fills `buffer`, which holds zeros, from `offset`. The range is within `byteCount`. Returns false if some of its
    /// pages were never written or are damaged; their bytes stay zero.
    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(RealmFileError) -> Bool
    /// Throws if a page of the range was never written or is damaged. The range was read before.
    func check(_ range: Range<Int>) throws(RealmFileError)
}

/// The bytes of a plain file.
final class PlainSource: ByteSource {
    let file: any File
    let byteCount: Int

    init(_ file: any File) throws(RealmFileError) {
        self.file = file
        byteCount = try reading { () throws(SystemError) in try file.byteCount() }
    }

    func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(RealmFileError) -> Bool {
        let count = try reading { () throws(SystemError) in try file.read(buffer, at: offset) }
        guard count == buffer.count else {
            throw RealmFileError(
                .unreadable,
                "the file became shorter than \(byteCount) bytes while it was read: another program writes to it")
        }
        return true
    }

    func check(_ range: Range<Int>) {}
}

/// Runs `body`, and converts errors of the system to errors of this module.
func reading<Result>(_ body: () throws(SystemError) -> Result) throws(RealmFileError) -> Result {
    do throws(SystemError) {
        return try body()
    } catch {
        let code: RealmFileError.Code =
            switch error.kind {
            case .notFound, .notDirectory: .notFound
            case .permissionDenied: .permissionDenied
            default: .unreadable
            }
        throw RealmFileError(code, error.description)
    }
}
