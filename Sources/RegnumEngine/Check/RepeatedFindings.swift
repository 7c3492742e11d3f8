// SPDX-License-Identifier: Apache-2.0
// Objects that violate the same law: one finding has their number, and the location of the first.

struct RepeatedFindings {
    private(set) var count = 0
    private var first: ObjectKey?

    mutating func add(_ location: RowLocation) {
        if first == nil { first = location.key }
        count += 1
    }

    /// Returns, for example, "2 objects are not in the index: object 7 (block at page 30) and others"; nil if there are
    /// none. `what` is the phrase for one object, and for several.
    func words(_ table: Table, _ what: (one: String, several: String)) -> String? {
        guard let first else { return nil }
        let place = table.placeWords(first)
        return count == 1 ? "\(place) \(what.one)" : "\(count) objects \(what.several): \(place) and others"
    }
}

extension IntegrityCheck.Walk {
    mutating func tell(
        _ law: Int, _ path: String, _ offenders: RepeatedFindings, _ table: Table,
        _ what: (one: String, several: String)
    ) {
        if let words = offenders.words(table, what) { find(law, "\(path): \(words)") }
    }
}

extension Table {
    /// An object's key and the block that holds its row, as text for messages. O(log n).
    func placeWords(_ key: ObjectKey) -> String {
        let page = groups.page(of: key.rawValue).map { " (block at page \($0))" } ?? ""
        return "object \(key.rawValue)\(page)"
    }
}

extension GroupTree {
    /// The first page of the row group whose range contains the key; nil if it is not in the file yet, or cannot be
    /// read.
    fileprivate func page(of key: UInt64) -> UInt64? {
        guard case .ref(var ref)? = root else { return nil }
        for _ in 0...FormatLimits.treeDepth {
            if ref.kind != BlockKind.groupNode.rawValue { return ref.isPending ? nil : ref.page }
            guard let node = try? space.bytes(ref) else { return nil }
            ref = GroupNodeLayout.ref(node, GroupNodeLayout.child(node, for: key))
        }
        return nil
    }
}
