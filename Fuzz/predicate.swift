// SPDX-License-Identifier: Apache-2.0
// The parser of predicates and the binder after it. A parsed predicate is printed and must parse to the same one; a
// refused predicate must have a reason.

import RegnumEngine
import RegnumQuery

private let schema: TableSchema = {
    func column(
        _ number: UInt32, _ name: String, _ type: ColumnType, _ collection: CollectionKind = .none,
        to target: UInt32? = nil
    ) -> ColumnDefinition {
        ColumnDefinition(
            key: ColumnKey(number), name: name, type: type, collection: collection, isNullable: number % 2 == 0,
            target: target.map { TableKey($0) })
    }
    var columns = ColumnType.allCases.enumerated().map { i, type in
        column(UInt32(i + 1), "\(type)", type, to: type == .link ? 1 : nil)
    }
    columns += [
        column(20, "links", .link, .list, to: 1), column(21, "ints", .int, .list), column(22, "texts", .string, .set),
        column(23, "map", .mixed, .dictionary),
    ]
    let table = TableDefinition(key: TableKey(1), name: "All", isEmbedded: false, columns: columns, nextColumnKey: 24)
    return TableSchema([table])
}()

@_cdecl("LLVMFuzzerTestOneInput") public func fuzzPredicate(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    let arguments: [Constant] = [.int(1), .string("int"), .null, .array([.int(1), .null]), .double(.nan)]
    do throws(QueryError) {
        let parsed = try PredicateParser.parse(text, arguments)
        // Binding first, because refused predicates need not be printable, for example a meaningless subscript.
        _ = try PredicateBinder.bind(parsed, to: TableKey(1), in: schema)
        let written = parsed.formatted
        guard let again = try? PredicateParser.parse(written.format, written.arguments) else {
            fatalError("what was written is not understood: \(written.format)")
        }
        guard again.formatted.format == written.format else {
            fatalError("\(written.format) is read as \(again.formatted.format)")
        }
    } catch {
        guard !error.message.isEmpty, error.position.map({ $0 >= 0 && $0 <= text.utf8.count }) ?? true else {
            fatalError("refused without a reason or at no place: \(error)")
        }
    }
    return 0
}
