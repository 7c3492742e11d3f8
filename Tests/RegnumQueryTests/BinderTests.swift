// SPDX-License-Identifier: Apache-2.0
// Predicates that do not fit a schema, and their error messages.

import RegnumEngine
import RegnumQuery
import Testing

@Suite struct BinderTests {
    static func column(
        _ number: UInt32, _ name: String, _ type: ColumnType, list: Bool = false, nullable: Bool = false,
        target: UInt32? = nil
    ) -> ColumnDefinition {
        ColumnDefinition(
            key: ColumnKey(number), name: name, type: type, collection: list ? .list : .none,
            isNullable: nullable,
            target: target.map { TableKey($0) })
    }

    static let schema: TableSchema = {
        let person = TableDefinition(
            key: TableKey(1), name: "Person", isEmbedded: false,
            columns: [
                column(1, "age", .int), column(2, "name", .string),
                column(3, "email", .string, nullable: true),
                column(4, "score", .double), column(5, "ratio", .float), column(6, "active", .bool),
                column(7, "born", .date), column(8, "photo", .data), column(9, "token", .uuid),
                column(10, "dog", .link, target: 2), column(11, "dogs", .link, list: true, target: 2),
                column(12, "numbers", .int, list: true), column(13, "dates", .date, list: true),
                column(14, "tags", .string, list: true), column(15, "value", .mixed, nullable: true),
                column(16, "price", .decimal128),
                ColumnDefinition(
                    key: ColumnKey(17), name: "byName", type: .link, collection: .dictionary, target: TableKey(2)),
            ], nextColumnKey: 18)
        let dog = TableDefinition(
            key: TableKey(2), name: "Dog", isEmbedded: false,
            columns: [
                column(1, "name", .string), column(2, "age", .int, nullable: true), column(3, "born", .date),
            ],
            nextColumnKey: 4)
        var schema = TableSchema([person, dog])
        schema.addBacklinks("owners", to: TableKey(2), from: TableKey(1), column: 9)
        schema.addBacklinks("self2", to: TableKey(1), from: TableKey(1), column: 9)
        return schema
    }()

    static func bind(_ text: String, _ arguments: [Constant] = []) throws -> BoundPredicate {
        try PredicateBinder.bind(PredicateParser.parse(text, arguments), to: TableKey(1), in: schema)
    }

    @Test(
        "A predicate that fits the schema is accepted",
        arguments: [
            "age > 5", "5 < age", "age == 5.0", "age == TRUE", "email == NULL", "email <= NULL",
            "active == 1",
            "ratio == 1.7", "score == 3", "dog == NULL", "dog.name == 'x'", "dog.age == NULL",
            "ANY dogs.age > 3",
            "NONE dogs.name LIKE 'x'", "ANY numbers == 3", "3 IN numbers", "ANY tags BEGINSWITH[cd] 'x'",
            "dogs.@count > 2",
            "dogs.@avg.age < 2.5", "numbers.@sum == 3", "numbers.@min == NULL", "dates.@max != NULL",
            "age IN {1, 2}",
            "age BETWEEN {1, 2}", "ANY numbers BETWEEN {1, 2}", "name == email", "dog.name == name",
            "ANY dogs.owners.age > 1",
            "SUBQUERY(dogs, $d, $d.age > 3).@count > 0", "token == '00112233-4455-6677-8899-aabbccddeeff'",
            "SUBQUERY(dogs, $d, SUBQUERY($d.owners, $o, $o.age > 1).@count == 2).@count > 0",
            "SUBQUERY(dogs, $d, SUBQUERY($d.owners, $o, $o.age > $d.age).@count > 0).@count > 0",
            "SUBQUERY(dogs, $d, SUBQUERY($d.owners, $o, $d.owners.@avg.age < $o.score).@count > 0).@count > 0",
            "SUBQUERY(dogs, $d, $d.owners.@count > 1 AND ANY $d.owners.tags == 'x').@count == 1",
            "SUBQUERY(dogs, $d, $d != NULL AND SUBQUERY($d.owners, $o, $o.dog == $d).@count > 0).@count > 0",
            "SUBQUERY(dogs, $d, SUBQUERY($d.owners, $o, SUBQUERY($d.owners, $p, $p == $o).@count > 1).@count > 0)"
                + ".@count > 0",
            "email IN {NULL, 'a'}", "age > dogs.@count", "dogs.@avg.age <= score", "dates.@max == born",
            "numbers.@sum != ratio", "byName.@allKeys == 'x'", "byName.@allValues == NULL",
            "byName.@allValues.name BEGINSWITH 'x'", "NONE byName.@allValues.name == 'x'",
            "ANY byName.@allValues.owners.age == 1",
        ])
    func good(text: String) throws {
        _ = try Self.bind(text)
    }

