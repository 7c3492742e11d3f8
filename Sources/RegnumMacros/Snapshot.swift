// SPDX-License-Identifier: Apache-2.0
// The macro @Snapshot, which needs the trait `Macros`.

#if Macros
    internal import Regnum

    /// Adds the struct `Snapshot` to a model class: the values of its objects, known to the compiler.
    ///
    /// ```swift
    /// import RealmSwift
    /// import RegnumMacros
    ///
    /// @Snapshot class Dog: Object {
    ///     @Persisted(primaryKey: true) var id: UUID
    ///     @Persisted var name = ""
    ///     @Persisted var toys: List<String>
    ///     @Persisted var address: Address?
    ///     @Persisted var owner: Person?
    /// }
    ///
    /// let value = Dog.Snapshot(dog)   // id: UUID, name: String, toys: [String],
    ///                                 // address: Address.Snapshot?, owner: LinkedSnapshot<Person>?
    /// ```
    ///
    /// The struct is `Sendable`, `Codable` and `Hashable`. It has the `@Persisted` properties of the class itself,
    /// except linking objects; those of a superclass are left out. Scalars, dates, data and optionals have their own
    /// types; lists, sets and maps are arrays, sets and dictionaries. An embedded object is its own `Snapshot`, a link
    /// a `LinkedSnapshot`; their classes need `@Snapshot` too. Enums and custom types keep their types, and must be
    /// `Codable` and `Sendable`, custom types also `Hashable`. A property whose default does not show its type needs
    /// the type.
    ///
    /// `ModelSnapshot` has the functions of the struct: `apply(to:since:_:)` and `object(linkedTo:)`. Collections have
    /// `snapshotValues(depth:)` and `values(depth:keyPaths:)`, and `RealmPool` has `values(depth:_:)`.
    ///
    /// - Parameter depth: How many links are followed if no other depth is given, as a literal. 0: links are primary
    ///   keys. Embedded objects are always included.
    @attached(member, names: named(Snapshot))
    @attached(extension, conformances: SnapshotModel, names: named(SnapshotForm))
    public macro Snapshot(depth: Int = 1) = #externalMacro(module: "RegnumMacroPlugin", type: "SnapshotMacro")
#else
    /// Requires the trait `Macros` of the package. An attribute of a class is a macro, which needs its plugin, or a
    /// global actor.
    @available(
        *, unavailable,
        message: """
            Macros are switched off. Add the trait to your Package.swift: \
            .package(url: "...", from: "...", traits: [.defaults, "Macros"])
            """
    )
    @globalActor
    public actor Snapshot {
        public static let shared = Snapshot()
    }
#endif
