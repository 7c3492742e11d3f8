// SPDX-License-Identifier: Apache-2.0
// Opens an address with a secret in the user's browser. The list of processes shows the arguments of a program to all
// users, so the browser gets a file that only this user can read, which leads on to the address.

import Foundation

struct BrowserOpening {
    private let folder: URL

    /// Nil if no program opens files, or no screen is known. Does not wait.
    init?(_ address: String) {
        guard let program = Self.program else { return nil }
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-\(UUID().uuidString)")
        let page = folder.appendingPathComponent("studio.html")
        let html = "<!DOCTYPE html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url=\(address)\">"
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            guard
                FileManager.default.createFile(
                    atPath: page.path, contents: Data(html.utf8), attributes: [.posixPermissions: 0o600])
            else { throw CocoaError(.fileWriteUnknown) }
            let process = Process()
            process.executableURL = URL(fileURLWithPath: program)
            process.arguments = [page.path]
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try process.run()
        } catch {
            try? FileManager.default.removeItem(at: folder)
            return nil
        }
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    private static var program: String? {
        #if os(macOS)
            return "/usr/bin/open"
        #else
            let environment = ProcessInfo.processInfo.environment
            guard environment["DISPLAY"] != nil || environment["WAYLAND_DISPLAY"] != nil else { return nil }
            let folders = (environment["PATH"] ?? "").split(separator: ":")
            return folders.map { "\($0)/xdg-open" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        #endif
    }
}
