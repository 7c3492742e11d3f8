// SPDX-License-Identifier: Apache-2.0
// The state of an unfinished import into a new file, from which the next process continues after a kill.
//
// The state is a row of a table in the new file itself: each commit contains the objects and the state that belongs to
// them, or neither, and the file's encryption covers both. The table is removed before the file gets its name.

internal import Foundation
internal import Regnum
internal import RegnumEngine
internal import RegnumSystem

/// The steps of an import, in order.
enum ImportStep: Int, Codable, Comparable {
    /// In an open Realm: the objects of the classes that a repeated import finds again.
    case repeatableObjects
    /// The links of those classes, unless they may lead to others.
    case repeatableLinks
    /// The objects of all other classes; in a new file, of all classes.
    case objects
    case owners
    /// The links that are not set.
    case links
    case finished

    static func < (a: ImportStep, b: ImportStep) -> Bool { a.rawValue < b.rawValue }
}

/// The source and the options of an import. Only an import with an equal one may continue another.
struct ImportOrigin: Codable, Equatable {
    private let source: SourceState
    /// The bits of the modification time.
    private let modified: UInt64
    private let isPrevious: Bool
    private let isReplacement: Bool
    private let verifies: Bool
    /// The version of the library: another one may import values differently.
    private let library: String

    init(_ source: SourceState, path: String, isPrevious: Bool, isReplacement: Bool, verifies: Bool) {
        self.source = source
        self.isPrevious = isPrevious
        self.isReplacement = isReplacement
        self.verifies = verifies
        library = RegnumVersion.current
        // A symbolic link has a modification time of its own.
        let file = PosixFileSystem.shared.linked(path)
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        modified = (attributes?[.modificationDate] as? Date)?.timeIntervalSince1970.bitPattern ?? 0
    }
}

/// Everything that an import knows besides the new file and its source. The maps of keys are made again from both.
struct ImportState: Codable {
    var origin: ImportOrigin
    var step: ImportStep
    var place: Int
    var completed: Int
    /// The progress: see `ImportWatch.done`.
    var done: Int
    var report: RealmFileImportReport
    var hasLinks: [[Bool]]
    var deletedLinks: [[Int]]
    var lossy: [[KeyBits]]
    var linked: [KeyBits]
    var leftOut: [[Int64]]

    /// True if the parts have the sizes that the plans require.
    func fits(_ plans: [ClassPlan]) -> Bool {
        guard step >= .objects, place >= 0, place <= plans.count, completed >= 0, done >= 0 else { return false }
        guard completed == 0 || place < plans.count else { return false }
        guard report.classes.map(\.name) == plans.map(\.name) else { return false }
        guard report.classes.map(\.dropped.count) == plans.map(\.dropped.count) else { return false }
        let sizes = plans.map(\.columns.count)
        guard hasLinks.map(\.count) == sizes, deletedLinks.map(\.count) == sizes else { return false }
        return lossy.map(\.count) == sizes && linked.count == plans.count && leftOut.count == plans.count
    }
}

/// The table of a new file that holds the state.
struct ImportStateTable {
    /// No class of Swift has a name with spaces.
    static let name = "state of an import"
    /// A state of more losses or bytes takes too long to write with each batch: the import then starts over after a
    /// kill.
    private static let lossLimit = 10_000
    private static let byteLimit = 4 << 20

    static let definition = NewTable(name: name, columns: [NewColumn(name: "state", type: .data)])

    let origin: ImportOrigin

    /// Returns the table for an import from `classes`; nil if a class has its name.
    init?(_ origin: ImportOrigin?, _ classes: [SourceClass]) {
        guard let origin, !classes.contains(where: { $0.name == Self.name }) else { return nil }
        self.origin = origin
    }

    /// In a write transaction: replaces the state. One that is too large is replaced by none.
    func save(_ state: ImportState, _ session: Session) throws {
        var bytes: [UInt8] = []
        if state.report.losses.count <= Self.lossLimit { bytes = [UInt8](try JSONEncoder().encode(state)) }
        if bytes.count > Self.byteLimit { bytes = [] }
        guard let table = session.table(named: Self.name) else { preconditionFailure("an import without its state") }
        if let row = try table.locationIfAny(atPosition: 0) {
            try table.set(.data(bytes), 0, of: row.key)
        } else {
            let row = try table.insertRow()
            table.fill(.data(bytes), 0, at: row)
            try table.finishInsert(row)
        }
    }

    /// Returns the state in a file; nil if it has none, or that of an import with another source or other options.
    func load(_ session: Session) throws -> ImportState? {
        guard let table = session.table(named: Self.name), table.definition.columns.map(\.type) == [.data],
            let row = try table.locationIfAny(atPosition: 0), case .data(let bytes) = try table.value(0, at: row),
            let state = try? JSONDecoder().decode(ImportState.self, from: Data(bytes)), state.origin == origin
        else { return nil }
        return state
    }

    /// In a write transaction: removes the table.
    func remove(_ session: Session) throws {
        guard let table = session.table(named: Self.name) else { return }
        try session.removeTable(table.definition.key)
    }
}
