// SPDX-License-Identifier: Apache-2.0
// Backlinks: the objects of a class that link to an object through one of their properties.

internal import RegnumEngine

/// The state of a `LinkingObjects` value. It is bound to an object when an accessor's property is read.
package final class LinkingObjectsHandle {
    /// The class of the objects that link here.
    package let originType: ObjectBase.Type
    /// The property of that class: a link or a list of links.
    package let originProperty: String
    private var state: ResultsState?
    /// While a key path is traced: the recorder, and the name to record if it is not recorded yet.
    private var traced: (recorder: _KeyPathRecorder, name: String?, depth: Int)?

    package init(originType: ObjectBase.Type, originProperty: String) {
        self.originType = originType
        self.originProperty = originProperty
    }

    /// Binds it to the backlinks of a managed object.
    package func bind(to owner: RowReference) {
        let realm = owner.binding.core
        let origin = realm.bindingIfAny(for: originType)
        let column = origin?.table.definition.column(named: originColumn(origin)) ?? -1
        state = ResultsState(
            realm: realm, elementType: originType, binding: column < 0 ? nil : origin,
            source: .backlinks(owner: owner, column: column))
    }

    /// Binds it to the objects of `origin` that link to a managed object by the given column.
    func bind(to owner: RowReference, origin: ClassBinding, column: Int) {
        state = ResultsState(
            realm: owner.binding.core, elementType: originType, binding: column < 0 ? nil : origin,
            source: .backlinks(owner: owner, column: column))
    }

    /// Returns the backlinks of the same object in another Realm of the file; nil if the object does not exist there.
    func moved(to core: RealmCore, mayBeMissing: Bool) -> LinkingObjectsHandle? {
        guard let state = state?.moved(to: core, mayBeMissing: mayBeMissing) else { return nil }
        let copy = LinkingObjectsHandle(originType: originType, originProperty: originProperty)
        copy.state = state
        return copy
    }

    func trace(_ recorder: _KeyPathRecorder, as name: String?) { traced = (recorder, name, recorder.names.count) }

    /// Returns the object that stands for every element while a key path is traced.
    func tracedElement() -> ObjectBase? {
        guard let traced else { return nil }
        recordField()
        return traced.recorder.makeTraced(originType)
    }

    /// Records the field's name while a key path is traced through it.
    func recordField() {
        if let traced, let name = traced.name { traced.recorder.record(name, depth: traced.depth) }
    }

    /// Removes the binding: the linking objects are empty again, as for an unmanaged object.
    package func unbind() { state = nil }

    private func originColumn(_ origin: ClassBinding?) -> String {
        origin?.schema.properties.first { $0.name == originProperty }?.columnName ?? originProperty
    }

    var results: ResultsState? { state }
}

/// The objects that link to the object with this property. Maintained automatically and read-only.
///
/// ```swift
/// class Dog: Object {
///     @Persisted(originProperty: "dogs") var owners: LinkingObjects<Person>
/// }
/// ```
///
/// Empty for an unmanaged object. An object that links twice occurs twice.
public struct LinkingObjects<Element: ObjectBase & RealmCollectionValue> {
    package let handle: LinkingObjectsHandle

    /// Creates the backlinks for the property `property` of `type`.
    public init(fromType type: Element.Type, property: String) {
        handle = LinkingObjectsHandle(originType: type, originProperty: property)
    }

    /// Creates backlinks for `@Persisted`, which gets the property's name from its own declaration.
    package init(property: String) {
        handle = LinkingObjectsHandle(originType: Element.self, originProperty: property)
    }

    package init(handle: LinkingObjectsHandle) { self.handle = handle }
}
