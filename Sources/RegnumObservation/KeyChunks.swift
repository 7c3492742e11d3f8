// SPDX-License-Identifier: Apache-2.0
// Keys in an order, in chunks: an element is found, put in and taken out in O(log n + chunk), and a position is
// known without counting. What is kept of an element is its key: 8 bytes, and at most as much again where chunks are
// half empty. Of the first element of each chunk the mark is kept too, once it was asked for, so that most of a search
// does not visit objects, which lie anywhere.

import RegnumEngine
import RegnumQuery

struct KeyChunks {
    static let usualLength = 256

    /// Chunks are cut where they grow beyond twice this.
    private let chunkLength: Int
    /// None is empty.
    private var chunks: [[ObjectKey]] = []
    /// Of the first key of each chunk; nil where it is not known. Beside the chunks, not in them: a search learns marks,
    /// and would copy each chunk's reference where it holds the chunks itself.
    private var marks: [OrderMark?] = []
    /// Elements of each chunk: counted without a look at all chunks.
    private var lengths: [Int] = []
    /// Elements in front of each chunk, and behind them of all.
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

    /// After chunks came or went.
    private mutating func recount() {
        lengths = chunks.map(\.count)
        starts = [Int](repeating: 0, count: chunks.count + 1)
        count(from: 0)
    }

    /// After elements came to or went from that chunk and chunks behind it.
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

    /// Bytes that are kept.
    var byteCount: Int {
        chunks.reduce(chunks.capacity * MemoryLayout<[ObjectKey]>.stride) {
            $0 + $1.capacity * MemoryLayout<ObjectKey>.stride
        } + marks.capacity * MemoryLayout<OrderMark?>.stride + 8 * (lengths.capacity + starts.capacity)
    }

    /// The element at a position in range. O(log n).
    subscript(position: Int) -> ObjectKey {
        let chunk = chunk(at: position)
        return chunks[chunk][position - starts[chunk]]
    }

    /// How many elements come first, where `isBefore` is true of those and of no others. O(log n) calls.
    func partition<E: Error>(_ isBefore: (ObjectKey) throws(E) -> Bool) throws(E) -> Int {
        // The first chunk that does not begin with one of them.
        var low = 0
        var high = chunks.count
        while low < high {
            let middle = (low &+ high) &>> 1
            if try isBefore(chunks[middle][0]) { low = middle &+ 1 } else { high = middle }
        }
        return try partition(behind: low - 1, isBefore)
    }

    /// Asks for all marks that are not known.
    mutating func learnMarks<E: Error>(_ markOf: (ObjectKey) throws(E) -> OrderMark) throws(E) {
        for i in chunks.indices where marks[i] == nil { marks[i] = try markOf(chunks[i][0]) }
    }

    /// As above, where the elements are in the order of their marks, and those with a lesser mark than `mark` are the
    /// ones that come first, but for those with the same. `markOf` is asked for marks that are not known yet.
    mutating func partition<E: Error>(
        _ mark: OrderMark, markOf: (ObjectKey) throws(E) -> OrderMark, _ isBefore: (ObjectKey) throws(E) -> Bool
    ) throws(E) -> Int {
        try partition(behind: try chunksBeginning(before: mark, markOf, isBefore) - 1, isBefore)
    }

    /// As above for an object that is likely to be an element, and is found by its key among those of its chunk: of the
    /// objects there none is visited.
    mutating func partition<E: Error>(
        at key: ObjectKey, _ mark: OrderMark, markOf: (ObjectKey) throws(E) -> OrderMark,
        _ isBefore: (ObjectKey) throws(E) -> Bool
    ) throws(E) -> Int {
        let next = try chunksBeginning(before: mark, markOf, isBefore)
        if next < chunks.count, chunks[next][0] == key { return starts[next] }
        if next > 0, let place = chunks[next - 1].firstIndex(of: key) { return starts[next - 1] + place }
        return try partition(behind: next - 1, isBefore)
    }

    /// How many chunks begin with an element that comes first.
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
        // Behind the search: where they were written between two reads, the compiler made all marks unique before the first
        // read, which copied them each time, most often for nothing.
        for (chunk, mark) in learned { marks[chunk] = mark }
        return low
    }

    /// As above within the chunk, whose first element is one of them; no chunk where it is -1.
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

    /// Takes out the elements at these positions, which ascend. O(positions x (log n + chunk) + chunks).
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
        // Where chunks have become so small on the whole that there are too many of them.
        if chunks.count >= 8, chunks.count * chunkLength > 4 * count {
            self = KeyChunks(all, chunkLength: chunkLength)
        }
    }

    /// Puts keys in: each behind as many of the present elements as its `gap` says. The gaps ascend, and keys of the
    /// same gap are in their order. O(keys x (log n + chunk) + chunks).
    mutating func insert(_ new: [(gap: Int, key: ObjectKey)]) {
        guard let first = new.first else { return }
        if chunks.isEmpty {
            self = KeyChunks(new.map(\.key), chunkLength: chunkLength)
            return
        }
        let firstChunk = chunk(before: first.gap)
        var isAnyLong = false
        // From the end, so that the gaps in front stay what they are.
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

    /// The chunk with the element at `position`.
    private func chunk(at position: Int) -> Int {
        var low = 0
        var high = chunks.count
        while high &- low > 1 {
            let middle = (low &+ high) &>> 1
            if starts[middle] <= position { low = middle } else { high = middle }
        }
        return low
    }

    /// The chunk that takes what is put in behind so many elements: that of the last of them, so that the others keep
    /// their first elements and their marks.
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
