// SPDX-License-Identifier: Apache-2.0
// A SQLite database in memory: statements out, text of the answers in.

import CSQLite

final class SQLiteMemory {
    private var database: OpaquePointer?

    init() throws { try check(sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY, nil)) }

    deinit { sqlite3_close(database) }

    func execute(_ sql: String) throws { try check(sqlite3_exec(database, sql, nil, nil, nil)) }

    /// The rows of an answer, a number or "nil" for each column.
    func rows(_ sql: String) throws -> [[String]] {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(database, sql, -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        var rows: [[String]] = []
        while true {
            let code = sqlite3_step(statement)
            if code == SQLITE_DONE { return rows }
            guard code == SQLITE_ROW else { throw failure() }
            rows.append(
                (0..<sqlite3_column_count(statement)).map { column in
                    switch sqlite3_column_type(statement, column) {
                    case SQLITE_NULL: "nil"
                    case SQLITE_INTEGER: "\(sqlite3_column_int64(statement, column))"
                    case SQLITE_FLOAT: "\(sqlite3_column_double(statement, column))"
                    default: sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
                    }
                })
        }
    }

    private func check(_ code: Int32) throws {
        if code != SQLITE_OK { throw failure() }
    }

    private func failure() -> Failure { Failure("SQLite: " + String(cString: sqlite3_errmsg(database))) }
}
