// SPDX-License-Identifier: Apache-2.0
// `NSPredicate.evaluate(with:)` for predicates made from a format.

internal import RegnumEngine
internal import RegnumQuery

extension ParsedPredicate {
    /// Whether a managed object satisfies the predicate. Misuse for anything else: only a table knows the types that
    /// the comparison needs.
    func isSatisfied(by object: Any?) -> Bool {
        guard let object = object as? ObjectBase, let realm = object.realm?.core else {
            misuse(
                "A predicate made from a format can only be evaluated with a managed object. Filter the "
                    + "collection of a Realm with it instead.")
        }
        object.requireValid()
        let all = realm.allObjects(type(of: object))
        do throws(QueryError) {
            let found = try all.appending(.filter(predicate(for: realm)))
            return found.contains(object.rowKey)
        } catch { misuse(error.message) }
    }
}
