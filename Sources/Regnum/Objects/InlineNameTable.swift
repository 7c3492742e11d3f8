// SPDX-License-Identifier: Apache-2.0
// The columns of a dynamic object's plain properties, found by the bits of their names. A name of up to 15 bytes is
// stored inline in the two words of a String, including a literal in the program's code: comparing the words avoids
// hashing the text on each access. Names that are not found this way are looked up as text.

/// The names of one class in one Realm. Immutable except for `deallocate`; any thread.
@usableFromInline
package struct InlineNameTable {
    struct Entry {
        var low: UInt64 = 0
        var high: UInt64 = 0
        /// The column number; -1 if the file has no such column.
        var column: Int32 = -1
        var form = PlainForm.other
        var isPrimaryKey = false
        var isTaken = false
    }

    private let entries: UnsafeMutablePointer<Entry>
    private let mask: Int

    /// `columns`: the column number of each property, or -1.
    init(_ schema: ClassSchema, columns: [Int]) {
        var capacity = 4
        while capacity < 2 * schema.properties.count { capacity *= 2 }
        mask = capacity - 1
        entries = .allocate(capacity: capacity)
        entries.initialize(repeating: Entry(), count: capacity)
        guard RuntimeLayout.isVerified else { return }
        for (place, property) in schema.properties.enumerated() {
            // If several properties have the same name, a lookup by text finds the first.
            guard schema.plainForms[place] != .other, schema.place(named: property.name) == place,
                property.name.utf8.count <= RuntimeLayout.inlineByteCount
            else { continue }
            // Copied, because the name may be stored in another representation.
            let (low, high) = RuntimeLayout.words(of: String(decoding: Array(property.name.utf8), as: UTF8.self))
            var at = start(low, high)
            while entries[at].isTaken { at = (at + 1) & mask }
            entries[at] = Entry(
                low: low, high: high, column: Int32(truncatingIfNeeded: columns[place]),
                form: schema.plainForms[place], isPrimaryKey: schema.primaryKey == place, isTaken: true)
        }
    }

    func deallocate() { entries.deallocate() }

    @inline(__always)
    private func start(_ low: UInt64, _ high: UInt64) -> Int {
        let mixed = (low ^ (high &* 0x9e37_79b9_7f4a_7c15)) &* 0xbf58_476d_1ce4_e5b9
        return Int(truncatingIfNeeded: mixed &>> 40) & mask
    }

    /// Returns the plain property of that name; nil if there is none, or if only a lookup by text can find it.
    @inline(__always)
    func find(_ name: String) -> UnsafePointer<Entry>? {
        let (low, high) = RuntimeLayout.words(of: name)
        var at = start(low, high)
        while entries[at].isTaken {
            if entries[at].low == low, entries[at].high == high { return UnsafePointer(entries + at) }
            at = (at + 1) & mask
        }
        return nil
    }
}
