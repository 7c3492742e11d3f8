// SPDX-License-Identifier: Apache-2.0
// Objects for a test to begin with, written as a list.

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

extension RealmCare where Self == Realm {
    /// Adds the objects of `objects`, with all that they link to, in one transaction, or in the one that is open.
    ///
    /// ```swift
    /// try realm.seed {
    ///     Dog(value: ["name": "Rex"])
    ///     for age in 1...3 { Person(value: ["age": age]) }
    /// }
    /// ```
    ///
    /// Throws `Realm.Error` where the transaction fails. On the realm's own thread.
    public func seed(update: Realm.UpdatePolicy = .error, @SeedBuilder _ objects: () throws -> [Object]) throws {
        let realm: Realm = self
        let objects = try objects()
        try realm.writing { realm.add(objects, update: update) }
    }
}

extension Realm {
    /// In the transaction that is open, else in one of its own.
    func writing<Result>(_ body: () throws -> Result) throws -> Result {
        isInWriteTransaction ? try body() : try write(body)
    }
}
