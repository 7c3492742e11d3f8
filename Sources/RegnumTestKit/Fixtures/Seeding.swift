// SPDX-License-Identifier: Apache-2.0
// Initial objects for a test, written as a list.

public import Regnum

/// Collects the objects of `seed { }`.
@resultBuilder
public enum SeedBuilder {
    public static func buildExpression(_ object: Object) -> [Object] { [object] }
    public static func buildExpression<S: Sequence>(_ objects: S) -> [Object] where S.Element: Object {
        objects.map(\.self)
    }
    public static func buildBlock(_ parts: [Object]...) -> [Object] { parts.flatMap(\.self) }
    public static func buildOptional(_ part: [Object]?) -> [Object] { part ?? [] }
    public static func buildEither(first part: [Object]) -> [Object] { part }
    public static func buildEither(second part: [Object]) -> [Object] { part }
    public static func buildArray(_ parts: [[Object]]) -> [Object] { parts.flatMap(\.self) }
}

extension RealmAdditions where Self == Realm {
    /// Adds the objects of `objects`, with everything that they link to, in the open transaction or else in a new one.
    ///
    /// ```swift
    /// try realm.seed {
    ///     Dog(value: ["name": "Rex"])
    ///     for age in 1...3 { Person(value: ["age": age]) }
    /// }
    /// ```
    ///
    /// Throws `Realm.Error` if the transaction fails. Called on the realm's own thread.
    public func seed(update: Realm.UpdatePolicy = .error, @SeedBuilder _ objects: () throws -> [Object]) throws {
        let realm: Realm = self
        let objects = try objects()
        try realm.writing { realm.add(objects, update: update) }
    }
}

extension Realm {
    /// Runs `body` in the open transaction, or else in a new one.
    func writing<Result>(_ body: () throws -> Result) throws -> Result {
        isInWriteTransaction ? try body() : try write(body)
    }
}
