// SPDX-License-Identifier: Apache-2.0
// Converts ordinary objects to embedded ones, in a write transaction: each row must end up with exactly one incoming
// link. Rows with more are copied, one copy for each further link; rows without one are deleted.

extension Session {
    /// Gives every row of the tables exactly one owner, then declares the tables embedded. Links in mixed values become
    /// null, because they own nothing. Throws `.limit` if rows link to each other in a cycle that another link points
    /// into, because its copies would have no end.
    package func embed(_ keys: [TableKey]) throws(EngineError) {
        precondition(isWriting)
        try change { () throws(EngineError) in
            var work = Embedding(session: self, tables: Set(keys))
            try work.run()
        }
        var definitions: [TableDefinition] = []
        for key in keys {
            guard var definition = table(key)?.definition else { continue }
            definition.isEmbedded = true
            definitions.append(definition)
        }
        try reshape(definitions)
    }
}

private struct Embedding {
    let session: Session
    let tables: Set<TableKey>
    /// Rows to process; a row may occur more than once.
    private var queue: [(table: TableKey, key: ObjectKey)] = []
    private var copies = 0
    private var limit = 1 << 16
    /// A cache of long collections: their elements by link target, because the rows of one collection are processed in
    /// turn. Elements keep their positions, because links are only redirected.
    private var known: [CollectionKey: [ObjectKey: [Place]]] = [:]
    /// The number of elements in `known`.
    private var knownCount = 0
    private static let knownLimit = 1 << 18
    /// Shorter collections are read again each time.
    private static let longCount = 64

    /// One link to a row.
    private struct Place {
        var table: Table
        var column: Int
        var key: ObjectKey
        /// The index in a list.
        var index = 0
        /// The key in a dictionary.
        var name = ""

        var collection: CollectionKey { CollectionKey(table: table.definition.key, column: column, owner: key) }
    }

    private struct CollectionKey: Hashable {
        var table: TableKey
        var column: Int
        var owner: ObjectKey
    }

    init(session: Session, tables: Set<TableKey>) {
        self.session = session
        self.tables = tables
    }

    mutating func run() throws(EngineError) {
        for key in tables.sorted() {
            guard let table = session.table(key) else { continue }
            for object in try table.allKeys() { queue.append((key, ObjectKey(object))) }
            // A damaged file may have any number of columns whose trees claim to be full.
            for origin in table.origins { limit = min(limit + Int(clamping: session.links(of: origin)) * 16, 1 << 60) }
        }
        queue.reverse()
        var settled = 0
        while let (key, object) = queue.popLast() {
            guard let table = session.table(key), try table.contains(object) else { continue }
            if settled & 1023 == 0, !session.goesOn(table, settled, of: settled + queue.count + 1) { return }
            settled += 1
            try settle(object, of: table)
        }
    }

    private mutating func settle(_ key: ObjectKey, of table: Table) throws(EngineError) {
        let places = try places(of: key, in: table)
        if places.isEmpty {
            try enqueueTargets(of: key, in: table)
            try table.delete(key)
            return
        }
        for place in places.dropFirst() {
            copies += 1
            if copies > limit {
                throw .limit(
                    "Objects of class '\(table.definition.name)' link to each other in a cycle and cannot be "
                        + "embedded in each other.")
            }
            let copy = try copy(key, of: table)
            try point(place, from: key, to: copy)
            known[place.collection]?[copy] = [place]
            known[place.collection]?[key] = nil
        }
        if places.count > 1 {
            known[places[0].collection]?[key] = [places[0]]
            try enqueueTargets(of: key, in: table)
        }
    }

    /// Adds the targets of the row's links to the queue, because they have gained or lost links.
    private mutating func enqueueTargets(of key: ObjectKey, in table: Table) throws(EngineError) {
        try table.flushOpenCollections()
        guard let location = try table.locate(key) else { return }
        for (i, column) in table.definition.columns.enumerated() {
            guard let target = column.target, tables.contains(target) else { continue }
            for link in try table.links(i, location) { queue.append((target, ObjectKey(link))) }
        }
    }

