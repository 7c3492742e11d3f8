// SPDX-License-Identifier: Apache-2.0
// The state of an import, and its continuation in another process.

internal import Foundation
internal import RegnumEngine

extension ObjectImporter {
    /// The state between two calls of `advance`.
    func state(_ origin: ImportOrigin) -> ImportState {
        // The owners are not stored: their step is repeated, which only reads.
        let isAtStart = step == .owners
        return ImportState(
            origin: origin, step: step, place: isAtStart ? 0 : place,
            completed: isAtStart || cursor == nil ? 0 : completed, done: watch.done, report: report,
            hasLinks: hasLinks, deletedLinks: deletedLinks, lossy: lossy, linked: linked, leftOut: leftOut)
    }

    /// Continues an import into the same file. Call instead of the first `advance`. Returns false if the file does not
    /// have the objects that belong to the state; the import must then not be used.
    func restore(_ state: ImportState) throws -> Bool {
        guard state.fits(plans) else { return false }
        (step, place, completed) = (state.step, state.place, state.completed)
        report = state.report
        (hasLinks, deletedLinks, lossy) = (state.hasLinks, state.deletedLinks, state.lossy)
        (linked, leftOut) = (state.linked, state.leftOut)
        watch.skip(state.done)
        for index in plans.indices {
            let count = step > .objects || index < place ? nil : index == place ? completed : 0
            guard try restoreKeys(index, count) else { return false }
        }
        guard step == .links else { return true }
        for index in plans.indices where ownsObjects(index) { try restoreOwners(index) }
        owners.resolve()
        place = state.place
        if completed > 0 { return try restoreCursor() }
        return true
    }

    /// Maps the keys of the first `count` objects of a class, all with nil, to those of its table, in the order in
    /// which the objects were created. Returns false if their numbers differ.
    private func restoreKeys(_ index: Int, _ count: Int?) throws -> Bool {
        guard let table = plans[index].table.flatMap({ session.table($0) }) else { return false }
        let omitted = Set(leftOut[index])
        var (position, visited) = (0, 0)
        if count != 0 {
            let cursor = try source.objects(ofClass: plans[index].source)
            while visited != count {
                guard let object = try cursor.next() else {
                    if count == nil { break }
                    return false
                }
                visited += 1
                if visited & 255 == 0 { try watch.checkCancellation() }
                if omitted.contains(object.key) { continue }
                guard let row = try table.locationIfAny(atPosition: position), keys[index].add(object.key, row.key)
                else { return false }
                position += 1
            }
            if count != nil { self.cursor = cursor }
        }
        return table.count == position
    }

    private func restoreOwners(_ index: Int) throws {
        place = index
        let cursor = try source.objects(ofClass: plans[index].source)
        var visited = 0
        while let object = try cursor.next() {
            visited += 1
            if visited & 255 == 0 { try watch.checkCancellation() }
            _ = try findOwned(by: object)
        }
    }

    /// Moves a cursor past the objects whose links are set. Returns false if there are fewer.
    private func restoreCursor() throws -> Bool {
        let cursor = try source.objects(ofClass: plans[place].source)
        for _ in 0..<completed { guard try cursor.next() != nil else { return false } }
        self.cursor = cursor
        return true
    }
}
