// SPDX-License-Identifier: Apache-2.0
// The schema of a model class: its name in the file, its properties, and the layout of its objects in memory. Built
// once per class and process, by reflection; `ClassSchema+Building.swift` builds it and rejects invalid declarations.

package import RegnumEngine
internal import RegnumSystem

/// One class. Immutable; any thread.
package final class ClassSchema: @unchecked Sendable {
    // Sendable: nothing changes after `init`.
    package let type: ObjectBase.Type
    package let name: String
    package let module: String
    /// In the order of declaration, those of superclasses first.
    package let properties: [ClassProperty]
    /// The index of the primary key in `properties`.
    package let primaryKey: Int?
    /// The unique constraints, as indexes in `properties`.
    package let uniques: [[Int]]
    /// The index of the property that numbers new objects.
    package let autoIncremented: Int?
    package let isEmbedded: Bool
    /// The offsets of properties, ignored ones too, are below this.
    package let offsetEnd: Int
    package let accessors: AccessorFactory
    /// True if stored `let`s must be set for each accessor.
    package let hasStoredCollections: Bool
    /// True if the class is `Encodable`: its wrappers must know whether the object is managed.
    package let isEncodable: Bool
    /// True if some `@Persisted` property is ignored: its getters cannot take the fast path.
    package let hasIgnoredWrappers: Bool
    /// True if an accessor without other references may be bound to another row: the only state of the old row that it
    /// keeps is the collections that were read.
    package let isRecyclable: Bool
    /// The offsets in the object at which recyclable accessors keep their collections. Never freed: a class lives
    /// forever, and dynamic objects have none.
    let collectionOffsets: UnsafeBufferPointer<Int>
    /// For dynamic objects: by property index, the types that are read and stored without their property.
    /// Otherwise empty.
    let plainForms: [PlainForm]
    /// The message for an update by primary key of a class without one.
    var noPrimaryKeyMessage: String { "'\(name)' does not have a primary key and can not be updated" }
    private let placesByName: [String: Int]
    private let placesByOffset: [Int: Int]

    init(_ scan: FieldScan, name: String, properties: [ClassProperty], uniques: [[Int]]) {
        type = scan.type
        self.name = name
        module = ClassNames.module(of: scan.type)
        self.properties = properties
        primaryKey = properties.firstIndex { $0.isPrimaryKey }
        self.uniques = uniques
        autoIncremented = properties.firstIndex { $0.isAutoIncremented }
        isEmbedded = scan.type.isKind(of: EmbeddedObject.self)
        offsetEnd = (scan.fields.map(\.offset).max() ?? 0) + 1
        hasStoredCollections = properties.contains { $0.isField }
        isEncodable = scan.type is any Encodable.Type
        hasIgnoredWrappers = scan.hasIgnoredWrappers
        accessors = AccessorFactory(
            scan.type, instanceSize: scan.instanceSize,
            usesImage: !scan.hasForeignFields && !scan.hasIgnoredWrappers)
        isRecyclable = accessors.usesImage && !hasStoredCollections
        let offsets = properties.filter { $0.isOwnedCollection && !$0.isField }.map(\.offset)
        let kept = UnsafeMutableBufferPointer<Int>.allocate(capacity: offsets.count)
        _ = kept.initialize(from: offsets)
        collectionOffsets = UnsafeBufferPointer(kept)
        plainForms = []
        placesByName = Dictionary(
            properties.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        placesByOffset = Dictionary(
            properties.enumerated().map { ($1.offset, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Creates the schema of a table as dynamic objects see it; the `offset` of each property is its index.
    init(dynamic name: String, isEmbedded: Bool, properties: [ClassProperty], uniques: [[Int]] = []) {
        type = DynamicObject.self
        self.isEmbedded = isEmbedded
        self.name = name
        module = ClassNames.module(of: DynamicObject.self)
        self.properties = properties
        primaryKey = properties.firstIndex { $0.isPrimaryKey }
        self.uniques = uniques
        autoIncremented = properties.firstIndex { $0.isAutoIncremented }
        offsetEnd = properties.count
        hasStoredCollections = false
        isEncodable = false
        hasIgnoredWrappers = false
        accessors = AccessorFactory(
            DynamicObject.self, instanceSize: FieldScan(DynamicObject.self).instanceSize, usesImage: true)
        isRecyclable = accessors.usesImage
        collectionOffsets = UnsafeBufferPointer(start: nil, count: 0)
        plainForms = properties.map { PlainForm($0.shape) }
        placesByName = Dictionary(
            properties.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
        placesByOffset = Dictionary(uniqueKeysWithValues: properties.indices.map { ($0, $0) })
    }

    // MARK: Looking up

    package func property(named name: String) -> ClassProperty? { placesByName[name].map { properties[$0] } }
    package func place(named name: String) -> Int? { placesByName[name] }
    package func property(at offset: Int) -> ClassProperty? { placesByOffset[offset].map { properties[$0] } }

    /// `Class.property`, for messages.
    func label(at offset: Int) -> String { "\(name).\(property(at: offset)?.name ?? "?")" }
    func originProperty(at offset: Int) -> String { property(at: offset)?.originProperty ?? "" }

    /// The table of the class, to be created if the file has none.
    package var newTable: NewTable {
        NewTable(
            name: name, isEmbedded: isEmbedded, columns: properties.filter { !$0.isComputed }.map(\.newColumn))
    }

    // MARK: Cache

    private static let cache = Lock<[ObjectIdentifier: ClassSchema]>([:])

    /// The schema of a class. It is a programmer error if its declarations are invalid. Constant time except for the
    /// first call.
    package static func of(_ type: ObjectBase.Type) -> ClassSchema {
        switch find(type) {
        case .success(let schema): schema
        case .failure(let problem): misuse(problem.message)
        }
    }

    /// Like `of`, but for callers that continue if a class is invalid. Runs the class's initialiser once, with no lock
    /// held.
    package static func find(_ type: ObjectBase.Type) -> Result<ClassSchema, SchemaProblem> {
        let id = ObjectIdentifier(type)
        if let known = cache.withLock({ $0[id] }) { return .success(known) }
        do {
            let made = try build(type)
            return .success(
                cache.withLock { cache in
                    if let known = cache[id] { return known }
                    cache[id] = made
                    return made
                })
        } catch {
            return .failure(error)
        }
    }
}

/// The reason why a class cannot be stored, in RealmSwift's wording.
package struct SchemaProblem: Error, Equatable {
    package var message: String
    package init(_ message: String) { self.message = message }
}
