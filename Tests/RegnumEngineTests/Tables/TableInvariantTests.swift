// SPDX-License-Identifier: Apache-2.0
// Tables and collections that are broken on purpose: the check at the end of the next mutation finds the break, and the
// full check at the seal finds one elsewhere.

import RegnumSimulation
import RegnumSystem
import Testing

@testable import RegnumEngine

@Suite(.enabled(if: Invariants.areChecked)) struct TableInvariantTests {
    private static let rows = NewTable(
        name: "Row",
        columns: [
            NewColumn(name: "number", type: .int), NewColumn(name: "list", type: .int, collection: .list),
            NewColumn(name: "dictionary", type: .int, collection: .dictionary),
        ])

    /// A write transaction on a table of `count` objects with the keys 1, 2 …; `isCommitted`: they are in the file.
    private func write(_ count: Int, isCommitted: Bool = true) throws -> (Session, Table) {
        let database = try Database.open(path: "/t.realm", fileSystem: MemoryFileSystem())
        let session = try database.makeSession()
        try session.beginWrite()
        try session.addTables([Self.rows])
        for _ in 0..<count { try insert(session) }
        if isCommitted {
            try session.commitWrite()
            try session.beginWrite()
        }
        return (session, try #require(session.table(named: "Row")))
    }

    private func insert(_ session: Session) throws {
        let location = try #require(session.table(named: "Row")).insertRow()
        try #require(session.table(named: "Row")).finishInsert(location)
    }

    private func root(_ table: Table) throws -> GroupTree.Node {
        guard case .node(let node)? = table.groups.root else { throw corrupted("no node") }
        return node
    }

    @Test("A key below the last one is found when it is appended")
    func appended() throws {
        let (session, table) = try write(10, isCommitted: false)
        let found = try Invariants.collect { _ = try table.groups.append(4) }
        #expect(found.first?.contains("object 4 follows object 10") == true, "\(found)")
        session.rollbackWrite()
    }

    @Test("A group that overlaps the next one is found when it is written to")
    func path() throws {
        let (session, table) = try write(2500)
        for key in [1500, 1, 2450] { try table.set(.int(7), 0, of: ObjectKey(rawValue: UInt64(key))) }
        let node = try root(table)
        try #require(node.count == 3)
        guard case .group(let group) = node.child(2) else { throw corrupted("no group") }
        // The same group, with a first key within the group before it.
        let entry = GroupTree.Entry(firstKey: 1900, count: 0, ref: .none)
        node.set([entry], at: 2)
        node.set(.group(group), at: 2)
        let found = try Invariants.collect { try table.set(.int(8), 0, of: ObjectKey(rawValue: 1600)) }
        #expect(found.first?.contains("belongs to the next one") == true, "\(found)")
        session.rollbackWrite()
    }

    @Test("Rows out of order are found by a removal beside them")
    func removed() throws {
        let (session, table) = try write(10, isCommitted: false)
        try table.delete(ObjectKey(rawValue: 5))
        let group = try #require(try table.groups.dirtyGroup(for: 1))
        #expect(group.view.pointee.keyForm == .sorted)
        UnsafeMutablePointer(mutating: group.view.pointee.keys)[1] = 100
        let found = Invariants.collect { table.groups.remove([2], of: group) }
        #expect(found.first?.contains("row 2 of a group is out of order") == true, "\(found)")
        session.rollbackWrite()
    }

    @Test("A wrong row count of a group is found by the seal")
    func rowCount() throws {
        let (session, table) = try write(2500, isCommitted: false)
        let node = try root(table)
        var entry = node.entries[0]
        #expect(entry.isSealed && entry.ref.isPending)
        entry.count += 1
        node.set([entry], at: 0)
        let found = Invariants.collect { _ = try? session.commitWrite() }
        #expect(found.first?.contains("root/0 should have 1025 rows and has 1024") == true, "\(found)")
    }

    @Test("Sound tables have no findings, also after many deletes, and a file that was opened is not judged")
    func sound() throws {
        let files = MemoryFileSystem()
        var session: Session? = try Database.open(path: "/t.realm", fileSystem: files).makeSession()
        let found = try Invariants.collect {
            let writer = try #require(session)
            try writer.beginWrite()
            try writer.addTables([Self.rows])
            for _ in 0..<2500 { try insert(writer) }
            try writer.commitWrite()
            try writer.beginWrite()
            let table = try #require(writer.table(named: "Row"))
            for key in stride(from: UInt64(1), to: 2500, by: 3) {
                try table.listInsert([.int(Int64(key))], 1, of: ObjectKey(rawValue: key), at: 0)
            }
            try table.delete((1...UInt64(1200)).map { ObjectKey(rawValue: $0) })
            try table.delete(ObjectKey(rawValue: 1201))
            try writer.commitWrite()
        }
        #expect(found == [])
        #expect(session?.database.reader.isTrusted == true)
        session = nil
        #expect(try !Database.openAsOtherProcess(path: "/t.realm", fileSystem: files).reader.isTrusted)
    }

    @Test("A file is no longer judged once another process has written to it")
    func othersWrite() throws {
        let path = ProcessTests.newPath()
        defer { for path in [path, path + ".lock"] { try? PosixFileSystem.shared.remove(path) } }
        func open() throws -> Session {
            try Database.openAsOtherProcess(path: path, fileSystem: PosixFileSystem.shared).makeSession()
        }
        func write(_ session: Session, _ name: String) throws {
            try session.beginWrite()
            try session.addTables([NewTable(name: name, columns: [NewColumn(name: "number", type: .int)])])
            try session.commitWrite()
        }
        let own = try open()
        for name in ["A", "B"] { try write(own, name) }
        #expect(own.database.reader.isTrusted)
        let other = try open()
        #expect(!other.database.reader.isTrusted)
        try write(other, "C")
        try write(own, "D")
        #expect(!own.database.reader.isTrusted)
    }

    @Test("A wrong number of elements below a node is found by the next insert, and elsewhere by the seal")
    func elements() throws {
        let (session, table) = try write(1, isCommitted: false)
        let key = ObjectKey(rawValue: 1)
        try table.listInsert((0..<20_000).map { .int(Int64($0)) }, 1, of: key, at: 0)
        // The leaf that this splits has room for what follows.
        try table.listInsert([.int(1)], 1, of: key, at: 0)
        guard case .node(let node) = try table.open(1, key).root else { throw corrupted("no node") }
        node.counts[0] += 1
        let found = try Invariants.collect { try table.listInsert([.int(1)], 1, of: key, at: 0) }
        #expect(found.first?.contains("child 0 should have") == true, "\(found)")
        node.counts[0] -= 1
        #expect(try Invariants.collect { try table.listInsert([.int(1)], 1, of: key, at: 0) } == [])
        node.counts[1] += 1
        let sealed = Invariants.collect { _ = try? session.commitWrite() }
        #expect(sealed.first?.contains("the collection should have") == true, "\(sealed)")
    }

    @Test("A path that leads to another leaf is found by the next change")
    func leaf() throws {
        let (session, table) = try write(1, isCommitted: false)
        let key = ObjectKey(rawValue: 1)
        try table.listInsert((0..<20_000).map { .int(Int64($0)) }, 1, of: key, at: 0)
        try table.listSet(.int(5), 1, of: key, at: 3)
        guard case .node(let node) = try table.open(1, key).root else { throw corrupted("no node") }
        node.children[0] = node.children[1]
        let found = try Invariants.collect { try table.listSet(.int(6), 1, of: key, at: 3) }
        #expect(found.first?.contains("the path does not lead to the leaf") == true, "\(found)")
        session.rollbackWrite()
    }

    @Test("A dictionary's key out of order is found when it is inserted")
    func keys() throws {
        let (session, table) = try write(1, isCommitted: false)
        let open = try table.open(2, ObjectKey(rawValue: 1))
        #expect(try Invariants.collect { try open.insert(.int(1), key: "b", at: 0) } == [])
        let found = try Invariants.collect { try open.insert(.int(2), key: "a", at: 1) }
        #expect(found == ["collection: key 1 of a leaf is out of order"])
        session.rollbackWrite()
    }
}
