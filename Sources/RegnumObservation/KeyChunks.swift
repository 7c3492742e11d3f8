// SPDX-License-Identifier: Apache-2.0
// An ordered sequence of keys in chunks. Finding, inserting and removing an element costs O(log n + chunk), and its
// position is known without counting. Each element takes the 8 bytes of its key, and at most as much again if chunks
// are half empty. The mark of the first element of each chunk is cached once requested, so that most steps of a search
// do not visit the objects, which are scattered in memory.

import RegnumEngine
import RegnumQuery

struct KeyChunks {
    static let usualLength = 256

    /// Chunks that grow beyond twice this length are split.
    private let chunkLength: Int
    /// No chunk is empty.
    private var chunks: [[ObjectKey]] = []
    /// The mark of the first key of each chunk; nil if not yet known. Stored separately from the chunks: a search
    /// stores marks, and would otherwise copy the references to all chunks.
    private var marks: [OrderMark?] = []
    /// The number of elements of each chunk, so that counting does not read the chunks.
    private var lengths: [Int] = []
    /// The number of elements before each chunk; the last entry is the number of all elements.
    private var starts: [Int] = [0]

    init(_ keys: [ObjectKey], chunkLength: Int = usualLength) {
        self.chunkLength = chunkLength
        chunks.reserveCapacity(keys.count / chunkLength + 1)
        for start in stride(from: 0, to: keys.count, by: chunkLength) {
            chunks.append(Array(keys[start..<min(start + chunkLength, keys.count)]))
        }
        marks = Array(repeating: nil, count: chunks.count)
        recount()
    }

    var count: Int { starts[chunks.count] }

    var all: [ObjectKey] {
        var keys: [ObjectKey] = []
        keys.reserveCapacity(count)
        for chunk in chunks { keys += chunk }
        return keys
    }

    /// Recounts everything; called after chunks were added or removed.
    private mutating func recount() {
        lengths = chunks.map(\.count)
        starts = [Int](repeating: 0, count: chunks.count + 1)
        count(from: 0)
    }

    /// Recounts from one chunk on; called after elements were added or removed there or after it.
    private mutating func count(from first: Int) {
        lengths.withUnsafeBufferPointer { lengths in
            starts.withUnsafeMutableBufferPointer { starts in
                var total = starts[first]
                for i in first..<lengths.count {
                    total &+= lengths[i]
                    starts[i &+ 1] = total
                }
            }
        }
    }

    /// The bytes of memory in use.
    var byteCount: Int {
        chunks.reduce(chunks.capacity * MemoryLayout<[ObjectKey]>.stride) {
            $0 + $1.capacity * MemoryLayout<ObjectKey>.stride
        } + marks.capacity * MemoryLayout<OrderMark?>.stride + 8 * (lengths.capacity + starts.capacity)
    }

    /// The element at a position, which must be in range. O(log n).
    subscript(position: Int) -> ObjectKey {
        let chunk = chunk(at: position)
        return chunks[chunk][position - starts[chunk]]
    }

