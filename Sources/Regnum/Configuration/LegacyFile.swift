// SPDX-License-Identifier: Apache-2.0
// The hook that opening calls for a file in Realm's own format. Its only implementation is in the module
// RegnumRealmImport, which can read such files.

internal import Foundation

/// The action taken when a Realm is opened and the configuration's file is in Realm's own format. A value; can be used
/// on any thread.
///
/// The module `RegnumRealmImport` provides the value:
///
/// ```swift
/// import RegnumRealmImport
///
/// var configuration = Realm.Configuration.defaultConfiguration
/// configuration.legacyFile = .importing(keepOriginal: true)
/// let realm = try Realm(configuration: configuration)
/// ```
public struct LegacyFile: Sendable {
    /// Imports the file at the path, and replaces it with the new file. Returns false if the file is not in Realm's
    /// format.
    package let run: @Sendable (_ path: String, _ configuration: Realm.Configuration) throws -> Bool

    package init(run: @escaping @Sendable (_ path: String, _ configuration: Realm.Configuration) throws -> Bool) {
        self.run = run
    }
}

/// The properties that Regnum adds to `Realm.Configuration` for files in Realm's format. Your own members with the same
/// names take precedence.
public protocol LegacyFileSettings {}

extension Realm.Configuration: LegacyFileSettings {}

extension LegacyFileSettings where Self == Realm.Configuration {
    /// The action taken when the file is opened and is in Realm's own format. With nil, the default, opening such a
    /// file throws `.unsupportedFileFormatVersion`. Has no effect on files in Regnum's format, with `readOnly`, or in
    /// memory.
    public var legacyFile: LegacyFile? {
        get { self.extras.legacyFile }
        set { self.extras.legacyFile = newValue }
    }
}
