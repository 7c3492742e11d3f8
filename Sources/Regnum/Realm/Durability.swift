// SPDX-License-Identifier: Apache-2.0
// What a commit waits for, as programs choose it.

public import Foundation
internal import RegnumEngine

/// What a write to a file has achieved when it returns. Every level is atomic: after a power loss a write is there as a
/// whole, with all before it, or not at all. No level loses anything when a process ends or is killed.
public enum Durability: Sendable, Hashable {
    /// As `full`, with a second wait for the medium, so that nothing rests on a checksum.
    case paranoid
    /// The write is on the medium. Writes of several threads share one wait. The default.
    case full
    /// The write is visible to all, and on the medium within about a second, when the last Realm of the file in the
    /// process is closed, or with the next `full` write of anybody. A power loss may take back the last second's
    /// writes; where the process is killed within that second, those that the system has not yet written by itself.
    /// Many times faster than `full` for small writes.
    case relaxed

    var level: CommitDurability {
        switch self {
        case .paranoid: .paranoid
        case .full: .full
        case .relaxed: .relaxed
        }
    }
}

/// What Regnum adds to `Realm.Configuration`. Members of a program's own with the same names win.
public protocol ConfigurationCare {}

extension Realm.Configuration: ConfigurationCare {}

extension ConfigurationCare where Self == Realm.Configuration {
    /// What the writes of the Realm wait for; `full` unless set. Without meaning for Realms in memory. Realms of one
    /// file may differ in it: the one that was opened first on a thread or queue decides there.
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

    /// How long an opening and a write wait for other processes and threads, in seconds, before they throw `Realm.Error`
    /// with the reason `.busy`, which names who was waited for. Nil, the default: an opening waits 30 seconds, and a write
    /// as long as it takes, as in RealmSwift. `beginWrite()`, which cannot throw, ends the program after that time, so
    /// programs that set a limit write with `write`. The first Realm of a file in the process decides. Without meaning for
    /// Realms in memory.
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
