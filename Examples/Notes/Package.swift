// swift-tools-version: 6.2
// A note manager with pictures: a library, built test first after an article, and a web page on top of it.
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "notes",
    platforms: [.macOS(.v15)],
    products: [.library(name: "Notes", targets: ["Notes"])],
    dependencies: [
        .package(name: "regnum", path: "../..", traits: []),
        .package(url: "https://github.com/swhitty/FlyingFox.git", from: "0.27.1"),
    ],
    targets: [
        .systemLibrary(name: "CGD", providers: [.apt(["libgd-dev"]), .brew(["gd"])]),
        .target(
            name: "Notes", dependencies: ["CGD", .product(name: "RealmSwift", package: "regnum")],
            swiftSettings: settings),
        .executableTarget(
            name: "notes-server",
            dependencies: [
                "Notes", .product(name: "RealmSwift", package: "regnum"),
                .product(name: "RegnumStudio", package: "regnum"),
                .product(name: "FlyingFox", package: "FlyingFox"),
            ],
            resources: [.embedInCode("index.html")], swiftSettings: settings),
        .testTarget(
            name: "NotesTests", dependencies: ["Notes", .product(name: "RealmSwift", package: "regnum")],
            swiftSettings: settings),
    ]
)
