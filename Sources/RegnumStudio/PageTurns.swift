// SPDX-License-Identifier: Apache-2.0
// The scans of each page. A page numbers what it shows; a scan for a newer number ends the scans for older ones, whose
// answers nobody waits for.

internal import Foundation

final class PageTurns: @unchecked Sendable {
    // Sendable: the lock guards the pages.
    struct Key: Hashable {
        var page: String
        var route: Studio.Route
    }

    private struct Scan {
        var number: Int
        var place: Int
        var end: @Sendable () -> Void
    }

    private struct Page {
        var newest = 0
        var scans: [Scan] = []
    }

    /// The number of pages that are remembered. A page that is forgotten begins again at any number.
    private static let pageLimit = 256

    private let lock = NSLock()
    private var pages: [Key: Page] = [:]
    private var places = 0

    /// Adds a scan, and ends the older ones of its page. Throws `StudioFailure.superseded` if there is a newer one. `end`
    /// may be called on any thread, once at most.
    fileprivate func add(_ key: Key, _ number: Int, _ end: @escaping @Sendable () -> Void) throws -> Int {
        let (place, older) = try lock.withLock { () throws -> (Int, [Scan]) in
            if pages[key] == nil, pages.count >= Self.pageLimit { pages = pages.filter { !$0.value.scans.isEmpty } }
            var page = pages[key] ?? Page()
            guard number >= page.newest else { throw StudioFailure.superseded }
            page.newest = number
            let older = page.scans.filter { $0.number < number }
            places += 1
            page.scans = page.scans.filter { $0.number == number } + [Scan(number: number, place: places, end: end)]
            pages[key] = page
            return (places, older)
        }
        for scan in older { scan.end() }
        return place
    }

    fileprivate func remove(_ key: Key, _ place: Int) {
        lock.withLock { pages[key]?.scans.removeAll { $0.place == place } }
    }
}

/// The number of a scan of a page.
struct PageTurn: Sendable {
    let turns: PageTurns
    let key: PageTurns.Key
    let number: Int

    /// The turn of a request; nil if it has none.
    init?(_ call: StudioCall, _ turns: PageTurns) throws {
        guard let page = call["page"], !page.isEmpty else { return nil }
        guard page.utf8.count <= 64 else { throw StudioFailure.argument("page", "a text of at most 64 bytes") }
        self.turns = turns
        key = PageTurns.Key(page: page, route: call.route)
        number = try call.number("turn", 0...Int.max, default: 0)
    }

    /// A scan that runs or waits.
    struct Place {
        fileprivate let turn: PageTurn
        fileprivate let number: Int

        func leave() { turn.turns.remove(turn.key, number) }
    }

    func take(_ end: @escaping @Sendable () -> Void) throws -> Place {
        Place(turn: self, number: try turns.add(key, number, end))
    }
}
