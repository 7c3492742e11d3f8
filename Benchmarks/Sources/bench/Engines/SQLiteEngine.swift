// SPDX-License-Identifier: Apache-2.0
// SQLite through its C API as an expert would use it: kept prepared statements, WAL, synchronous FULL, 1 GiB mapped,
// 200 MB of cache, no mutex, strings bound without a copy.

import CSQLite

final class SQLiteEngine: Engine {
    let name = EngineName.sqlite
    let inputs: Inputs
    private var database: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]

    init(inputs: Inputs) { self.inputs = inputs }

    // MARK: Opening

    func open(_ path: String, indexed: Bool) throws {
        try connect(path)
        try execute(
            """
            CREATE TABLE IF NOT EXISTS person(id INTEGER PRIMARY KEY, name TEXT NOT NULL, age INTEGER NOT NULL,
                score REAL NOT NULL, active INTEGER NOT NULL, created INTEGER NOT NULL, email TEXT, friend INTEGER);
            CREATE TABLE IF NOT EXISTS unrelated(number INTEGER NOT NULL);
            """)
        if indexed { try execute("CREATE INDEX IF NOT EXISTS person_name ON person(name)") }
    }

    private func connect(_ path: String) throws {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        try check(sqlite3_open_v2(path, &database, flags, nil))
        // Before anything else: setting the journal mode may already meet another thread's lock.
        try check(sqlite3_busy_timeout(database, 60_000))
        try execute(
            """
            PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA mmap_size=1073741824; PRAGMA cache_size=-200000;
            """)
    }

    func close() throws {
        for statement in statements.values { sqlite3_finalize(statement) }
        statements = [:]
        guard database != nil else { return }
        try check(sqlite3_close(database))
        database = nil
    }

    func openAndCount(_ path: String) throws -> Int? {
        try connect(path)
        return try whole("SELECT count(*) FROM person")
    }

    func commitUnrelated() throws { try execute("INSERT INTO unrelated(number) VALUES(1)") }

    // MARK: Writing

    private static let insertion =
        "INSERT INTO person(id, name, age, score, active, created, email) VALUES(?, ?, ?, ?, ?, ?, ?)"

    func insert(_ rows: ArraySlice<PersonRow>) throws {
        try execute("BEGIN IMMEDIATE")
        let statement = try prepare(Self.insertion)
        for row in rows { try insert(row, statement) }
        try execute("COMMIT")
    }

    func insertOneByOne(_ rows: [PersonRow]) throws {
        let statement = try prepare(Self.insertion)
        for row in rows { try insert(row, statement) }
    }

    private func insert(_ row: PersonRow, _ statement: OpaquePointer) throws {
        sqlite3_bind_int64(statement, 1, Int64(row.id))
        sqlite3_bind_int64(statement, 3, Int64(row.age))
        sqlite3_bind_double(statement, 4, row.score)
        sqlite3_bind_int64(statement, 5, row.active ? 1 : 0)
        sqlite3_bind_int64(statement, 6, Int64(row.created))
        var name = row.name
        try name.withUTF8 { name in
            bind(name, 2, statement)
            if var email = row.email {
                try email.withUTF8 { email in
                    bind(email, 7, statement)
                    try run(statement)
                }
            } else {
                sqlite3_bind_null(statement, 7)
                try run(statement)
            }
        }
    }

    /// Binds without a copy: the bytes outlive the step (a nil destructor is SQLITE_STATIC).
    private func bind(_ text: UnsafeBufferPointer<UInt8>, _ index: Int32, _ statement: OpaquePointer) {
        text.withMemoryRebound(to: CChar.self) { text in
            _ = sqlite3_bind_text(statement, index, text.baseAddress, Int32(text.count), nil)
        }
    }

    func setAges(_ changes: [(row: Int, age: Int)]) throws -> Bool {
        try update("UPDATE person SET age = ? WHERE id = ?", changes.lazy.map { ($0.age, $0.row) })
    }

    func linkAll(_ friends: [Int]) throws -> Bool {
        try update("UPDATE person SET friend = ? WHERE id = ?", friends.lazy.enumerated().map { ($1, $0) })
    }

    private func update(_ sql: String, _ changes: some Sequence<(Int, Int)>) throws -> Bool {
        try execute("BEGIN IMMEDIATE")
        let statement = try prepare(sql)
        for (value, id) in changes {
            sqlite3_bind_int64(statement, 1, Int64(value))
            sqlite3_bind_int64(statement, 2, Int64(id))
            try run(statement)
        }
        try execute("COMMIT")
        return true
    }

    func indexNames(_ path: String) throws -> Bool {
        try execute("CREATE INDEX person_name ON person(name)")
        return true
    }

    func deleteYoung() throws -> Bool {
        try run(prepare("DELETE FROM person WHERE age < 10"))
        return true
    }

    func delete(from id: Int) throws { try execute("DELETE FROM person WHERE id >= \(id)") }

    // MARK: Reading

    func sumAges(of keys: [Int]) throws -> Int? {
        try execute("BEGIN")
        let statement = try prepare("SELECT age FROM person WHERE id = ?")
        var sum = 0
        for key in keys {
            sqlite3_bind_int64(statement, 1, Int64(key))
            guard sqlite3_step(statement) == SQLITE_ROW else { throw failure() }
            sum &+= Int(sqlite3_column_int64(statement, 0))
            sqlite3_reset(statement)
        }
        try execute("COMMIT")
        return sum
    }

    func sumAllAges() throws -> Int? {
        let statement = try prepare("SELECT age FROM person")
        var sum = 0
        while sqlite3_step(statement) == SQLITE_ROW { sum &+= Int(sqlite3_column_int64(statement, 0)) }
        sqlite3_reset(statement)
        return sum
    }

    func sumAllNameLengths() throws -> Int? {
        let statement = try prepare("SELECT name FROM person")
        var sum = 0
        while sqlite3_step(statement) == SQLITE_ROW {
            guard sqlite3_column_text(statement, 0) != nil else { throw failure() }
            sum &+= Int(sqlite3_column_bytes(statement, 0))
        }
        sqlite3_reset(statement)
        return sum
    }

    func count(_ query: CountQuery) throws -> Int? {
        let condition =
            switch query {
            case .age: "age >= 18"
            case .ageActiveScore: "age >= 18 AND active = 1 AND score < 0.5"
            // A comparison is faster than GLOB or LIKE.
            case .namePrefix: "name >= 'Alice' AND name < 'Alicf'"
            case .nameContains: "name LIKE '%aNNah%'"
            case .nameEquals: "name = 'Alice 123'"
            case .created: "created > \(CountAnswers.date)"
            case .friendAge, .hasBacklink: ""
            }
        switch query {
        case .friendAge:
            return try whole(
                "SELECT count(*) FROM person p CROSS JOIN person f WHERE f.id = p.friend AND f.age > 50")
        case .hasBacklink:
            return try whole(
                "SELECT count(*) FROM (SELECT friend FROM person WHERE friend IS NOT NULL GROUP BY friend)")
        default:
            return try whole("SELECT count(*) FROM person WHERE " + condition)
        }
    }

    func countByIndex(_ names: [String]) throws -> Int? {
        let statement = try prepare("SELECT count(*) FROM person WHERE name = ?")
        var sum = 0
        for var name in names {
            try name.withUTF8 { bytes in
                bind(bytes, 1, statement)
                guard sqlite3_step(statement) == SQLITE_ROW else { throw failure() }
                sum &+= Int(sqlite3_column_int64(statement, 0))
                sqlite3_reset(statement)
            }
        }
        return sum
    }

    func sumOfScores() throws -> Double? { try fraction("SELECT sum(score) FROM person") }
    func averageAge() throws -> Double? { try fraction("SELECT avg(age) FROM person") }

    func sortedByAgeAndName(first: Int?) throws -> Int? {
        let limit = first.map { " LIMIT \($0)" } ?? ""
        return try hashOfKeys("SELECT id FROM person WHERE age >= 18 ORDER BY age DESC, name" + limit)
    }

    func sortedByScore() throws -> Int? { try hashOfKeys("SELECT id FROM person ORDER BY score") }

    func sumOfFriendAges() throws -> Int {
        try whole("SELECT sum(f.age) FROM person p JOIN person f ON f.id = p.friend")
    }

    func indexFriends() throws { try execute("CREATE INDEX IF NOT EXISTS person_friend ON person(friend)") }

    private func hashOfKeys(_ sql: String) throws -> Int {
        let statement = try prepare(sql)
        var hash = 0
        while sqlite3_step(statement) == SQLITE_ROW {
            hash = keyHash(hash, Int(sqlite3_column_int64(statement, 0)))
        }
        sqlite3_reset(statement)
        return hash
    }

    // MARK: Statements

    private func whole(_ sql: String) throws -> Int {
        let statement = try prepare(sql)
        defer { sqlite3_reset(statement) }
        guard sqlite3_step(statement) == SQLITE_ROW else { throw failure() }
        return Int(sqlite3_column_int64(statement, 0))
    }

    private func fraction(_ sql: String) throws -> Double {
        let statement = try prepare(sql)
        defer { sqlite3_reset(statement) }
        guard sqlite3_step(statement) == SQLITE_ROW else { throw failure() }
        return sqlite3_column_double(statement, 0)
    }

    private func prepare(_ sql: String) throws -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
        try check(sqlite3_prepare_v3(database, sql, -1, flags, &statement, nil))
        guard let statement else { throw failure() }
        statements[sql] = statement
        return statement
    }

    private func run(_ statement: OpaquePointer) throws {
        guard sqlite3_step(statement) == SQLITE_DONE else { throw failure() }
        sqlite3_reset(statement)
    }

    private func execute(_ sql: String) throws { try check(sqlite3_exec(database, sql, nil, nil, nil)) }

    private func check(_ code: Int32) throws {
        if code != SQLITE_OK { throw failure() }
    }

    private func failure() -> Failure { Failure("SQLite: " + String(cString: sqlite3_errmsg(database))) }
}
