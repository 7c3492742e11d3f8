// SPDX-License-Identifier: Apache-2.0
// What is known of a model class: its name in the file, its properties, and how its objects lie in memory.
// Built once per class and process, by reflection; `ClassSchema+Building.swift` builds and refuses.

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
    /// Place of the primary key in `properties`.
    package let primaryKey: Int?
    /// Unique constraints: places in `properties`.
    package let uniques: [[Int]]
    /// Place of the property that numbers new objects.
    package let autoIncremented: Int?
    package let isEmbedded: Bool
    /// Bytes of an object.
    package let instanceSize: Int
    package let accessors: AccessorFactory
    /// True where stored `let`s must be given to each accessor.
    package let hasStoredCollections: Bool
    /// True where the class can be encoded: its wrappers must know whether the object is managed.
    package let isEncodable: Bool
    /// True where some `@Persisted` property is not stored: its getters cannot take the fast path.
    package let hasIgnoredWrappers: Bool
    /// True where an accessor nobody else holds may be pointed at another row: it keeps nothing of the row but the
    /// collections that it was asked for.
    package let isRecyclable: Bool
    /// Where accessors that are recyclable keep their collections: offsets in the object. Never freed: a class lives
    /// for ever, dynamic objects have none.
    let collectionOffsets: UnsafeBufferPointer<Int>
    /// Of dynamic objects: by place, what can be read and stored without asking the property's type. Else empty.
    let plainForms: [PlainForm]
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
        instanceSize = scan.instanceSize
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

    /// Of a table as dynamic objects show it; `offset` of each property is its number.
    init(dynamic name: String, isEmbedded: Bool, properties: [ClassProperty], uniques: [[Int]] = []) {
        type = DynamicObject.self
        self.isEmbedded = isEmbedded
        self.name = name
        module = ClassNames.module(of: DynamicObject.self)
        self.properties = properties
        primaryKey = properties.firstIndex { $0.isPrimaryKey }
        self.uniques = uniques
        autoIncremented = properties.firstIndex { $0.isAutoIncremented }
        instanceSize = properties.count
        hasStoredCollections = false
        isEncodable = false
        hasIgnoredWrappers = false
        accessors = AccessorFactory(
            DynamicObject.self, instanceSize: FieldScan(DynamicObject.self).instanceSize, usesImage: true)
        isRecyclable = true
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

    /// The table of the class, to be made where the file has none.
    package var newTable: NewTable {
        NewTable(
            name: name, isEmbedded: isEmbedded, columns: properties.filter { !$0.isComputed }.map(\.newColumn))
    }

    // MARK: Cache

    private static let cache = Lock<[ObjectIdentifier: ClassSchema]>([:])

    /// The schema of a class; misuse where its declarations are wrong. Constant time but for the first call.
    package static func of(_ type: ObjectBase.Type) -> ClassSchema {
        switch find(type) {
        case .success(let schema): schema
        case .failure(let problem): misuse(problem.message)
        }
    }

    /// As `of`, for those who go on where a class is wrong. Runs the class's initialiser once, without a
    /// lock.
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

/// Why a class cannot be stored, in RealmSwift's words.
package struct SchemaProblem: Error, Equatable {
    package var message: String
    package init(_ message: String) { self.message = message }
}
