// SPDX-License-Identifier: Apache-2.0
// The files of the repository, located relative to this file, so that the tests need no working directory.

import Foundation

enum Repository {
    /// The folder with the root's Package.swift.
    static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Paths below the root of all files except build products, downloads and git's own; sorted.
    static let files: [String] = {
        let prefix = root.standardizedFileURL.path + "/"
        var result: [String] = []
        var folders = [root.standardizedFileURL.path]
        while let folder = folders.popLast() {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
                if name == ".git" || name.hasPrefix(".build") || name == "__pycache__" { continue }
                let path = folder + "/" + name
                var isFolder: ObjCBool = false
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { continue }
                if isFolder.boolValue {
                    folders.append(path)
                } else {
                    result.append(String(path.dropFirst(prefix.count)))
                }
            }
        }
        return result.sorted()
    }()

    /// All Swift files except manifests, read and split once.
    static let swiftFiles: [SourceText] = files.compactMap { path in
        guard path.hasSuffix(".swift"), !path.hasSuffix("Package.swift") else { return nil }
        return SourceText(path: path, text: text(path))
    }

    /// The Swift files below Sources of the root package.
    static var sources: [SourceText] { swiftFiles.filter { $0.module != nil } }

    /// The Swift files of all packages, without tests.
    static var productCode: [SourceText] { swiftFiles.filter { !$0.path.contains("Tests/") } }

    /// The Markdown files.
    static var documents: [String] { files.filter { $0.hasSuffix(".md") } }

    static func text(_ path: String) -> String {
        (try? String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)) ?? ""
    }

    /// The lines of a list file that are neither empty nor comments.
    static func list(_ path: String) -> [String] {
        text(path).split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }
}