    @Test(
        "A predicate that does not fit is refused with RealmSwift's message",
        arguments: [
            (
                "agee > 5",
                "Invalid keypath 'agee': Property 'agee' not found in object of type 'Person'. Did you mean 'age'?"
            ),
            (
                "raito > 5",
                "Invalid keypath 'raito': Property 'raito' not found in object of type 'Person'. Did you mean 'ratio'?"
            ),
            ("age != xyz", "Invalid keypath 'xyz': Property 'xyz' not found in object of type 'Person'"),
            ("dog.nme == 'x'", "Invalid keypath 'dog.nme': Property 'nme' not found in object of type 'Dog'"),
            (
                "age.x == 1",
                "Invalid keypath 'age.x': Property 'Person.age' is not a link or collection and can only appear "
                    + "at the end of a keypath."
            ),
            (".age == 1", "Invalid keypath '.age': no key name before '.'"),
            ("age. == 1", "Invalid keypath 'age.': no key name after last '.'"),
            ("dogs.age == 1", "Key paths that include a collection property must use aggregate operations"),
            (
                "ANY age == 1",
                "Aggregate operations can only be used on key paths that include an collection property"
            ),
            (
                "1 == 2",
                "Predicate expressions must compare a keypath and another keypath or a constant value"
            ),
            ("ALL dogs.age == 1", "ALL modifier not supported"),
            ("name MATCHES 'x'", "Operator 'MATCHES' not supported for type 'string'"),
            ("active > TRUE", "Operator '>' not supported for type 'bool'"),
            ("name BETWEEN {'a', 'b'}", "Operator 'BETWEEN' not supported for type 'string'"),
            ("age CONTAINS 'x'", "Operator 'CONTAINS' not supported for type 'int'"),
            ("name <[c] 'x'", "Lexicographical comparisons must be case-sensitive"),
            ("name LIKE[d] 'x'", "Operator 'LIKE' not supported with diacritic-insensitive modifier."),
            ("'x' CONTAINS name", "Operator 'CONTAINS' requires a keypath on the left side."),
            ("'x' BEGINSWITH ANY tags", "Operator 'BEGINSWITH' requires a keypath on the left side."),
            (
                "3 IN SUBQUERY(dogs, $d, $d.age > 3).@count",
                "Operator 'IN' requires a keypath on the left side."
            ),
            (
                "'x' == SUBQUERY(dogs, $d, $d.age > 3).@count",
                "SUBQUERY is only supported when immediately followed by .@count"
            ),
            (
                "age == SUBQUERY(dogs, $d, $d.age > 3).@count",
                "SUBQUERY is only supported when immediately followed by .@count"
            ),
            ("byName.name == 'x'", "Key paths that include a collection property must use aggregate operations"),
            (
                "byName.@allValues.owners.age == 1",
                "Key paths that include a collection property must use aggregate operations"
            ),
            ("age == 1.23", "Cannot compare value '1.23' of type 'Double' to property 'age' of type 'int'"),
            ("age == 'x'", "Cannot compare value 'x' of type 'String' to property 'age' of type 'int'"),
            ("active == 2", "Cannot compare value '2' of type 'Int' to property 'active' of type 'bool'"),
            ("age == NULL", "Cannot compare value '(null)' of type '(null)' to property 'age' of type 'int'"),
            ("age < NULL", "Cannot compare value '(null)'"),
            (
                "ratio == 3.5e38",
                "Cannot compare value '3.5e+38' of type 'Double' to property 'ratio' of type 'float'"
            ),
            ("dog == 'x'", "Cannot compare value 'x' of type 'String' to property 'dog' of type 'Dog'"),
            ("age IN 3", "IN clause requires an array of items"),
            ("age BETWEEN 3", "object must be of type NSArray for BETWEEN operations"),
            ("age BETWEEN {1}", "NSArray object must contain exactly two objects for BETWEEN operations"),
            ("age BETWEEN {1, 'x'}", "NSArray objects must be of type int for BETWEEN operations"),
            ("age BETWEEN {1, score}", "Expressions within predicate aggregates must be constant values"),
            (
                "{1, 2} BETWEEN age",
                "Predicate with BETWEEN operator must compare a KeyPath with an aggregate with two values"
            ),
            ("age == name", "Property type mismatch between int and string"),
            ("dogs.@count == 'x'", "@count can only be compared with a numeric value."),
            ("dogs.@what == 1", "Unsupported collection operation '@what'"),
            (
                "age.@count == 1",
                "Invalid keypath 'age.@count': collection operation '@count' must be applied to a collection"
            ),
            ("dogs.@count.age == 1", "Invalid keypath 'dogs.@count.age': @count must appear at the end"),
            (
                "dogs.@min.@max.age == 1",
                "Invalid keypath 'dogs.@min.@max.age': at most one collection operation per keypath"
            ),
            (
                "dogs.@min == 1",
                "Invalid keypath 'dogs.@min': @min on a collection of objects must be followed"
            ),
            (
                "dogs.@max.name == 1",
                "Invalid keypath 'dogs.@max.name': @max can only be applied to a collection of numeric"
            ),
            ("dates.@sum == 1", "Cannot sum or average date properties"),
            ("numbers.@sum == NULL", "@sum on a property of type int cannot be compared with '<null>'"),
            ("numbers.@avg == 'Hello'", "@avg on a property of type int cannot be compared with 'Hello'"),
            ("numbers.@min == 1.23", "@min on a property of type int cannot be compared with '1.23'"),
            (
                "dogs.@count == numbers.@count",
                "Key paths including aggregate operations cannot be compared with other"
            ),
            (
                "SUBQUERY(dogs, $d, $d.age > 3) == 1",
                "SUBQUERY is only supported when immediately followed by .@count"
            ),
            (
                "SUBQUERY(dogs, $d, $d.age > 3).@count == age",
                "SUBQUERY is only supported when immediately followed by"
            ),
            ("ANY self2.age == 1 AND ANY self2 == NULL", "Cannot compare value '(null)'"),
            (
                "SUBQUERY(dogs, $d, nothing > 3).@count > 0",
                "Invalid keypath 'nothing': Property 'nothing' not found in object of type 'Person'"
            ),
            (
                "SUBQUERY(dogs, $d, $x.age > 3).@count > 0",
                "The variable $x is not that of a SUBQUERY around the key path."
            ),
            ("$d.age > 3", "The variable $d is not that of a SUBQUERY around the key path."),
            (
                "SUBQUERY(dogs, $d, SUBQUERY($o.owners, $o, $o.age > 1).@count > 0).@count > 0",
                "The variable $o is not that of a SUBQUERY around the key path."
            ),
            (
                "SUBQUERY(dogs, $d, SUBQUERY($d.owners, $o, $o == $d).@count > 0).@count > 0",
                "Property type mismatch between Person and Dog"
            ),
            ("SELF == 1", "SELF as an operand is not supported"),
            ("SUBQUERY(dogs, $d, $d > NULL).@count > 0", "Operator '>' not supported for type 'Dog'"),
        ])
    func bad(text: String, gist: String) {
        let error = #expect(throws: QueryError.self) { try Self.bind(text) }
        #expect(error?.message.hasPrefix(gist) == true, "\(text): \(error?.message ?? "")")
        #expect(error?.position != nil)
    }

