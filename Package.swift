// swift-tools-version: 6.2
// The libraries and their tests. Tools, benchmarks and examples are packages of their own (see
// Documentation/ARCHITECTURE.md), so that an app that uses Regnum resolves nothing it does not need.
import CompilerPluginSupport
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

/// A library that clients link. It names all modules below its own: SwiftPM compiles a client again only if a module that
/// the product names has changed (Scripts/product-modules).
func product(_ name: String, below: [String]) -> Product { .library(name: name, targets: [name] + below) }

/// The modules of the storage engine.
let engine = ["RegnumEngine", "RegnumSystem"]

/// The modules below Regnum.
let objects = ["RegnumObservation", "RegnumQuery"] + engine

func library(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(
    _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [], resources: [Resource]? = nil
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: exclude, resources: resources, swiftSettings: settings)
}

/// The files of the studio's page, which are embedded in the program.
let studioPage =
    ["index.html", "style.css", "icon.svg"]
    + [
        "api", "commands", "dom", "editor", "exchange", "format", "graph", "grid", "live", "main", "maintenance",
        "overlay", "panel", "query", "rows", "sidebar", "state", "values",
    ].map { "\($0).js" }

/// While working: `REGNUM_TESTS="RegnumEngineTests TidyTests" swift test` builds only these test targets.
let chosenTests = Context.environment["REGNUM_TESTS"].map { Set($0.split(separator: " ").map(String.init)) }

/// Apple's systems have Combine.
let publishers: TargetDependencyCondition? = .when(
    platforms: [.linux, .android, .windows, .openbsd], traits: ["Publishers"])

/// The libraries through which RegnumObservability reports.
let observability: TargetDependencyCondition? = .when(traits: ["Observability"])

/// The library with which the macros read and write source code.
let macros: TargetDependencyCondition? = .when(traits: ["Macros"])

/// The five articles use old spellings, which are deprecated on purpose.
let articleSettings = settings + [.treatWarning("DeprecatedDeclaration", as: .warning)]

/// The HTTP client with which RegnumBackup stores objects in S3.
let s3: TargetDependencyCondition? = .when(traits: ["S3"])

