// SPDX-License-Identifier: Apache-2.0
// Runs the program of a rehearsal without a shell: its output goes to standard error, and it gets the signals.

import Dispatch
import Foundation

struct RehearsedProgram {
    /// The environment variable with the path of the file.
    static let fileVariable = "REGNUM_FILE"

    /// How the program has ended.
    struct End {
        /// The exit status, or the signal that ended it.
        var status: Int32
        var isSignal: Bool
        var milliseconds: Int

        var isSuccess: Bool { status == 0 && !isSignal }
        var text: String { "ended \(isSignal ? "by signal" : "with status") \(status) after \(milliseconds) ms" }
    }

    let name: String
    private let path: String
    private let arguments: [String]

    /// Finds the program that the first word names, in the folders of PATH if it is a name without a slash.
    init(_ words: [String]) throws {
        name = words[0]
        arguments = Array(words.dropFirst())
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let paths = name.contains("/") ? [name] : folders.map { "\($0)/\(words[0])" }
        let found = paths.first { FileKind($0) == .file && FileManager.default.isExecutableFile(atPath: $0) }
        guard let found else {
            throw Refusal("'\(name)' is not a program: give its path, or the name of one in a folder of PATH.")
        }
        path = found
    }

    /// Runs it to its end, with `file` in place of each argument `{}` and in the environment variable. Throws `Refusal`
    /// if it cannot be started, and `Interruption.Stop` after its end if a signal was forwarded to it.
    func run(on file: String) throws -> End {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments.map { $0 == "{}" ? file : $0 }
        process.environment = ProcessInfo.processInfo.environment.merging([Self.fileVariable: file]) { $1 }
        // It is in a process group of its own, which may not read from the terminal.
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.standardError
        let ended = DispatchSemaphore(value: 0)
        process.terminationHandler = { _ in ended.signal() }
        let start = ContinuousClock.now
        try startWithClosedPipe(process)
        var stop: Interruption.Stop?
        while ended.wait(timeout: .now() + .milliseconds(20)) == .timedOut {
            do { try Interruption.check() } catch let caught as Interruption.Stop {
                stop = caught
                // The next signal is forwarded, too.
                Interruption.watch()
                let identifier = process.processIdentifier
                // Its own programs get it as well, as from a terminal. One that was stopped, such as by reading from
                // the terminal, gets it when it continues.
                for number in [caught.signal, SIGCONT] where kill(-identifier, number) != 0 { kill(identifier, number) }
            }
        }
        if let stop { throw stop }
        let duration = ContinuousClock.now - start
        return End(
            status: process.terminationStatus, isSignal: process.terminationReason == .uncaughtSignal,
            milliseconds: Int(duration / .milliseconds(1)))
    }

    /// The program expects the default effect of a closed pipe.
    private func startWithClosedPipe(_ process: Process) throws {
        Output.restoreClosedPipe()
        defer { Output.ignoreClosedPipe() }
        do { try process.run() } catch {
            throw Refusal("The program '\(name)' cannot be started: \(error.localizedDescription)")
        }
    }
}
