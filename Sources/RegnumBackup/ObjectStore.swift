// SPDX-License-Identifier: Apache-2.0
// The store of a repository, as the rest of the module sees it: objects have their content, whatever their form is in
// the store (FrameCoder). Only the object 'repository' and its copy always have the same bytes in the store.

internal import RegnumSystem

/// Any thread.
final class ObjectStore: BackupStore {
    private let base: any BackupStore
    /// Nil if objects are stored as they are.
    private let coder: FrameCoder?
    private let putBytes = Lock(0)
    /// Most tables are not longer.
    private static let firstRead = 0..<4096

    init(_ base: any BackupStore, _ coder: FrameCoder?) {
        self.base = base
        self.coder = coder
    }

    /// The bytes that all calls of `putIfAbsent` have sent to the store.
    var putByteCount: Int { putBytes.withLock { $0 } }

    private func coder(_ name: String) -> FrameCoder? {
        name == ObjectName.repository || name == ObjectName.copies + ObjectName.repository ? nil : coder
    }

    func list(_ prefix: String) throws -> [String] { try base.list(prefix) }

    /// The length in the store: the repository only asks whether an object exists.
    func byteCount(of name: String) throws -> Int? { try base.byteCount(of: name) }

    func delete(_ name: String) throws { try base.delete(name) }

    func putIfAbsent(_ name: String, _ bytes: [UInt8]) throws -> Bool {
        let stored = coder(name)?.encoded(name, bytes) ?? bytes
        putBytes.withLock { $0 += stored.count }
        return try base.putIfAbsent(name, stored)
    }

    func get(_ name: String) throws -> [UInt8]? {
        guard let coder = coder(name) else { return try base.get(name) }
        guard let stored = try base.get(name) else { return nil }
        guard let table = coder.table(stored) else { return [] }
        return Self.content(coder, name, table, 0..<table.frames.count, stored, from: 0)
    }

    func get(_ name: String, range: Range<Int>) throws -> [UInt8]? {
        guard let coder = coder(name) else { return try base.get(name, range: range) }
        guard let start = try start(of: name, coder) else { return nil }
        guard let table = coder.table(start) else { return [] }
        let wanted = range.clamped(to: 0..<table.byteCount)
        let frames = table.frames(of: wanted)
        guard let first = frames.first, let last = frames.last else { return [] }
        let place = table.frames[first].range.lowerBound..<table.frames[last].range.upperBound
        guard let stored = try base.get(name, range: place) else { return nil }
        let content = Self.content(coder, name, table, frames, stored, from: place.lowerBound)
        let offset = first * FrameTable.frameByteCount
        return Array(content.dropFirst(wanted.lowerBound - offset).prefix(wanted.count))
    }

    /// The start of an object, with its table; nil if there is no object.
    private func start(of name: String, _ coder: FrameCoder) throws -> [UInt8]? {
        guard let start = try base.get(name, range: Self.firstRead) else { return nil }
        let byteCount = try? FrameTable.tableByteCount(start, isEncrypted: coder.key != nil)
        guard let byteCount, byteCount > start.count else { return start }
        return try base.get(name, range: 0..<byteCount)
    }

    /// The content of some frames, with zeros for damaged ones, as far as `stored` has them. It begins at `start` in the
    /// object.
    private static func content(
        _ coder: FrameCoder, _ name: String, _ table: FrameTable, _ frames: Range<Int>, _ stored: [UInt8],
        from start: Int
    ) -> [UInt8] {
        var content: [UInt8] = []
        for number in frames {
            let range = table.frames[number].range
            let place = range.lowerBound - start..<range.upperBound - start
            guard place.upperBound <= stored.count else { break }
            let frame = coder.content(name, table, number, stored[place])
            content += frame ?? [UInt8](repeating: 0, count: table.content(number).count)
        }
        return content
    }
}
