// SPDX-License-Identifier: Apache-2.0
// Additions of Regnum to `Realm` for classes with rules: adding or updating by a unique constraint, and previewing a
// delete.

internal import RegnumEngine

/// The effect that deleting objects would have. Created by `Realm.previewDelete`. Confined to the thread of the Realm.
public struct DeletePreview: CustomStringConvertible {
    /// The objects that would be deleted, the requested ones first, without embedded ones.
    public let objects: [ObjectBase]
    /// The number of objects that would be deleted, including embedded ones, by class.
    public let counts: [String: Int]
    /// Links to these objects from objects that remain; the links would become nil or leave their collection. The
    /// number of linking objects by "class.property".
    public let clearedLinks: [String: Int]
    /// One sentence for each object whose deletion a delete rule denies; empty if the delete would succeed.
    public let denials: [String]
    /// True if the delete would be refused.
    public var isDenied: Bool { !denials.isEmpty }

    /// One line for the objects, one for each property with cleared links, and one for each denial.
    public var description: String {
        let kinds = counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        let links = clearedLinks.sorted { $0.key < $1.key }.map { "- clears \($0.key) of \($0.value) objects" }
        return (["deletes \(kinds.isEmpty ? "nothing" : kinds)"] + links + denials.map { "- denied: \($0)" })
            .joined(separator: "\n")
    }
}

extension RealmAdditions where Self == Realm {
    /// Adds the object. If an object with the same values of a unique constraint exists, writes the values to that
    /// object instead, and `object` becomes its accessor; the primary key and the number of the existing object are
    /// kept.
    ///
    /// ```swift
    /// realm.upsert(person, on: \.country, \.passportNumber)
    /// ```
    ///
    /// It is a programmer error to call this outside a write transaction, or if the class does not declare the
    /// constraint. O(log n).
    ///
    /// - Parameters:
    ///   - object: an unmanaged object.
    ///   - keyPaths: the properties of the constraint.
    ///   - update: whether only values that differ are written.
    public func upsert<T: Object>(
        _ object: T, on keyPaths: PartialKeyPath<T>..., update: Realm.UpdatePolicy = .modified
    ) {
        let realm: Realm = self
        realm.core.upsert(object, on: keyPaths.map { _name(for: $0) }, update)
    }

    /// Creates an object from a dictionary, an array or another object, as `create` does. If an object with the same
    /// values of a unique constraint exists, writes the values to that object instead. The programmer errors are those
    /// of `create`, and a class that does not declare the constraint.
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

    /// The effect that deleting the object would have, according to the delete rules of its class and of the classes
    /// that it links to. Changes nothing and needs no write transaction. It is a programmer error if the object does
    /// not belong to this Realm. O(objects and links visited).
    public func previewDelete(_ object: ObjectBase) -> DeletePreview { previewDelete([object]) }

    /// The effect that deleting the objects together would have.
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
