// SPDX-License-Identifier: Apache-2.0
// Lists the processes that have a database open, and what they pin, without joining them and without writing.

import RegnumSystem

/// A process that has the database open.
package struct OpenProcess: Sendable, Equatable {
    /// 0 for processes that only read, which write nothing, not even their id.
    package var process: UInt64
    /// The pinned versions, ascending.
    package var pins: [UInt64]
    /// Every version from this one on is kept, if not all pins are listed.
    package var floor: UInt64?
    package var isWriting = false
}

extension LockFile {
    /// Reads the lock file at the path, if it belongs to this database and is in use, and the locks of readers.
    func processesAtPath(_ header: FileHeader) throws(EngineError) -> [OpenProcess] {
        var processes = memberProcesses(header)
        if let readers = try pinsOfReaders() {
            processes.append(OpenProcess(process: 0, pins: readers.pins, floor: readers.floor))
        }
        return processes
    }

    private func memberProcesses(_ header: FileHeader) -> [OpenProcess] {
        guard let left = try? fileSystem.open(path, .readOnlyNoFollow) else { return [] }
        defer { left.close() }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.byteCount, alignment: 16)
        defer { bytes.deallocate() }
        guard let base = bytes.baseAddress, (try? left.read(bytes, at: 0)) == bytes.count,
            isHead(base, of: left, header)
        else { return [] }
        let instance = Self.instance(base)
        var processes: [OpenProcess] = []
        for slot in 0..<Self.slotCount {
            let start = Self.slotsOffset + slot * Self.slotByteCount
            func word(_ number: Int) -> UInt64? { Word(base, at: start + number * 8, of: instance).checked }
            guard (try? database.isLocked(byte: Self.firstSlotByte + slot)) == true else { continue }
            processes.append(
                OpenProcess(
                    process: word(Self.processWord) ?? 0,
                    pins: (1...Self.pinsPerSlot).compactMap { word($0) }.filter { $0 != 0 }.sorted(),
                    floor: word(0) == 0 ? nil : word(0) ?? 0, isWriting: (word(Self.writingWord) ?? 0) != 0))
        }
        return processes
    }
}

extension Database {
    /// The processes that have the file open, except this one's own opening, and what they pin. Also for read-only
    /// openings.
    package func otherProcesses() throws(EngineError) -> [OpenProcess] {
        try LockFile(path: path, fileSystem: fileSystem, database: file).processesAtPath(header)
    }
}
