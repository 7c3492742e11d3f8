// SPDX-License-Identifier: Apache-2.0
// The subcommand studio: serves the web page of RegnumStudio.

import ArgumentParser
import Foundation
import RegnumInspect
import RegnumStudio

struct StudioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "studio", abstract: "Serves a web page to look into a file, and to edit it.",
        discussion: """
            regnum studio people.realm

            Prints the address of the page and opens it in a browser. The address contains a secret, without which \
            nothing can be read. The file is only read until editing is switched on in the page; with --read-only it \
            cannot be. Other programs may use the file meanwhile: the page shows their changes.

            A file in Realm's own format is shown from a temporary copy in the new format, and is not changed.

            The page is served to this machine only. For other machines --host names the address to listen on, and \
            --token-file the file that has the secret; put a server with TLS before it, as the connection is not \
            encrypted.

            Ends with 0 at an interrupt (control-C).
            """)

    @OptionGroup var arguments: FileArguments
    @Option(help: "The port; by default a free one, which is the same for a file each time if possible.")
    var port: UInt16?
    @Option(help: "The IP address to listen on, with --token-file; by default only this machine reaches the page.")
    var host: String?
    @Option(help: "Another name under which browsers reach the page; may be given several times.")
    var name: [String] = []
    @Option(
        help: "A file with the secret, of 32 characters or more: letters, digits, - and _. Others must not read it.",
        completion: .file())
    var tokenFile: String?
    @Flag(help: "Do not open a browser.") var noBrowser = false
    @Flag(help: "Print the address and the process as one JSON object.") var json = false

    func validate() throws {
        if let host, !StudioServer.isLoopback(host), tokenFile == nil {
            throw ValidationError("--host needs --token-file: the page is no longer for this machine only.")
        }
    }

    func run() throws {
        try reporting(on: arguments) {
            let token = try tokenFile.map { try StudioToken.read($0) } ?? Studio.makeToken()
            let shown = try ShownFile.of(arguments)
            defer { shown.remove() }
            var options = StudioOptions(fileURL: shown.url, encryptionKey: try arguments.key(), token: token)
            options.name = arguments.url.lastPathComponent
            options.note = shown.note
            options.allowsEditing = shown.note == nil && !arguments.readOnly
            if let host { options.hosts?.formUnion(StudioServer.names(host)) }
            options.hosts?.formUnion(name)
            Interruption.watch()
            let (server, page) = try serve(Studio(options))
            defer { server.stop() }
            let address = page + "/#token=\(token)"
            if json {
                let process = Int(ProcessInfo.processInfo.processIdentifier)
                Output().write(JSONLine.text([("address", .string(address)), ("process", .number(process))]))
            } else {
                Output().line(address)
            }
            Output.flush()
            let opening = noBrowser || json ? nil : BrowserOpening(address)
            defer { opening?.remove() }
            while !Interruption.isRequested { try server.wait() }
        }
    }

    /// Begins to serve. Browsers keep the saved queries and the columns of the grid for an address, so the port is the
    /// same for a file each time unless it is taken.
    private func serve(_ studio: Studio) throws -> (server: StudioServer, page: String) {
        let host = host ?? "127.0.0.1"
        if port == nil {
            let usual = try StudioServer(studio, host: host, port: StudioServer.usualPort(arguments.url.path))
            if let page = try? usual.start() { return (usual, page) }
        }
        let server = try StudioServer(studio, host: host, port: port ?? 0)
        return (server, try server.start())
    }
}

/// The file that the studio shows: the argument, or a copy of a file in Realm's own format.
private struct ShownFile {
    let url: URL
    let note: String?
    /// The folder of the copy.
    let folder: URL?

    /// Throws the error of a file that cannot be opened. A damaged file is shown as far as it can be read.
    static func of(_ arguments: FileArguments) throws -> ShownFile {
        do {
            _ = try Inspector(fileURL: arguments.url, isReadOnly: true, encryptionKey: try arguments.key())
            return ShownFile(url: arguments.url, note: nil, folder: nil)
        } catch let error as InspectionError where error.reason == .olderRealmFile {
            return try copy(arguments)
        }
    }

    private static func copy(_ arguments: FileArguments) throws -> ShownFile {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("regnum-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let url = folder.appendingPathComponent("copy.realm")
        do {
            let report = try RealmFileCopy.make(arguments, to: url)
            let note = report.isComplete ? "Shown from a copy" : "Shown from a copy that lacks values"
            return ShownFile(url: url, note: note + ": this is a file of Realm", folder: folder)
        } catch {
            try? FileManager.default.removeItem(at: folder)
            throw error
        }
    }

    func remove() { if let folder { try? FileManager.default.removeItem(at: folder) } }
}

/// The secret in a file.
enum StudioToken {
    static func read(_ path: String) throws -> String {
        let text: String
        do { text = try String(contentsOfFile: path, encoding: .utf8) } catch {
            throw Refusal("The token file '\(path)' cannot be read: \(error.localizedDescription)")
        }
        let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard token.utf8.count >= 32, token.utf8.allSatisfy(isAllowed) else {
            throw Refusal(
                "The token file '\(path)' needs 32 or more characters: letters, digits, - and _. Make a new one: "
                    + "(umask 077; set -C; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \\n' > studio.token)")
        }
        let permissions = try? FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
        if let bits = permissions?.intValue, bits & 0o077 != 0 {
            throw Refusal("Others may read the token file '\(path)': forbid it with chmod 600.")
        }
        return token
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
