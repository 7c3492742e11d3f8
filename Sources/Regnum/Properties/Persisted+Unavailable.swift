// SPDX-License-Identifier: Apache-2.0
// Arguments of `@Persisted` that do not fit the type of the property: the compiler says which types they fit. It prefers
// the initialisers in `Persisted.swift` for all types that those accept.

extension Persisted {
    @available(
        *, unavailable, message: "a primary key is an integer, String, ObjectId or UUID, or an enum stored as one"
    )
    public init(primaryKey: Bool) { fatalError("unavailable") }

    @available(
        *, unavailable, message: "a primary key is an integer, String, ObjectId or UUID, or an enum stored as one"
    )
    public init(wrappedValue value: Value, primaryKey: Bool) { fatalError("unavailable") }

    @available(*, unavailable, message: "a property of this type has no index of values: write @Persisted alone")
    public init(indexed: Bool) { fatalError("unavailable") }

    @available(*, unavailable, message: "a property of this type has no index of values: write @Persisted alone")
    public init(wrappedValue value: Value, indexed: Bool) { fatalError("unavailable") }

    @available(
        *, unavailable, message: "only LinkingObjects have an originProperty: the name of the property that links"
    )
    public init(originProperty: String) { fatalError("unavailable") }
}
