// SPDX-License-Identifier: Apache-2.0
// The failure of a subcommand: a message on standard error that names the options of the command, and the exit code.

import ArgumentParser
import Foundation
import RealmSwift
import RegnumBackup
import RegnumInspect
import RegnumRealmFile
import RegnumRealmImport

/// The exit codes other than 0, and other than the argument parser's code 64 for invalid arguments.
enum Ending {
    /// The file cannot be used, or nothing was done.
    static let failure = ExitCode(1)
    /// The file is damaged, or objects are missing.
    static let damage = ExitCode(2)
}

/// A failure with a message for the user.
struct Refusal: Error, CustomStringConvertible {
    let description: String
    let ending: ExitCode
    init(_ description: String, ending: ExitCode = Ending.failure) {
        self.description = description
        self.ending = ending
    }
}

/// The message and the exit code of a failed subcommand.
struct Failure {
    var sentence: String
    var ending: ExitCode

    /// The failure for `error`, which occurred while the command worked on the file of `arguments`. If `isCheck` is
    /// true, a file that is not a database counts as damaged. `advice` says what to do with a damaged file, if the
    /// error does not.
    init(_ error: any Error, _ arguments: FileArguments, isCheck: Bool, advice: String) {
        let reason = (error as? Realm.Error)?.reason.rawValue ?? (error as? InspectionError)?.reason.rawValue
        let damage = ["damaged", "truncated"] + (isCheck ? ["notARealmFile", "tooSmall", "emptyFile"] : [])
        var ending = damage.contains(reason ?? "") ? Ending.damage : Ending.failure
        if let reason, Self.concerns(error, arguments), let known = Self.sentence(reason, arguments) {
            sentence = known
        } else if let error = error as? Realm.Error {
            sentence = error.localizedDescription
        } else if let error = error as? InspectionError {
            sentence = error.description
            if ending == Ending.damage { sentence += " " + advice }
        } else if let error = error as? RealmFileError {
            sentence = error.description + "."
            if error.code == .damaged || isCheck && error.code == .notARealmFile { ending = Ending.damage }
        } else if let error = error as? RealmFileImportError {
            sentence = error.message
        } else if let error = error as? BackupError {
            sentence = BackupText.sentence(error)
            if error.code == .damaged { ending = Ending.damage }
        } else if let error = error as? Refusal {
            sentence = error.description
            ending = error.ending
        } else {
            sentence = error.localizedDescription
        }
        self.ending = ending
    }

    static let advice =
        "Keep a copy of it, and restore it from a backup, or save what can be read with `regnum salvage FILE NEW`."

    /// False if the error names a file other than the argument, such as the output.
    private static func concerns(_ error: any Error, _ arguments: FileArguments) -> Bool {
        guard let url = (error as? Realm.Error)?.fileURL else { return true }
        return url.resolvingSymlinksInPath() == arguments.url.resolvingSymlinksInPath()
    }

    /// Returns the message for a reason whose library message names settings of a program; nil for other reasons.
    private static func sentence(_ reason: String, _ arguments: FileArguments) -> String? {
        let file = "'\(arguments.file)'"
        switch reason {
        case "encryptedWithoutKey":
            return "\(file) is encrypted: specify its key file with --key-file, or in the environment variable "
                + "\(KeySource.fileVariable)."
        case "wrongKey":
            return
                "\(file) was encrypted with a key other than that in \(arguments.keySource?.name ?? "no file"): "
                + "specify its key file with --key-file. The database is not damaged."
        case "notEncrypted": return "\(file) is not encrypted: \(arguments.keySource?.removal ?? "omit the key")."
        case "unavailableFeature":
            return "This build of regnum has no encryption: build it with the trait `Encryption`, the default."
        case "missingFolder", "parentIsNotAFolder":
            return "\(file): No such file or directory. A part of the path is missing, or is not a folder."
        case "missingFile": return "\(file): No such file or directory."
        case "isAFolder", "notARegularFile": return "\(file) is not a file: name the database file itself."
        case "noPermission":
            return "\(file), or its folder, may not be read or written by this user: use another account, or "
                + "--read-only for a file that may be read."
        case "emptyFile", "tooSmall":
            return "\(file) is empty or too short to be a Regnum database: restore it from a backup."
        case "notARealmFile":
            return "\(file) is not a Regnum database (header has invalid mnemonic), or its beginning was overwritten: "
                + "check the path, or restore it from a backup."
        case "olderRealmFile":
            return
                "\(file) is a Realm Core file, written by RealmSwift or another SDK of Realm: make a Regnum file of it "
                + "with `regnum import-realm OLD NEW`."
        case "newerFormat": return "\(file) was written by a newer version of Regnum: use the regnum of that version."
        case "noAddressSpace": return "\(file): there is no address space left to map it: raise the limit (ulimit -v)."
        case "tooManyFiles": return "\(file): too many open files: raise the limit (ulimit -n)."
        default: return nil
        }
    }
}

/// Runs a subcommand. On failure, writes the message to standard error and ends the process with the failure's exit
/// code.
func reporting(
    on arguments: FileArguments, isCheck: Bool = false, advice: String = Failure.advice, _ body: () throws -> Void
) throws {
    defer { Output.flush() }
    do { try body() } catch let ending as ExitCode { throw ending } catch let stop as Interruption.Stop {
        throw Interruption.end(stop)
    } catch {
        let failure = Failure(error, arguments, isCheck: isCheck, advice: advice)
        Output.complain("regnum: \(TerminalText.shown(failure.sentence))")
        if let lines = QueryCaret.lines(error) { Output.complain(lines) }
        throw failure.ending
    }
}
