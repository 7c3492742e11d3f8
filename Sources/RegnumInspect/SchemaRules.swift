// SPDX-License-Identifier: Apache-2.0
// The rules of a schema that classes in JSON lack, written and applied as JSON:
//
//   [{"class": "Person", "unique": ["name", "birthday"]},
//    {"class": "Person", "property": "home", "location": true},
//    {"class": "Person", "property": "dogs", "onDelete": "cascade", "onTargetDelete": "deny"}]

internal import RegnumEngine
internal import RegnumSystem

extension Inspector {
    /// The unique constraints, delete rules and geospatial indexes of the file as a JSON array; nil if there are none.
    /// **Unstable**, like `Inspector`.
    public func schemaRules() throws -> String? {
        let session = try makeSession()
        var rules: [String] = []
        for table in session.tables {
            let definition = table.definition
            var start = "{\"class\":"
            JSONValue.quote(definition.name, to: &start)
            for unique in definition.uniques {
                let names = unique.columns.compactMap { key in definition.columns.first { $0.key == key }?.name }
                var quoted: [String] = []
                for name in names {
                    var text = ""
                    JSONValue.quote(name, to: &text)
                    quoted.append(text)
                }
                rules.append(start + ",\"unique\":[\(quoted.joined(separator: ","))]}")
            }
            for column in definition.columns {
                var rule = ""
                if column.isContentIndexed, column.type == .double { rule += ",\"location\":true" }
                if column.deleteRule != .nullify { rule += ",\"onDelete\":\"\(column.deleteRule)\"" }
                if column.originRule != .nullify { rule += ",\"onTargetDelete\":\"\(column.originRule)\"" }
                if rule.isEmpty { continue }
                var name = ""
                JSONValue.quote(column.name, to: &name)
                rules.append(start + ",\"property\":\(name)\(rule)}")
            }
        }
        return rules.isEmpty ? nil : "[\(rules.joined(separator: ","))]"
    }

    /// True if the JSON object has rules as its member `rules`.
    public static func hasSchemaRules(_ schema: [UInt8]) -> Bool {
        guard let json = try? JSONParser.parse(schema), case .array(let rules)? = json["rules"] else { return false }
        return !rules.isEmpty
    }

    /// Adds the rules in the member `rules` of a JSON object to the schema of the file, in one transaction. Throws
    /// `InspectionError` if they are not valid for the file, or if objects violate them; the file is then unchanged.
    public func applySchemaRules(_ schema: [UInt8]) throws {
        let rules: [JSONValue]
        do throws(JSONParser.Problem) {
            guard case .array(let list)? = try JSONParser.parse(schema)["rules"] else { return }
            rules = list
        } catch { throw ruleError(error.message) }
        let session = try makeSession()
        try inspecting(database.path) { () throws(EngineError) in try session.beginWrite() }
        do {
            var definitions: [TableKey: TableDefinition] = [:]
            for rule in rules {
                guard case .string(let name)? = rule["class"], let table = session.table(named: name) else {
                    throw ruleError("a rule names no class of the file")
                }
                var definition = definitions[table.definition.key] ?? table.definition
                try apply(rule, to: &definition)
                definitions[definition.key] = definition
            }
            try inspecting(database.path) { () throws(EngineError) in
                try session.reshape(Array(definitions.values))
                try session.commitWrite()
            }
        } catch {
            if session.isWriting { session.rollbackWrite() }
            throw error
        }
    }

    private func ruleError(_ words: String) -> InspectionError {
        InspectionError(path: database.path, description: "The rules of the schema cannot be used: \(words).")
    }

    private func apply(_ rule: JSONValue, to definition: inout TableDefinition) throws {
        if case .array(let names)? = rule["unique"] {
            let columns = names.compactMap { name -> ColumnKey? in
                guard case .string(let name) = name else { return nil }
                return definition.column(named: name).map { definition.columns[$0].key }
            }
            let unique = UniqueDefinition(key: ColumnKey(definition.nextColumnKey), columns: columns)
            guard columns.count == names.count, definition.allows(unique) else {
                throw ruleError("class '\(definition.name)' cannot have one of its unique constraints")
            }
            definition.nextColumnKey += 1
            definition.uniques.append(unique)
            return
        }
        guard case .string(let name)? = rule["property"], let column = definition.column(named: name) else {
            throw ruleError("a rule of class '\(definition.name)' names no property of it")
        }
        if rule["location"] == .bool(true) {
            guard definition.columns[column].type == .double, definition.columns[column].collection == .list else {
                throw ruleError("'\(definition.name).\(name)' is no list of Double, which a location is")
            }
            definition.columns[column].isContentIndexed = true
        }
        if let found = rule["onDelete"] {
            definition.columns[column].deleteRule = try linkRule(found, definition, column)
        }
        if let found = rule["onTargetDelete"] {
            definition.columns[column].originRule = try linkRule(found, definition, column)
        }
    }

    private func linkRule(_ json: JSONValue, _ definition: TableDefinition, _ column: Int) throws -> LinkRule {
        guard definition.columns[column].type == .link, case .string(let name) = json,
            let rule = LinkRule.allCases.first(where: { "\($0)" == name })
        else {
            throw ruleError("'\(definition.name).\(definition.columns[column].name)' cannot have its delete rule")
        }
        return rule
    }
}
