// SPDX-License-Identifier: Apache-2.0
// The durability levels of a commit. What each level does: `Commit.swift`, `enlist`.

public import Foundation
internal import RegnumEngine

/// What is guaranteed when a write to a file returns. Every level is atomic: after a power loss, a write is present as
/// a whole, together with all earlier ones, or not at all. No level loses data when a process ends or is killed.
public enum Durability: Sendable, Hashable {
    /// Like `full`, but with a second sync, so that durability does not depend on a checksum.
    case paranoid
    /// The write is on stable storage. Writes by several threads share one sync. The default.
    case full
    /// The write is visible to all. It reaches stable storage within about a second, when the last Realm of the file in
    /// the process is closed, or with the next `full` write of any thread or process. A power loss may undo the writes
    /// of the last second. If the process is killed within that second, a later power loss may also undo the writes
    /// that the operating system has not yet written on its own. Many times faster than `full` for small writes.
    case relaxed

    var level: CommitDurability {
        switch self {
        case .paranoid: .paranoid
        case .full: .full
        case .relaxed: .relaxed
        }
    }
}

/// Additions of Regnum to `Realm.Configuration`. A program's own members of the same names take precedence.
public protocol ConfigurationAdditions {}

extension Realm.Configuration: ConfigurationAdditions {}

extension ConfigurationAdditions where Self == Realm.Configuration {
    /// The durability of this Realm's writes; `full` by default. Has no effect on in-memory Realms. Realms of one file
    /// may use different levels; on a given thread or queue, the Realm that was opened first decides.
    public var durability: Durability {
        get {
            let configuration: Realm.Configuration = self
            return configuration.storedDurability
        }
        set {
            var configuration: Realm.Configuration = self
            configuration.storedDurability = newValue
            self = configuration
        }
    }

    /// How long opening and writing wait for other processes and threads, in seconds, before they throw `Realm.Error`
    /// with the reason `.busy`; the error names the thread or process waited for.
    ///
    /// Nil, the default: opening waits 30 seconds, and a write waits as long as necessary, as in RealmSwift.
    /// `beginWrite()`, which cannot throw, ends the program when the time is up; programs that set a limit should
    /// therefore write with `write`. The first Realm of a file in the process decides. Has no effect on in-memory
    /// Realms.
    public var busyTimeout: TimeInterval? {
        get {
            let configuration: Realm.Configuration = self
            return configuration.storedBusyTimeout
        }
        set {
            var configuration: Realm.Configuration = self
            configuration.storedBusyTimeout = newValue
            self = configuration
        }
    }
}
