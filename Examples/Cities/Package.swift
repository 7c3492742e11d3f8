// swift-tools-version: 6.2
// The first example: real cities in a real file, with links, lists and queries.
import PackageDescription

let package = Package(
    name: "cities",
    platforms: [.macOS(.v13)],
    dependencies: [
        .package(name: "regnum", path: "../..", traits: []),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        .executableTarget(
            name: "cities",
            dependencies: [
                .product(name: "RealmSwift", package: "regnum"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            resources: [.copy("Resources")],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .treatAllWarnings(as: .error),
            ]
        )
    ]
)
