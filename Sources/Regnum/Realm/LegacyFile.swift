// SPDX-License-Identifier: Apache-2.0
// What becomes of a file in Realm's own format when it is opened. Only a hook: the module RegnumRealmImport, which can read
// such files, provides the one value that there is.

internal import Foundation

/// Says what is done when the configuration's file is one that Realm itself has written.
///
/// The module `RegnumRealmImport` has the value to set:
///
/// ```swift
/// import RegnumRealmImport
///
/// var configuration = Realm.Configuration.defaultConfiguration
/// configuration.legacyFile = .importing(keepOriginal: true)
/// let realm = try Realm(configuration: configuration)
/// ```
public struct LegacyFile: Sendable {
    /// Imports the file at the path and puts the new one in its place. False if it is not a file in Realm's format.
    package let run: @Sendable (_ path: String, _ configuration: Realm.Configuration) throws -> Bool

    package init(run: @escaping @Sendable (_ path: String, _ configuration: Realm.Configuration) throws -> Bool) {
        self.run = run
    }
}

/// What Regnum adds to `Realm.Configuration` for files of Realm. Members of your own with these names win.
public protocol LegacyFileSettings {}

extension Realm.Configuration: LegacyFileSettings {}

extension LegacyFileSettings where Self == Realm.Configuration {
    /// How a file in Realm's own format is brought into Regnum's when it is opened; nil, the default, to refuse it with
    /// `.unsupportedFileFormatVersion`. Of no effect on files that are Regnum's already, with `readOnly`, and in memory.
    public var legacyFile: LegacyFile? {
        get { self.extras.legacyFile }
        set { self.extras.legacyFile = newValue }
    }
}
