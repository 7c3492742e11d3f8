// SPDX-License-Identifier: Apache-2.0
// `NSPredicate.evaluate(with:)` for predicates created from a format.

internal import RegnumEngine
internal import RegnumQuery

extension ParsedPredicate {
    /// Returns whether an object satisfies the predicate. Anything but an object is a programmer error: only a class
    /// defines the types that the comparison needs.
    func isSatisfied(by object: Any?) -> Bool {
        guard let object = object as? ObjectBase else {
            misuse(
                "A predicate made from a format can only be evaluated with an object of a model class. Filter the "
                    + "collection of a Realm with it instead.")
        }
        guard let realm = object.realm?.core else {
            return UnmanagedPredicate(predicate(for: nil), for: type(of: object)).isSatisfied(by: object)
        }
        object.requireValid()
        let all = realm.allObjects(type(of: object))
        do throws(QueryError) {
            let found = try all.appending(.filter(predicate(for: realm)))
            return found.contains(object.rowKey)
        } catch { misuse(error.message) }
    }
}
