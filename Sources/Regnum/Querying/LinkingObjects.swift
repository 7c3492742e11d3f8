// SPDX-License-Identifier: Apache-2.0
// The reverse of links: the objects of a class that link to an object through one of their properties.

internal import RegnumEngine

/// What a `LinkingObjects` value points at; bound to an object by whoever makes accessors.
package final class LinkingObjectsHandle {
    /// The class whose objects link here.
    package let originType: ObjectBase.Type
    /// The property of that class, a link or a list of links.
    package let originProperty: String
    private var state: ResultsState?
    /// While a key path is traced: the name to record, where it is not recorded yet.
    private var traced: (recorder: _KeyPathRecorder, name: String?, depth: Int)?

    package init(originType: ObjectBase.Type, originProperty: String) {
        self.originType = originType
        self.originProperty = originProperty
    }

    /// Makes it the reverse links of a managed object.
    package func bind(to owner: RowReference) {
        let realm = owner.binding.core
        let origin = realm.bindingIfAny(for: originType)
        let column = origin?.table.definition.column(named: originColumn(origin)) ?? -1
        state = ResultsState(
            realm: realm, elementType: originType, binding: column < 0 ? nil : origin,
            source: .backlinks(owner: owner, column: column))
    }

    /// Makes it the objects of `origin` that link to a managed object by that column.
    func bind(to owner: RowReference, origin: ClassBinding, column: Int) {
        state = ResultsState(
            realm: owner.binding.core, elementType: originType, binding: column < 0 ? nil : origin,
            source: .backlinks(owner: owner, column: column))
    }

    /// The reverse links of the same object in another Realm of the file; nil where the object is not there.
    func moved(to core: RealmCore, mayBeMissing: Bool) -> LinkingObjectsHandle? {
        guard let state = state?.moved(to: core, mayBeMissing: mayBeMissing) else { return nil }
        let copy = LinkingObjectsHandle(originType: originType, originProperty: originProperty)
        copy.state = state
        return copy
    }

    func trace(_ recorder: _KeyPathRecorder, as name: String?) { traced = (recorder, name, recorder.names.count) }

    /// The object that stands for all, where a key path is traced.
    func tracedElement() -> ObjectBase? {
        guard let traced else { return nil }
        recordField()
        return traced.recorder.makeTraced(originType)
    }

    /// Records the name of the field, while a key path is traced through one.
    func recordField() {
        if let traced, let name = traced.name { traced.recorder.record(name, depth: traced.depth) }
    }

    /// Ends the binding: it is empty again, as of an unmanaged object.
    package func unbind() { state = nil }

    private func originColumn(_ origin: ClassBinding?) -> String {
        origin?.schema.properties.first { $0.name == originProperty }?.columnName ?? originProperty
    }

    var results: ResultsState? { state }
}

/// The objects that link to the object that has this property; it changes with them and is never written itself.
///
/// ```swift
/// class Dog: Object {
///     @Persisted(originProperty: "dogs") var owners: LinkingObjects<Person>
/// }
/// ```
///
/// Of an unmanaged object it is empty. An object that links twice is there twice.
public struct LinkingObjects<Element: ObjectBase & RealmCollectionValue> {
    package let handle: LinkingObjectsHandle

    /// The reverse of `property` of `type`.
    public init(fromType type: Element.Type, property: String) {
        handle = LinkingObjectsHandle(originType: type, originProperty: property)
    }

    /// For `@Persisted`, which knows the property by its own declaration.
    package init(property: String) {
        handle = LinkingObjectsHandle(originType: Element.self, originProperty: property)
    }

    package init(handle: LinkingObjectsHandle) { self.handle = handle }
}
