// swift-tools-version: 6.2
// A web service on one file: entries that are stored, searched, listed in pages and observed.
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6), .enableUpcomingFeature("ExistentialAny"), .treatAllWarnings(as: .error),
]
let libraries: [Target.Dependency] = [
    .product(name: "RealmSwift", package: "regnum"),
    .product(name: "Hummingbird", package: "hummingbird"),
    .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
    .product(name: "Logging", package: "swift-log"),
]

let package = Package(
    name: "service",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "regnum", path: "../..", traits: []),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms.git", from: "1.0.2"),
    ],
    targets: [
        .target(
            name: "Entries",
            dependencies: [.product(name: "AsyncAlgorithms", package: "swift-async-algorithms")] + libraries,
            swiftSettings: settings),
        .executableTarget(name: "service", dependencies: ["Entries"] + libraries, swiftSettings: settings),
        .testTarget(
            name: "EntriesTests",
            dependencies: ["Entries", .product(name: "HummingbirdTesting", package: "hummingbird")] + libraries,
            swiftSettings: settings),
    ]
)
