// SPDX-License-Identifier: Apache-2.0
// An import into an open Realm: only the classes and properties that the Realm declares are imported.

internal import Foundation
internal import Regnum
internal import RegnumEngine
internal import RegnumRealmFile

struct OpenRealmImport<Source: ObjectSource> {
    var source: Source
    var report: RealmFileImportReport
    /// The cost of the objects that are committed together: 1 for each object and each kilobyte of its values.
    var batchCost = 20_000
    var progress: ((RealmFileImportProgress) throws -> Void)?

    /// Imports the classes with primary keys in batches, because repeating the import then produces the same objects,
    /// and all others in one transaction at the end. If the Realm is in a write transaction, that one takes everything.
    func run(into realm: Realm) throws -> RealmFileImportReport {
        // On the wrong thread, this is a programmer error and ends the program.
        let isWriting = realm.isInWriteTransaction
        var report = report
        report.schemaVersion = source.schemaVersion
        let session = realm.core.session
        let plans = plans(for: realm, session, &report)
        let objects = source.classes.reduce(0) { $0 + $1.objectCount }
        let watch = ImportWatch(objects: objects, passes: 2, progress)
        let importer = ObjectImporter(source, into: session, plans, isUpdating: true, report, watch)
        if isWriting {
            while try !importer.advance(cost: .max) {}
            try source.checkUnchanged()
            try watch.finish()
            return importer.report
        }
        var isDone = false
        while !isDone {
            try realm.write {
                isDone = try importer.advance(cost: batchCost)
                guard isDone else { return }
                try source.checkUnchanged()
                try watch.finish()
            }
        }
        return importer.report
    }

    private func plans(
        for realm: Realm, _ session: Session, _ report: inout RealmFileImportReport
    ) -> [ClassPlan] {
        var seen: Set<String> = []
        let declared = realm.classSchemas
        var plans: [ClassPlan] = []
        let indexes = SourceClass.indexes(source.classes)
        for (index, sourceClass) in source.classes.enumerated() {
            var plan = ClassPlan(
                source: index, name: sourceClass.name, table: nil, columns: [], dropped: [], primaryKey: nil,
                isEmbedded: false)
            if let schema = declared.first(where: { $0.name == sourceClass.name }),
                let table = session.table(named: schema.name)
            {
                seen.insert(schema.name)
                report.notes += match(sourceClass, schema, table.definition, session, indexes, &plan)
            } else {
                report.notes.append("Class '\(sourceClass.name)' of the old file is not declared.")
            }
            plans.append(plan)
        }
        for schema in declared where !seen.contains(schema.name) {
            report.notes.append("Class '\(schema.name)' is not in the old file.")
        }
        return plans
    }

    /// Fills in `plan` for a class that both sides have. Returns the differences, one sentence each.
    private func match(
        _ sourceClass: SourceClass, _ schema: ClassSchema, _ table: TableDefinition, _ session: Session,
        _ indexes: [String: Int], _ plan: inout ClassPlan
    ) -> [String] {
        var notes: [String] = []
        guard (sourceClass.kind == .embedded) == table.isEmbedded else {
            return ["Class '\(schema.name)' is embedded on one side only: its objects are not imported."]
        }
        let columns = Self.columns(for: sourceClass, schema, table)
        let matched = Set(columns.values)
        for (place, property) in sourceClass.properties.enumerated() where !property.isInternal {
            var reason: String?
            if let column = columns[place] {
                let definition = table.columns[column]
                reason = Self.mismatch(property, definition, session)
                if reason == nil {
                    plan.columns.append(
                        ColumnPlan(
                            source: place, name: property.name, column: column, definition: definition,
                            targetClass: property.targetClass(indexes)))
                }
            } else {
                reason = "the class has no such property"
            }
            guard let reason else { continue }
            plan.dropped.append(DroppedPlan(source: place, name: property.name, reason: reason))
            notes.append("Property '\(schema.name).\(property.name)' of the old file is not imported: \(reason).")
        }
        for (index, column) in table.columns.enumerated() where !column.isHidden && !matched.contains(index) {
            notes.append(
                "Property '\(schema.name).\(column.name)' is not in the old file: it is zero, empty or nil in new objects."
            )
        }
        plan.primaryKey = plan.columns.firstIndex { $0.definition.isPrimaryKey }
        if table.primaryKey != nil, plan.primaryKey == nil {
            notes.append("Class '\(schema.name)' has a primary key that the old file has no values for.")
            return notes
        }
        plan.isEmbedded = table.isEmbedded
        plan.table = table.key
        return notes
    }

    /// Returns the columns for the properties of the source, by index. Names in the file take precedence over names in
    /// Swift, for all properties: a property that `propertiesMapping` renames must not take the column of another one.
    private static func columns(
        for sourceClass: SourceClass, _ schema: ClassSchema, _ table: TableDefinition
    ) -> [Int: Int] {
        let wanted = schema.properties.filter { !$0.isComputed }
        var columns: [Int: Int] = [:]
        var taken: Set<Int> = []
        func match(_ isMatch: (ClassProperty, SourceProperty) -> Bool) {
            for (place, property) in sourceClass.properties.enumerated()
            where !property.isInternal && columns[place] == nil {
                guard let found = wanted.first(where: { isMatch($0, property) }),
                    let column = table.columns.firstIndex(where: { $0.name == found.columnName && !$0.isHidden }),
                    taken.insert(column).inserted
                else { continue }
                columns[place] = column
            }
        }
        match { $0.columnName == $1.storedName }
        match { $0.columnName == $1.name }
        match { $0.name == $1.storedName }
        match { $0.name == $1.name }
        return columns
    }

    /// Returns the reason why the column cannot hold the values of the property; nil if it can.
    private static func mismatch(
        _ property: SourceProperty, _ column: ColumnDefinition, _ session: Session
    ) -> String? {
        guard let type = ColumnType(property.type) else { return "it holds tables within tables" }
        let collection = CollectionKind(property.collection)
        if type != column.type || collection != column.collection {
            return
                "it is of type \(words(type, collection)) in the old file, \(words(column.type, column.collection)) in "
                + "the class"
        }
        if case .link(let name) = property.type,
            let target = column.target.flatMap({ session.table($0)?.definition.name }), target != name
        {
            return "it links to '\(name)' in the old file, to '\(target)' in the class"
        }
        return nil
    }

    private static func words(_ type: ColumnType, _ collection: CollectionKind) -> String {
        collection == .none ? "\(type)" : "\(collection) of \(type)"
    }
}