    @Test(
        "A constant on the left is bound to the same predicate with the operator reversed",
        arguments: [
            ("5 < age", "age > 5"), ("2 == dogs.@count", "dogs.@count == 2"), ("2 >= dogs.@count", "dogs.@count <= 2"),
            ("2.5 > dogs.@avg.age", "dogs.@avg.age < 2.5"), ("3 <= ANY numbers", "ANY numbers >= 3"),
            ("ANY 3 <= numbers", "ANY numbers >= 3"), ("3 != NONE numbers", "NONE numbers != 3"),
            ("'x' ==[c] ANY tags", "ANY tags ==[c] 'x'"), ("3 IN numbers", "ANY numbers == 3"),
            ("3 IN ANY numbers", "ANY numbers == 3"), ("'x' == byName.@allKeys", "byName.@allKeys == 'x'"),
            ("2 == SUBQUERY(dogs, $d, $d.age > 3).@count", "SUBQUERY(dogs, $d, 3 < $d.age).@count == 2"),
            ("0 < SUBQUERY(dogs, $d, $d.age > 3).@count", "SUBQUERY(dogs, $d, $d.age > 3).@count > 0"),
        ])
    func turned(text: String, plain: String) throws {
        #expect(try Self.bind(text) == Self.bind(plain))
    }

