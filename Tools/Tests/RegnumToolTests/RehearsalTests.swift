// SPDX-License-Identifier: Apache-2.0
// The program of a rehearsal: how it is named, what it gets, and how its end is seen.

import ArgumentParser
import Testing

@testable import RegnumTool

@Suite struct RehearsalTests {
    private func end(_ words: String...) throws -> RehearsedProgram.End {
        try RehearsedProgram(words).run(on: "/tmp/a b.realm")
    }

    @Test("The path replaces whole arguments only, and is in the environment")
    func path() throws {
        let script = #"test "$1" = "/tmp/a b.realm" && test "$2" = "x{}" && test "$REGNUM_FILE" = "$1""#
        let byPath = try end("/bin/sh", "-c", script, "sh", "{}", "x{}")
        #expect(byPath.isSuccess && byPath.milliseconds >= 0)
        let byName = try end("sh", "-c", script, "sh", "{}", "x{}")
        #expect(byName.isSuccess)
    }

    @Test("A program that fails has a status, and one that a signal ends has a signal")
    func ends() throws {
        let failed = try end("sh", "-c", "exit 7")
        #expect(failed.status == 7 && !failed.isSignal && !failed.isSuccess)
        let killed = try end("sh", "-c", "kill -9 $$")
        #expect(killed.status == 9 && killed.isSignal && !killed.isSuccess)
    }

    @Test("It gets no input")
    func input() throws {
        let reading = try end("cat")
        #expect(reading.isSuccess)
    }

    @Test("A folder, an unknown name and an empty one are not programs", arguments: ["/tmp", "no-such-program", ""])
    func unknown(_ name: String) { #expect(throws: Refusal.self) { try RehearsedProgram([name]) } }

    @Test("All after -- belongs to the program")
    func arguments() throws {
        let command = try MigrateRehearseCommand.parse(["a.realm", "--json", "--", "app", "--help", "--keep", "{}"])
        #expect(command.program == ["app", "--help", "--keep", "{}"])
        #expect(command.json && command.keep == nil && command.arguments.file == "a.realm")
        for arguments in [["a.realm"], ["a.realm", "--"], ["a.realm", "app"], ["--", "app"]] {
            #expect(throws: (any Error).self, "\(arguments)") { try MigrateRehearseCommand.parse(arguments) }
        }
    }
}
