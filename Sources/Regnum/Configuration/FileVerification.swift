// SPDX-License-Identifier: Apache-2.0
// When the blocks of a file are verified against their checksums.

internal import RegnumEngine

/// When a file is verified. Damage that a property, a collection or a query encounters ends the program, because those
/// calls cannot throw; verification finds it earlier. See <doc:DamagedFiles>.
public enum FileVerification: Sendable, Hashable {
    /// Opening verifies every block of the newest version, and throws `.invalidDatabase` if one is damaged. The file is
    /// read once per process: at several GB per second from memory, otherwise at the speed of the disk.
    case atOpening
    /// Opening returns as with `onFirstUse`. A thread then verifies every block while a Realm of the file is open in
    /// the process; it works a quarter of the time. Damage is reported to the logger and to `Realm.onDamage`, and the
    /// program continues; opening the file again with `atOpening` or `inBackground` then throws.
    case inBackground
    /// Each block is verified when the process first reads it. Files of up to 16 MiB are read whole when they are
    /// opened, as with `atOpening`. The default.
    case onFirstUse
}

extension ConfigurationAdditions where Self == Realm.Configuration {
    /// When the file is verified; `onFirstUse` by default. Has no effect on in-memory Realms. Realms of one file may
    /// use different settings; the file is verified once per process. The verified part of an encrypted file is
    /// decrypted into memory.
    public var verify: FileVerification {
        get {
            let configuration: Realm.Configuration = self
            return configuration.storedVerification
        }
        set {
            var configuration: Realm.Configuration = self
            configuration.storedVerification = newValue
            self = configuration
        }
    }
}

extension RealmSettings {
    /// Verifies the file as `configuration` requires. Throws `Realm.Error`.
    func verify(_ configuration: Realm.Configuration) throws {
        do throws(EngineError) {
            switch configuration.storedVerification {
            case .onFirstUse: return
            case .atOpening: try database.prove()
            case .inBackground:
                // Nil if the file is already verified.
                proof = try database.proveInBackground { [name = place.name] error in
                    DamageHandler.report(Realm.Error(using: name, doing: "verify", error))
                }
            }
        } catch { throw Realm.Error(opening: place.name, readOnly: configuration.readOnly, error) }
    }
}
