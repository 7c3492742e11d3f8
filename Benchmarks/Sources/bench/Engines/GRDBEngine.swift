// SPDX-License-Identifier: Apache-2.0
// GRDB as its documentation shows it: Codable records in a DatabasePool, requests of the query interface. Its settings
// are those of SQLite here. It may take fewer rows; its results are per row.

import Foundation
import GRDB

/// The row as a GRDB record.
struct PersonRecord: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "person"

    var id: Int
    var name: String
    var age: Int
    var score: Double
    var active: Bool
    var created: Date
    var email: String?
    var friend: Int?

    enum Columns {
        static let id = Column(CodingKeys.id)
        static let name = Column(CodingKeys.name)
        static let age = Column(CodingKeys.age)
        static let score = Column(CodingKeys.score)
        static let active = Column(CodingKeys.active)
        static let created = Column(CodingKeys.created)
    }

    static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
        .secondsSince1970
    }

    static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy {
        .timeIntervalSince1970
    }

    init(_ row: PersonRow) {
        id = row.id
        name = row.name
        age = row.age
        score = row.score
        active = row.active
        created = Date(timeIntervalSince1970: TimeInterval(row.created))
        email = row.email
    }
}

private struct UnrelatedRecord: Codable, PersistableRecord {
    static let databaseTableName = "unrelated"
    var number: Int
}

final class GRDBEngine: Engine {
    let name = EngineName.grdb
    let inputs: Inputs
    private var pool: DatabasePool?

    init(inputs: Inputs) { self.inputs = inputs }

    private func opened() throws -> DatabasePool {
        guard let pool else { throw Failure("GRDB: no database is open") }
        return pool
    }

    private func makePool(_ path: String) throws -> DatabasePool {
        var configuration = GRDB.Configuration()
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA mmap_size=1073741824; PRAGMA cache_size=-200000")
        }
        let pool = try DatabasePool(path: path, configuration: configuration)
        // The pool sets its writer to NORMAL when it opens.
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous=FULL") }
        return pool
    }

    func open(_ path: String, indexed: Bool) throws {
        let pool = try makePool(path)
        self.pool = pool
        try pool.write { database in
            try database.create(table: "person", options: .ifNotExists) { table in
                table.primaryKey("id", .integer)
                table.column("name", .text).notNull()
                table.column("age", .integer).notNull()
                table.column("score", .double).notNull()
                table.column("active", .boolean).notNull()
                table.column("created", .datetime).notNull()
                table.column("email", .text)
                table.column("friend", .integer)
            }
            try database.create(table: "unrelated", options: .ifNotExists) { table in
                table.column("number", .integer).notNull()
            }
            if indexed { try database.create(indexOn: "person", columns: ["name"], options: .ifNotExists) }
        }
    }

    func close() throws {
        try pool?.close()
        pool = nil
    }

    func openAndCount(_ path: String) throws -> Int? {
        let pool = try makePool(path)
        self.pool = pool
        return try pool.read { try PersonRecord.fetchCount($0) }
    }

    func commitUnrelated() throws { try opened().write { try UnrelatedRecord(number: 1).insert($0) } }

    func insert(_ rows: ArraySlice<PersonRow>) throws {
        try opened().write { database in
            for row in rows { try PersonRecord(row).insert(database) }
        }
    }

    func insertOneByOne(_ rows: [PersonRow]) throws {
        let pool = try opened()
        for row in rows { try pool.write { try PersonRecord(row).insert($0) } }
    }

    func delete(from id: Int) throws {
        try opened().write { _ = try PersonRecord.filter(PersonRecord.Columns.id >= id).deleteAll($0) }
    }

    func sumAges(of keys: [Int]) throws -> Int? {
        try opened().read { database in
            var sum = 0
            for key in keys { sum &+= try PersonRecord.fetchOne(database, key: key)?.age ?? 0 }
            return sum
        }
    }

    func sumAllAges() throws -> Int? {
        try opened().read { database in
            var sum = 0
            let records = try PersonRecord.fetchCursor(database)
            while let record = try records.next() { sum &+= record.age }
            return sum
        }
    }

    func sumAllNameLengths() throws -> Int? {
        try opened().read { database in
            var sum = 0
            let records = try PersonRecord.fetchCursor(database)
            while let record = try records.next() { sum &+= record.name.utf8.count }
            return sum
        }
    }

    func count(_ query: CountQuery) throws -> Int? {
        typealias Columns = PersonRecord.Columns
        let people = PersonRecord.all()
        let request: QueryInterfaceRequest<PersonRecord>? =
            switch query {
            case .age: people.filter(Columns.age >= 18)
            case .ageActiveScore:
                people.filter(Columns.age >= 18 && Columns.active == true && Columns.score < 0.5)
            case .namePrefix: people.filter(Columns.name >= "Alice" && Columns.name < "Alicf")
            case .nameContains: people.filter(Columns.name.like("%aNNah%"))
            case .nameEquals: people.filter(Columns.name == "Alice 123")
            case .created: people.filter(Columns.created > CountAnswers.date)
            case .friendAge, .hasBacklink: nil
            }
        return try request.map { request in try opened().read { try request.fetchCount($0) } }
    }

    func sumOfScores() throws -> Double? {
        try opened().read { database in
            try PersonRecord.select(sum(PersonRecord.Columns.score), as: Double.self).fetchOne(database)
        }
    }

    func averageAge() throws -> Double? {
        try opened().read { database in
            try PersonRecord.select(average(PersonRecord.Columns.age), as: Double.self).fetchOne(database)
        }
    }

    func sortedByAgeAndName(first: Int?) throws -> Int? {
        let columns = PersonRecord.Columns.self
        var request = PersonRecord.filter(columns.age >= 18).order(columns.age.desc, columns.name)
        if let first { request = request.limit(first) }
        return try hashOfKeys(request)
    }

    func sortedByScore() throws -> Int? { try hashOfKeys(PersonRecord.order(PersonRecord.Columns.score)) }

    private func hashOfKeys(_ request: QueryInterfaceRequest<PersonRecord>) throws -> Int {
        try opened().read { database in
            var hash = 0
            let records = try request.fetchCursor(database)
            while let record = try records.next() { hash = keyHash(hash, record.id) }
            return hash
        }
    }
}
