// SPDX-License-Identifier: Apache-2.0
// Says on standard error which process a command waits for, so that it does not seem to hang.

import Dispatch
import Foundation
import RegnumInspect

enum WriterWait {
    /// Runs a body that waits for other writers. After a second the process that is writing is named, if there is one.
    static func noticing<R>(_ arguments: FileArguments, _ body: () throws -> R) throws -> R {
        let (url, key, file) = (arguments.url, try arguments.key(), arguments.file)
        let timer = DispatchSource.makeTimerSource(queue: .global())
        timer.schedule(deadline: .now() + .seconds(1))
        timer.setEventHandler {
            let inspector = try? Inspector(fileURL: url, isReadOnly: true, encryptionKey: key)
            let processes = (try? inspector?.openProcesses()) ?? []
            let text = sentence(processes.filter(\.isWriting).map(\.process), file)
            if let text { Output.complain("regnum: \(TerminalText.shown(text))") }
        }
        timer.resume()
        defer { timer.cancel() }
        return try body()
    }

    /// The sentence for the processes that are writing, of which 0 is unknown; nil if only this process is.
    static func sentence(_ writers: [Int], _ file: String) -> String? {
        let own = Int(ProcessInfo.processInfo.processIdentifier)
        guard let writer = writers.first(where: { $0 != own }) else { return nil }
        let name = writer == 0 ? "another process" : "process \(writer)"
        return "waiting for \(name), which is writing to '\(file)'"
    }
}