let package = Package(
    name: "regnum",
    products: [
        product("Regnum", below: objects),
        product("RealmSwift", below: ["Regnum"] + objects),
        product("RegnumInspect", below: objects),
        product("RegnumBackup", below: engine),
        product("RegnumStudio", below: ["RegnumInspect"] + objects),
        product("RegnumTestKit", below: ["RegnumRealmImport", "RegnumRealmFile", "Regnum", "RegnumSimulation"] + objects),
        product("RegnumReactive", below: ["Regnum"] + objects),
        product("RegnumObservability", below: ["Regnum"] + objects),
        product("RegnumMacros", below: ["Regnum"] + objects),
        product("RegnumMerge", below: []),
        product("RegnumRealmFile", below: ["RegnumSystem"]),
        product("RegnumRealmImport", below: ["RegnumRealmFile", "Regnum"] + objects),
    ],
    traits: [
        .trait(name: "Encryption", description: "Encrypted files, through swift-crypto."),
        .trait(name: "Publishers", description: "Combine publishers, through OpenCombine where Combine is missing."),
        .trait(name: "Observability", description: "Logs, metrics and traces, through the libraries of Swift servers."),
        .trait(name: "Macros", description: "The macro @Snapshot, through swift-syntax."),
        .trait(name: "Compression", description: "Compressed repositories of backups, through the system's zlib."),
        .trait(
            name: "S3", description: "Backups in S3 and services with its interface, through AsyncHTTPClient.",
            enabledTraits: ["Encryption"]),
        .default(enabledTraits: ["Encryption"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto.git", "3.12.3"..<"5.0.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.1.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.24.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.80.0"),
        .package(url: "https://github.com/swiftlang/swift-syntax.git", "602.0.0"..<"604.0.0"),
    ],
    targets: [
        library("RegnumSystem"),
        library("RegnumSimulation", ["RegnumSystem"]),
        library("RegnumEngine", [
            "RegnumSystem",
            .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
        ]),
        library("RegnumQuery", ["RegnumEngine"]),
        library("RegnumObservation", ["RegnumQuery", "RegnumEngine"]),
        library("Regnum", ["RegnumObservation", "RegnumQuery", "RegnumEngine", "RegnumSystem"]),
        library("RealmSwift", ["Regnum"]),
        library("RegnumInspect", ["RegnumObservation", "RegnumQuery", "RegnumEngine", "RegnumSystem"]),
        library("RegnumBackup", [
            "RegnumEngine", "RegnumSystem",
            .product(name: "AsyncHTTPClient", package: "async-http-client", condition: s3),
            .product(name: "NIOCore", package: "swift-nio", condition: s3),
            .product(name: "NIOHTTP1", package: "swift-nio", condition: s3),
            .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
            .target(name: "CZlib", condition: .when(traits: ["Compression"])),
        ]),
        .systemLibrary(
            name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"]), .yum(["zlib-devel"])]),
        .target(
            name: "RegnumStudio", dependencies: ["RegnumInspect", "RegnumQuery", "RegnumEngine", "RegnumSystem"],
            resources: studioPage.map { .embedInCode("Page/\($0)") }, swiftSettings: settings),
        library("RegnumMerge"),
        library("RegnumRealmFile", [
            "RegnumSystem",
            .product(name: "_CryptoExtras", package: "swift-crypto", condition: .when(traits: ["Encryption"])),
        ]),
        library("RegnumRealmImport",
            ["RegnumRealmFile", "Regnum", "RegnumQuery", "RegnumEngine", "RegnumSystem"]),
        library("RegnumTestKit", ["RegnumRealmImport", "Regnum", "RegnumSimulation", "RegnumSystem"]),
        library("RegnumReactive", [
            "Regnum",
            .product(name: "OpenCombine", package: "OpenCombine", condition: publishers),
            .product(name: "OpenCombineDispatch", package: "OpenCombine", condition: publishers),
        ]),
        library("RegnumObservability", [
            "Regnum", "RegnumSystem",
            .product(name: "Logging", package: "swift-log", condition: observability),
            .product(name: "CoreMetrics", package: "swift-metrics", condition: observability),
            .product(name: "Tracing", package: "swift-distributed-tracing", condition: observability),
        ]),
        .macro(
            name: "RegnumMacroPlugin",
            dependencies: [
                "SwiftCompilerPlugin", "SwiftDiagnostics", "SwiftSyntax", "SwiftSyntaxBuilder", "SwiftSyntaxMacros",
            ].map { .product(name: $0, package: "swift-syntax", condition: macros) },
            swiftSettings: settings),
        library("RegnumMacros", ["Regnum", .target(name: "RegnumMacroPlugin", condition: macros)]),

        tests("RegnumSystemTests", ["RegnumSystem"]),
        tests("RegnumSimulationTests", ["RegnumSimulation", "RegnumSystem"]),
        tests("RegnumEngineTests", ["RegnumEngine", "RegnumInspect", "RegnumSystem", "RegnumSimulation"]),
        tests("RegnumQueryTests", ["RegnumQuery", "RegnumEngine", "RegnumSystem", "RegnumSimulation"]),
        tests("RegnumObservationTests",
            ["RegnumObservation", "RegnumQuery", "RegnumEngine", "RegnumSystem", "RegnumSimulation"]),
        tests("RegnumTests", ["Regnum", "RegnumQuery", "RegnumEngine", "RegnumSystem"],
            exclude: ["Values/Decimal128Cases.txt"]),
        tests("IntegrationTests",
            [
                "RealmSwift", "Regnum", "RegnumBackup", "RegnumEngine", "RegnumSimulation", "RegnumSystem",
                "RegnumTestKit",
            ],
            resources: [.copy("Samples")]),
        .testTarget(name: "ArticleTests", dependencies: ["RealmSwift", "RegnumTestKit"],
            swiftSettings: articleSettings),
        // Swift 5 programs capture Realms in blocks of queues: warnings there.
        .testTarget(
            name: "SwiftFiveTests", dependencies: ["RealmSwift"], swiftSettings: [.swiftLanguageMode(.v5)]),
        tests("RegnumTestKitTests", ["RegnumTestKit", "Regnum"]),
        tests("RegnumReactiveTests", ["RegnumReactive", "Regnum", "RegnumTestKit"]),
        tests("RegnumObservabilityTests",
            [
                "RegnumObservability", "RealmSwift",
                .product(name: "Logging", package: "swift-log", condition: observability),
                .product(name: "InMemoryLogging", package: "swift-log", condition: observability),
                .product(name: "CoreMetrics", package: "swift-metrics", condition: observability),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: observability),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing", condition: observability),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: observability),
            ]),
        tests("RegnumMacrosTests", ["RegnumMacros", "RealmSwift", "RegnumTestKit"]),
        // Apart, because SwiftPM builds a test of a plugin, with all that it depends on, a second time as a tool.
        tests("RegnumMacroPluginTests",
            [
                .target(name: "RegnumMacroPlugin", condition: macros),
                .product(name: "SwiftSyntax", package: "swift-syntax", condition: macros),
                .product(name: "SwiftSyntaxBuilder", package: "swift-syntax", condition: macros),
                .product(name: "SwiftSyntaxMacroExpansion", package: "swift-syntax", condition: macros),
                .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax", condition: macros),
            ]),
        tests("RegnumInspectTests", ["RegnumInspect", "Regnum", "RegnumEngine", "RegnumSystem"]),
        tests("RegnumBackupTests", ["RegnumBackup", "RegnumEngine", "RegnumSimulation", "RegnumSystem"]),
        tests("RegnumStudioTests",
            ["RegnumStudio", "RegnumInspect", "Regnum", "RegnumQuery", "RegnumEngine", "RegnumSystem"]),
        tests("RegnumMergeTests", ["RegnumMerge", "RegnumSimulation", "RegnumSystem"]),
        tests("RegnumRealmFileTests", ["RegnumRealmFile", "RegnumSystem"], resources: [.copy("Fixtures")]),
        tests("RegnumRealmImportTests",
            [
                "RegnumRealmImport", "RegnumRealmFile", "RegnumTestKit", "RealmSwift", "Regnum", "RegnumEngine",
                "RegnumSystem",
            ]),
        tests("SimulationTests", ["RegnumEngine", "RegnumSystem", "RegnumSimulation"]),
        tests("TidyTests", [], exclude: ["RealmSwiftSymbols.txt", "Ratchet.txt"]),
    ].filter { !$0.isTest || chosenTests?.contains($0.name) ?? true }
)