    /// Returns every link to the row. Clears those in mixed values.
    private mutating func places(of key: ObjectKey, in table: Table) throws(EngineError) -> [Place] {
        var links: [Place] = []
        for origin in table.origins {
            guard let other = session.table(origin.table) else { continue }
            if other.definition.columns[origin.column].type == .mixed {
                try table.clearLinks(to: [key.rawValue], from: origin)
                continue
            }
            for object in try table.backlinks(to: key, from: other, column: origin.column) {
                links.append(Place(table: other, column: origin.column, key: object))
            }
        }
        // A single link stays, at whatever position in its collection.
        if links.count < 2 { return links }
        var places: [Place] = []
        var last: CollectionKey?
        for link in links where link.collection != last {
            last = link.collection
            switch link.table.definition.columns[link.column].collection {
            case .none, .set: places.append(link)
            case .list, .dictionary: places += try elements(of: link, leadingTo: key)
            }
        }
        return places
    }

    /// Returns the elements, in the collection that holds `link`, that point to the row.
    private mutating func elements(of link: Place, leadingTo key: ObjectKey) throws(EngineError) -> [Place] {
        let collection = link.collection
        if let found = known[collection] { return found[key] ?? [] }
        var found: [ObjectKey: [Place]] = [:]
        var place = link
        var count = 0
        if link.table.definition.columns[link.column].collection == .list {
            for (i, value) in try link.table.listValues(link.column, of: link.key).enumerated() {
                guard case .link(let target) = value else { continue }
                place.index = i
                found[target, default: []].append(place)
                count += 1
            }
        } else {
            for entry in try link.table.dictionaryEntries(link.column, of: link.key) {
                guard case .link(let target) = entry.value else { continue }
                place.name = entry.key
                found[target, default: []].append(place)
                count += 1
            }
        }
        if count >= Self.longCount {
            if knownCount + count > Self.knownLimit { (known, knownCount) = ([:], 0) }
            known[collection] = found
            knownCount += count
        }
        return found[key] ?? []
    }

    private func point(_ place: Place, from old: ObjectKey, to new: ObjectKey) throws(EngineError) {
        switch place.table.definition.columns[place.column].collection {
        case .none: try place.table.set(.link(new), place.column, of: place.key)
        case .list: try place.table.listSet(.link(new), place.column, of: place.key, at: place.index)
        case .set:
            _ = try place.table.setRemove(.link(old), place.column, of: place.key)
            _ = try place.table.setInsert(.link(new), place.column, of: place.key)
        case .dictionary:
            try place.table.dictionarySet(place.name, .link(new), place.column, of: place.key)
        }
    }

    /// Makes a row with the same values, and copies the embedded rows that it owns, transitively. Iterative, because
    /// chains may be as long as a table.
    private func copy(_ key: ObjectKey, of table: Table) throws(EngineError) -> ObjectKey {
        var rows: [(table: Table, from: ObjectKey, to: ObjectKey)] = []
        let first = try newRow(in: table)
        rows.append((table, key, first))
        while let row = rows.popLast() {
            try fill(row.to, from: row.from, of: row.table) { target, old throws(EngineError) in
                let new = try newRow(in: target)
                rows.append((target, old, new))
                return new
            }
        }
        return first
    }

    private func newRow(in table: Table) throws(EngineError) -> ObjectKey {
        let location = try table.insertRow()
        try table.finishInsert(location)
        return location.key
    }

    /// Copies the values of a row to a new one. `owned` makes the copy of a row that this one owns.
    private func fill(
        _ new: ObjectKey, from key: ObjectKey, of table: Table,
        _ owned: (Table, ObjectKey) throws(EngineError) -> ObjectKey
    ) throws(EngineError) {
        for (i, column) in table.definition.columns.enumerated() {
            let target = table.ownsTargets(of: i) ? column.target.flatMap { session.table($0) } : nil
            func copied(_ value: Value) throws(EngineError) -> Value {
                guard let target, case .link(let old) = value else { return value }
                return .link(try owned(target, old))
            }
            switch column.collection {
            case .none: try table.set(try copied(try table.value(i, of: key)), i, of: new)
            case .list:
                var values: [Value] = []
                for value in try table.listValues(i, of: key) { values.append(try copied(value)) }
                if !values.isEmpty { try table.listInsert(values, i, of: new, at: 0) }
            case .set:
                for value in try table.listValues(i, of: key) { _ = try table.setInsert(value, i, of: new) }
            case .dictionary:
                for entry in try table.dictionaryEntries(i, of: key) {
                    try table.dictionarySet(entry.key, try copied(entry.value), i, of: new)
                }
            }
        }
        try table.flushOpenCollections()
    }
}

extension Session {
    /// The number of links in a column of any table.
    func links(of origin: LinkOrigin) -> UInt64 {
        table(origin.table)?.backlinkTrees[origin.column]?.count ?? 0
    }
}