    @Test("Objects of other classes and Realms are refused, unmanaged ones match nothing")
    func objects() throws {
        let other = Constant.object(
            ObjectArgument(table: TableKey(2), key: ObjectKey(1), className: "Dog", isOfOtherRealm: true))
        let error = #expect(throws: QueryError.self) { try Self.bind("dog == %@", [other]) }
        #expect(error?.message.hasPrefix("Object must be from the Realm being queried") == true)
        let person = Constant.object(
            ObjectArgument(table: TableKey(1), key: ObjectKey(1), className: "Person"))
        #expect(throws: QueryError.self) { try Self.bind("dog == %@", [person]) }
        let unmanaged = Constant.object(ObjectArgument(table: nil, key: .none, className: "Dog"))
        guard case .test(_, .never) = try Self.bind("dog == %@", [unmanaged]),
            case .test(_, .always) = try Self.bind("dog != %@", [unmanaged])
        else {
            Issue.record("an unmanaged object matches something")
            return
        }
    }

    @Test(
        "Sets of the same values make equal predicates in any order, and other sets make different ones",
        arguments: [
            ("age IN", ["1", "2.0", "3"]), ("age IN", ["1", "70000000000", "-3"]), ("name IN", ["'a'", "''", "'b'"]),
            ("name IN[c]", ["'a'", "'b'"]), ("name IN[d]", ["'a'", "'\u{E9}'", "'b'"]),
            ("email IN", ["'a'", "NULL", "'b'"]), ("score IN", ["0.5", "-1", "2"]), ("ratio IN", ["0.5", "-1", "2"]),
            ("active IN", ["TRUE", "FALSE"]), ("price IN", ["'1.5'", "2"]),
            ("value IN", ["1", "'a'", "NULL", "2.5", "TRUE"]), ("ANY numbers IN", ["1", "2"]),
            ("dogs.@count IN", ["1", "2"]), ("numbers.@avg IN", ["1", "2.5"]),
            (
                "token IN",
                ["'00112233-4455-6677-8899-aabbccddeeff'", "'10112233-4455-6677-8899-aabbccddeeff'"]
            ),
        ])
    func sets(path: String, values: [String]) throws {
        func bind(_ values: [String]) throws -> BoundPredicate {
            try Self.bind("\(path) {\(values.joined(separator: ", "))}")
        }
        let written = try bind(values)
        let turned = try bind(Array(values.reversed()) + values)
        #expect(turned == written && turned.hashValue == written.hashValue)
        #expect(try bind(Array(values.dropLast())) != written)
    }

    @Test(
        "Sort key paths are checked",
        arguments: [
            ("x", "Cannot sort on key path 'x': property 'Person.x' does not exist."),
            (
                "dogs.@count",
                "Cannot sort on key path 'dogs.@count': KVC collection operators are not supported."
            ),
            (
                "dog",
                "Cannot sort on key path 'dog': property 'Person.dog' of type 'object' cannot be the final property"
            ),
            ("photo", "Cannot sort on key path 'photo': property 'Person.photo' is of unsupported type."),
            (
                "age.x",
                "Cannot sort on key path 'age.x': property 'Person.age' of type 'int' may only be the final"
            ),
        ])
    func sortKeys(path: String, gist: String) {
        let error = #expect(throws: QueryError.self) {
            try SortKey.bind(path, to: TableKey(1), in: Self.schema)
        }
        #expect(error?.message.hasPrefix(gist) == true, "\(error?.message ?? "")")
    }
}
