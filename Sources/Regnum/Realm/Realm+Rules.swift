// SPDX-License-Identifier: Apache-2.0
// What Regnum adds to `Realm` for classes with rules: adding or updating by a unique constraint, and asking what a
// delete would do.

internal import RegnumEngine

/// What deleting objects would do. Made by `Realm.previewDelete`. Belongs to the thread of the Realm.
public struct DeletePreview: CustomStringConvertible {
    /// The objects that would go, those asked for first, without embedded ones.
    public let objects: [ObjectBase]
    /// How many would go, embedded ones too, by class.
    public let counts: [String: Int]
    /// Links to them from objects that stay, which would become nil or leave their collection: objects by
    /// "class.property".
    public let clearedLinks: [String: Int]
    /// A sentence for each object that a delete rule holds back; empty where the delete would be done.
    public let denials: [String]
    /// True where the delete would be refused.
    public var isDenied: Bool { !denials.isEmpty }

    /// One line for the objects, one for each kind of links, one for each denial.
    public var description: String {
        let kinds = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        let links = clearedLinks.sorted { $0.key < $1.key }.map { "- clears \($0.key) of \($0.value) objects" }
        return (["deletes \(kinds.isEmpty ? "nothing" : kinds)"] + links + denials.map { "- denied: \($0)" })
            .joined(separator: "\n")
    }
}

extension RealmCare where Self == Realm {
    /// Adds the object, or, where an object has the same values for a unique constraint, writes its values to that
    /// one and becomes it. Primary key and number of the one that is there stay.
    ///
    /// ```swift
    /// realm.upsert(person, on: \.country, \.passportNumber)
    /// ```
    ///
    /// Misuse outside of a write, and where the class declares no such constraint. O(log n).
    ///
    /// - Parameters:
    ///   - object: an object of no Realm.
    ///   - keyPaths: the properties of the constraint.
    ///   - update: whether only values that differ are written.
    public func upsert<T: Object>(
        _ object: T, on keyPaths: PartialKeyPath<T>..., update: Realm.UpdatePolicy = .modified
    ) {
        let realm: Realm = self
        realm.core.upsert(object, on: keyPaths.map { _name(for: $0) }, update)
    }

    /// Makes an object from a dictionary, an array or another object as `create` does, or writes the values to the
    /// object that has the same ones for a unique constraint. Misuse as for `create`, and where the class declares no
    /// such constraint.
    @discardableResult
    public func upsert<T: Object>(
        _ type: T.Type, value: Any, on keyPaths: PartialKeyPath<T>..., update: Realm.UpdatePolicy = .modified
    ) -> T {
        let core = (self as Realm).core
        core.requireWrite()
        let binding = core.binding(for: type)
        let number = core.uniqueNumber(binding, keyPaths.map { _name(for: $0) })
        let key = core.create(binding, value, update: update, on: number)
        return unsafeDowncast(binding.makeAccessor(key), to: T.self)
    }

    /// What deleting the object would do, by the delete rules of its class and of those it leads to. Changes nothing,
    /// needs no write. Misuse for an object that is not of this Realm. O(objects and links that are looked at).
    public func previewDelete(_ object: ObjectBase) -> DeletePreview { previewDelete([object]) }

    /// What deleting the objects together would do.
    public func previewDelete<S: Sequence>(_ objects: S) -> DeletePreview where S.Element: ObjectBase {
        let core = (self as Realm).core
        core.check()
        let rows = objects.map { core.rowOfOurs($0) }
        return engine { () throws(EngineError) in
            let plan = try core.session.planDelete(rows)
            var counts: [String: Int] = [:]
            var found: [ObjectBase] = []
            for row in plan.rows {
                guard let table = core.session.table(row.table) else { continue }
                counts[table.definition.name, default: 0] += 1
                if table.definition.isEmbedded { continue }
                let binding = core.binding(forTable: row.table) ?? core.dynamicBinding(table)
                found.append(binding.makeAccessor(row.key))
            }
            return DeletePreview(
                objects: found, counts: counts, clearedLinks: try core.session.links(clearedBy: plan),
                denials: plan.denials)
        }
    }
}