    /// The number of elements for which `isBefore` is true; they must come before all others. O(log n) calls.
    func partition<E: Error>(_ isBefore: (ObjectKey) throws(E) -> Bool) throws(E) -> Int {
        // Find the first chunk for whose first element `isBefore` is false.
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low &+ high) &>> 1
            if try isBefore(chunks[middle][0]) { low = middle &+ 1 } else { high = middle }
        }
        return try partition(behind: low - 1, isBefore)
    }

    /// Loads all marks that are not yet known.
    mutating func learnMarks<E: Error>(_ markOf: (ObjectKey) throws(E) -> OrderMark) throws(E) {
        for i in chunks.indices where marks[i] == nil { marks[i] = try markOf(chunks[i][0]) }
    }

    /// Like `partition(_:)`, for elements in the order of their marks. Elements with a mark less than `mark` come
    /// first; among those with the same mark `isBefore` decides. `markOf` is called for marks that are not yet known.
    mutating func partition<E: Error>(
        _ mark: OrderMark, markOf: (ObjectKey) throws(E) -> OrderMark, _ isBefore: (ObjectKey) throws(E) -> Bool
    ) throws(E) -> Int {
        try partition(behind: try chunksBeginning(before: mark, markOf, isBefore) - 1, isBefore)
    }

    /// Like the method above, for an object that is probably an element. It is found by its key within its chunk, so
    /// that no object of the chunk is visited.
    mutating func partition<E: Error>(
        at key: ObjectKey, _ mark: OrderMark, markOf: (ObjectKey) throws(E) -> OrderMark,
        _ isBefore: (ObjectKey) throws(E) -> Bool
    ) throws(E) -> Int {
        let next = try chunksBeginning(before: mark, markOf, isBefore)
        if next < chunks.count, chunks[next][0] == key { return starts[next] }
        if next > 0, let place = chunks[next - 1].firstIndex(of: key) { return starts[next - 1] + place }
        return try partition(behind: next - 1, isBefore)
    }

    /// The number of chunks whose first element comes before the object with `mark`.
    private mutating func chunksBeginning<E: Error>(
        before mark: OrderMark, _ markOf: (ObjectKey) throws(E) -> OrderMark,
        _ isBefore: (ObjectKey) throws(E) -> Bool
    ) throws(E) -> Int {
        var low = 0
        var high = chunks.count
        var learned: [(chunk: Int, mark: OrderMark)] = []
        while low < high {
            let middle = (low &+ high) &>> 1
            let first: OrderMark
            if let known = marks[middle] {
                first = known
            } else {
                first = try markOf(chunks[middle][0])
                learned.append((middle, first))
            }
            let comes = first == mark ? try isBefore(chunks[middle][0]) : first < mark
            if comes { low = middle &+ 1 } else { high = middle }
        }
        // Stored after the search: when it stored marks between two reads, the compiler made the array unique before
        // the first read, which copied it each time, usually for nothing.
        for (chunk, mark) in learned { marks[chunk] = mark }
        return low
    }

    /// Partitions within a chunk for whose first element `isBefore` is true; -1 means that there is no such chunk.
    private func partition<E: Error>(behind chunk: Int, _ isBefore: (ObjectKey) throws(E) -> Bool) throws(E) -> Int {
        if chunk < 0 { return 0 }
        var low = 1
        var high = chunks[chunk].count
        while low < high {
            let middle = (low &+ high) &>> 1
            if try isBefore(chunks[chunk][middle]) { low = middle &+ 1 } else { high = middle }
        }
        return starts[chunk] + low
    }

    func visit(_ body: (_ position: Int, _ key: ObjectKey) -> Void) {
        var position = 0
        for chunk in chunks {
            for key in chunk {
                body(position, key)
                position += 1
            }
        }
    }

    /// Removes the elements at these positions, which are ascending. O(positions x (log n + chunk) + chunks).
    mutating func remove(at positions: [Int]) {
        guard let first = positions.first else { return }
        let firstChunk = chunk(at: first)
        var isAnyEmpty = false
        for position in positions.reversed() {
            let chunk = chunk(at: position)
            chunks[chunk].remove(at: position - starts[chunk])
            if position == starts[chunk] { marks[chunk] = nil }
            lengths[chunk] -= 1
            if lengths[chunk] == 0 { isAnyEmpty = true }
        }
        if isAnyEmpty {
            marks = marks.indices.filter { lengths[$0] > 0 }.map { marks[$0] }
            chunks.removeAll(where: \.isEmpty)
            recount()
        } else {
            count(from: firstChunk)
        }
        // Rebuild if chunks have become so small on average that there are too many of them.
        if chunks.count >= 8, chunks.count * chunkLength > 4 * count {
            self = KeyChunks(all, chunkLength: chunkLength)
        }
    }

    /// Inserts keys: `gap` is the number of present elements that come before the key. Gaps are ascending, and keys of
    /// the same gap are in order. O(keys x (log n + chunk) + chunks).
    mutating func insert(_ new: [(gap: Int, key: ObjectKey)]) {
        guard let first = new.first else { return }
        if chunks.isEmpty {
            self = KeyChunks(new.map(\.key), chunkLength: chunkLength)
            return
        }
        let firstChunk = chunk(before: first.gap)
        var isAnyLong = false
        // From the end, so that the gaps of earlier keys stay valid.
        for (gap, key) in new.reversed() {
            let chunk = chunk(before: gap)
            chunks[chunk].insert(key, at: gap - starts[chunk])
            if gap == 0 { marks[0] = nil }
            lengths[chunk] += 1
            if lengths[chunk] > 2 * chunkLength { isAnyLong = true }
        }
        if isAnyLong {
            cutLong()
            recount()
        } else {
            count(from: firstChunk)
        }
    }

    /// The index of the chunk that contains the element at `position`.
    private func chunk(at position: Int) -> Int {
        var low = 0
        var high = chunks.count
        while high &- low > 1 {
            let middle = (low &+ high) &>> 1
            if starts[middle] <= position { low = middle } else { high = middle }
        }
        return low
    }

    /// The index of the chunk that receives an element inserted after `gap` elements: the chunk of the last of these,
    /// so that the other chunks keep their first elements and their marks.
    private func chunk(before gap: Int) -> Int { gap == 0 ? 0 : chunk(at: gap - 1) }

    private mutating func cutLong() {
        var cut: [[ObjectKey]] = []
        var cutMarks: [OrderMark?] = []
        cut.reserveCapacity(chunks.count + 1)
        cutMarks.reserveCapacity(chunks.count + 1)
        for (chunk, mark) in zip(chunks, marks) {
            if chunk.count <= 2 * chunkLength {
                cut.append(chunk)
                cutMarks.append(mark)
                continue
            }
            for start in stride(from: 0, to: chunk.count, by: chunkLength) {
                cut.append(Array(chunk[start..<min(start + chunkLength, chunk.count)]))
                cutMarks.append(start == 0 ? mark : nil)
            }
        }
        (chunks, marks) = (cut, cutMarks)
    }
}
