// SPDX-License-Identifier: Apache-2.0
// Spellings of older RealmSwift versions that articles and old code use. They work, but are deprecated: the compiler
// names the current spelling.

extension Realm {
    /// Same as `add(_:update:)` with `.all` for true and `.error` for false.
    @available(*, deprecated, message: "write add(_:update: .all), or .error for false")
    public func add(_ object: Object, update: Bool) {
        add(object, update: update ? UpdatePolicy.all : .error)
    }

    /// Same as `add(_:update:)` with `.all` for true and `.error` for false.
    @available(*, deprecated, message: "write add(_:update: .all), or .error for false")
    public func add<S: Sequence>(_ objects: S, update: Bool) where S.Element: Object {
        add(objects, update: update ? UpdatePolicy.all : .error)
    }

    /// Same as `create(_:value:update:)` with `.all` for true and `.error` for false.
    @available(*, deprecated, message: "write create(_:value:update: .all), or .error for false")
    @discardableResult
    public func create<T: Object>(_ type: T.Type, value: Any = [String: Any](), update: Bool) -> T {
        create(type, value: value, update: update ? UpdatePolicy.all : .error)
    }

    /// Same as `object(ofType:forPrimaryKey:)`.
    @available(*, deprecated, renamed: "object(ofType:forPrimaryKey:)")
    public func objectForPrimaryKey<T: Object>(_ type: T.Type, key: Any) -> T? {
        object(ofType: type, forPrimaryKey: key)
    }
}

// Results, lists and linking objects once had these methods.
extension RealmCollection where Element: ObjectBase {
    /// Same as `sorted(byKeyPath:ascending:)`.
    @available(*, deprecated, renamed: "sorted(byKeyPath:ascending:)")
    public func sorted(_ property: String, ascending: Bool = true) -> Results<Element> {
        sorted(byKeyPath: property, ascending: ascending)
    }

    /// Same as `sorted(byKeyPath:ascending:)`.
    @available(*, deprecated, renamed: "sorted(byKeyPath:ascending:)")
    public func sorted(byProperty property: String, ascending: Bool = true) -> Results<Element> {
        sorted(byKeyPath: property, ascending: ascending)
    }

    /// Same as `index(of:)`.
    @available(*, deprecated, renamed: "index(of:)")
    public func indexOf(_ object: Element) -> Int? { index(of: object) }
}
