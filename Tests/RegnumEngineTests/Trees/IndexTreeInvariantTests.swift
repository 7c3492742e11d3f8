// SPDX-License-Identifier: Apache-2.0
// Index trees that are broken on purpose: the check at the end of the next mutation finds the break, and the full check
// at the seal finds one elsewhere. Also what is not judged, and that a finding ends the process.

import RegnumSimulation
import RegnumSystem
import Testing

@testable import RegnumEngine

@Suite(.enabled(if: Invariants.areChecked)) struct IndexTreeInvariantTests {
    /// An uncommitted tree of 1,998 even numbers: a root of several leaves, of which the first has room.
    private func made() throws -> IndexTreeHome {
        let home = try IndexTreeHome(.fixed)
        for i in 0..<2000 { try home.tree.insert(value: UInt64(i * 2), key: UInt64(i + 1)) }
        for value: UInt64 in [100, 1200] { #expect(try home.tree.remove(value: value, key: value / 2 + 1)) }
        return home
    }

    private func root(_ tree: IndexTree) throws -> IndexNodePointer { try #require(tree.state.pointee.rootNode) }

    private func leaf(_ tree: IndexTree, _ i: Int) throws -> IndexNodePointer {
        try #require(try root(tree).pointee.links?[i].node)
    }

    @Test("A sound tree has no findings at any mutation or seal")
    func sound() throws {
        let home = try made()
        let found = try Invariants.collect {
            for i in 0..<500 {
                try home.tree.insert(value: UInt64(i * 7), key: 9000)
                _ = try home.tree.remove(value: UInt64(i * 4), key: UInt64(i * 2 + 1))
            }
            #expect(try home.commit())
        }
        #expect(found == [])
        #expect(try home.tree.findings() == [])
    }

    @Test("A wrong number of entries is found by the next insert and the next removal")
    func count() throws {
        let tree = try made().tree
        tree.state.pointee.count += 1
        #expect(
            try Invariants.collect { try tree.insert(value: 1, key: 1) } == [
                "index tree: the tree should have 2000 entries and has 1999"
            ])
        #expect(
            try Invariants.collect { _ = try tree.remove(value: 1, key: 1) } == [
                "index tree: the tree should have 1999 entries and has 1998"
            ])
    }

    @Test("A wrong number in a branch is found by the next insert below it")
    func link() throws {
        let tree = try made().tree
        try root(tree).pointee.links?[0].entryCount -= 1
        let found = try Invariants.collect { try tree.insert(value: 1, key: 1) }
        #expect(found.first?.contains("child 0 should have") == true, "\(found)")
    }

    @Test("Entries out of order are found by an insert beside them, and by the seal")
    func order() throws {
        let tree = try made().tree
        try leaf(tree, 1).pointee.values[7] = 0
        #expect(try Invariants.collect { try tree.insert(value: 3, key: 1) } == [])
        let found = try Invariants.collect { _ = try tree.seal(into: tree.space.sealer) }
        #expect(found.first?.contains("is out of order") == true, "\(found)")

        let other = try made().tree
        try leaf(other, 0).pointee.values[1] = 5
        let beside = try Invariants.collect { try other.insert(value: 5, key: 50) }
        #expect(beside.first?.contains("of a leaf is out of order") == true, "\(beside)")
    }

    @Test("A separator below an entry of the leaf before it is found by the next insert there")
    func separator() throws {
        let tree = try made().tree
        let last = try leaf(tree, 0).pointee.values[try leaf(tree, 0).pointee.count - 1]
        try root(tree).pointee.values[1] = last - 10
        let found = try Invariants.collect { try tree.insert(value: 3, key: 1) }
        #expect(found.first?.contains("child 0 ends above the next separator") == true, "\(found)")
    }

    @Test("A sound tree with two levels of branches has no findings")
    func deep() throws {
        let home = try IndexTreeHome(.fixed)
        var random = SeededNumbers(1)
        for key in 1...UInt64(30_000) { try home.tree.insert(value: random.next(), key: key) }
        #expect(try home.commit())
        try #require(try home.tree.statistics().depth >= 3)
        let found = try Invariants.collect {
            for key in 1...UInt64(200) { try home.tree.insert(value: random.next(), key: key) }
            #expect(try home.tree.findings(isChangedOnly: true) == [])
            #expect(try home.commit())
        }
        #expect(found == [])
    }

    @Test("A tree is not judged if its file may hold something that this process has not written, nor after a failure")
    func trust() throws {
        let home = try made()
        #expect(try home.commit())
        func found() throws -> [String] {
            let tree = IndexTree(space: home.space, kind: .fixed, root: home.root, count: home.count + 3)
            return try Invariants.collect { try tree.insert(value: 1, key: 1) }
        }
        home.space.reader.setTrusted(false)
        #expect(try found() == [])
        home.space.reader.setTrusted(true)
        #expect(try found() == ["index tree: the tree should have 2002 entries and has 1999"])
        _ = home.space.unfinished(.limit("a change failed"))
        #expect(try found() == [])
    }

    @Test("Outside of such a test a finding ends the process within a few mutations")
    func trap() async {
        await #expect(processExitsWith: .failure) {
            let tree = try IndexTreeHome(.fixed).tree
            try tree.insert(value: 0, key: 1)
            tree.state.pointee.count += 1
            for value in 1..<UInt64(500) { try tree.insert(value: value, key: value + 1) }
        }
    }
}
