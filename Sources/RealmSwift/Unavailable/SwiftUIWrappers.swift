// SPDX-License-Identifier: Apache-2.0
// The property wrappers of RealmSwift for SwiftUI, on systems without SwiftUI: the compiler says at the user's line what
// to write instead.

#if !canImport(SwiftUI)
    /// Results that a SwiftUI view observes.
    @available(*, unavailable, message: "it needs SwiftUI: keep realm.objects(_:), and call observe { } or changes()")
    @propertyWrapper
    public struct ObservedResults<ResultType: Object> {
        public init(
            _ type: ResultType.Type, configuration: Realm.Configuration? = nil, filter: NSPredicate? = nil,
            keyPaths: [String]? = nil, sortDescriptor: SortDescriptor? = nil
        ) { fatalError("unavailable") }
        public init(
            _ type: ResultType.Type, configuration: Realm.Configuration? = nil,
            where: @escaping (Query<ResultType>) -> Query<Bool>, keyPaths: [String]? = nil,
            sortDescriptor: SortDescriptor? = nil
        ) { fatalError("unavailable") }
        public var wrappedValue: Results<ResultType> { fatalError("unavailable") }
        public var projectedValue: Self { self }
    }

    /// Sectioned results that a SwiftUI view observes.
    @available(*, unavailable, message: "it needs SwiftUI: keep results.sectioned(by:), and call observe { }")
    @propertyWrapper
    public struct ObservedSectionedResults<Key: Hashable, ResultType: Object> {
        public init(
            _ type: ResultType.Type, sectionKeyPath: KeyPath<ResultType, Key>,
            sortDescriptors: [SortDescriptor] = [], filter: NSPredicate? = nil, keyPaths: [String]? = nil,
            configuration: Realm.Configuration? = nil
        ) { fatalError("unavailable") }
        public var wrappedValue: Results<ResultType> { fatalError("unavailable") }
        public var projectedValue: Self { self }
    }

    /// An object that a SwiftUI view observes.
    @available(*, unavailable, message: "it needs SwiftUI: keep the object, and call observe { }")
    @propertyWrapper
    public struct ObservedRealmObject<ObjectType> {
        public var wrappedValue: ObjectType
        public init(wrappedValue: ObjectType) { self.wrappedValue = wrappedValue }
        public var projectedValue: Self { self }
    }

    /// An object that a SwiftUI view owns.
    @available(*, unavailable, message: "it needs SwiftUI: keep the object, and call observe { }")
    @propertyWrapper
    public struct StateRealmObject<T> {
        public var wrappedValue: T
        public init(wrappedValue: T) { self.wrappedValue = wrappedValue }
        public var projectedValue: Self { self }
    }

    /// Opens a synchronised file for a SwiftUI view.
    @available(*, unavailable, message: "it needs SwiftUI and Atlas: write try await Realm.open(configuration:)")
    @propertyWrapper
    public struct AsyncOpen {
        public init(appId: String? = nil, timeout: UInt? = nil) {}
        public var wrappedValue: Realm? { nil }
    }

    /// Opens a synchronised file for a SwiftUI view, without a connection too.
    @available(*, unavailable, message: "it needs SwiftUI and Atlas: write try await Realm.open(configuration:)")
    @propertyWrapper
    public struct AutoOpen {
        public init(appId: String? = nil, timeout: UInt? = nil) {}
        public var wrappedValue: Realm? { nil }
    }
#endif
