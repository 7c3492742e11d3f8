// swift-tools-version: 6.2
// Regnum measured beside SQLite and GRDB in one process; a package of its own, so that no client resolves GRDB.
import PackageDescription

let package = Package(
    name: "benchmarks",
    platforms: [.macOS(.v13)],
    products: [.executable(name: "bench", targets: ["bench"])],
    // Off by default, as only `bench encryption` needs it, and swift-crypto takes minutes to build.
    traits: [
        .trait(name: "Encryption", description: "Encrypted files, through swift-crypto."),
        .trait(name: "Compression", description: "Compressed repositories of backups, through the system's zlib."),
        .default(enabledTraits: []),
    ],
    dependencies: [
        .package(
            name: "regnum", path: "..",
            traits: [
                .trait(name: "Encryption", condition: .when(traits: ["Encryption"])),
                .trait(name: "Compression", condition: .when(traits: ["Compression"])),
            ]),
        .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CSQLite",
                .product(name: "RealmSwift", package: "regnum"),
                .product(name: "RegnumBackup", package: "regnum"),
                .product(name: "RegnumRealmFile", package: "regnum"),
                .product(name: "RegnumRealmImport", package: "regnum"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .treatAllWarnings(as: .error),
            ]
        ),
    ]
)
