// swift-tools-version: 6.2
// The command `regnum`: looks into database files and changes them. A package of its own, so that no client resolves
// what only a command needs.
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "tools",
    platforms: [.macOS(.v13)],
    products: [.executable(name: "regnum", targets: ["RegnumTool"])],
    traits: [
        .trait(name: "Encryption", description: "Encrypted files, through swift-crypto."),
        .trait(name: "Compression", description: "Compressed repositories of backups, through the system's zlib."),
        .trait(name: "S3", description: "Repositories of backups in S3, through AsyncHTTPClient."),
        // One only: with several, SwiftPM 6.3 compiles everything again at random (Scripts/ci/lib.sh).
        .default(enabledTraits: ["Encryption"]),
    ],
    dependencies: [
        .package(
            name: "regnum", path: "..",
            traits: [
                .trait(name: "Encryption", condition: .when(traits: ["Encryption"])),
                .trait(name: "Compression", condition: .when(traits: ["Compression"])),
                .trait(name: "S3", condition: .when(traits: ["S3"])),
            ]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
        .package(url: "https://github.com/swhitty/FlyingFox.git", from: "0.27.1"),
    ],
    targets: [
        .executableTarget(
            name: "RegnumTool",
            dependencies: [
                .product(name: "RealmSwift", package: "regnum"),
                .product(name: "RegnumInspect", package: "regnum"),
                .product(name: "RegnumBackup", package: "regnum"),
                .product(name: "RegnumRealmFile", package: "regnum"),
                .product(name: "RegnumRealmImport", package: "regnum"),
                .product(name: "RegnumStudio", package: "regnum"),
                .product(name: "FlyingFox", package: "FlyingFox"),
                .product(name: "FlyingSocks", package: "FlyingFox"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        .testTarget(name: "RegnumToolTests", dependencies: ["RegnumTool"], swiftSettings: settings),
    ]
)
