// SPDX-License-Identifier: Apache-2.0
// Spellings of older RealmSwift versions that articles and old code use, each with the one to write instead.

extension Realm {
    @available(*, deprecated, message: "write add(_:update: .all), or .error for false")
    public func add(_ object: Object, update: Bool) {
        add(object, update: update ? UpdatePolicy.all : .error)
    }

    @available(*, deprecated, message: "write add(_:update: .all), or .error for false")
    public func add<S: Sequence>(_ objects: S, update: Bool) where S.Element: Object {
        add(objects, update: update ? UpdatePolicy.all : .error)
    }

    @available(*, deprecated, message: "write create(_:value:update: .all), or .error for false")
    @discardableResult
    public func create<T: Object>(_ type: T.Type, value: Any = [:], update: Bool) -> T {
        create(type, value: value, update: update ? UpdatePolicy.all : .error)
    }

    @available(*, deprecated, renamed: "object(ofType:forPrimaryKey:)")
    public func objectForPrimaryKey<T: Object>(_ type: T.Type, key: Any) -> T? {
        object(ofType: type, forPrimaryKey: key)
    }
}

extension Results {
    @available(*, deprecated, renamed: "sorted(byKeyPath:ascending:)")
    public func sorted(_ property: String, ascending: Bool = true) -> Results<Element> {
        sorted(byKeyPath: property, ascending: ascending)
    }

    @available(*, deprecated, renamed: "sorted(byKeyPath:ascending:)")
    public func sorted(byProperty property: String, ascending: Bool = true) -> Results<Element> {
        sorted(byKeyPath: property, ascending: ascending)
    }

    @available(*, deprecated, renamed: "index(of:)")
    public func indexOf(_ object: Element) -> Int? { index(of: object) }
}

extension List where Element: RealmCollectionValue {
    @available(*, deprecated, renamed: "index(of:)")
    public func indexOf(_ object: Element) -> Int? { index(of: object) }
}
