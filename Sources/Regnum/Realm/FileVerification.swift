// SPDX-License-Identifier: Apache-2.0
// When the blocks of a file are compared with their checksums, as programs choose it.

internal import RegnumEngine

/// When a file is proved to be whole. Damage that a property, a collection or a query meets ends the program, because
/// those calls cannot throw; a proof finds it before. See <doc:DamagedFiles>.
public enum FileVerification: Sendable, Hashable {
    /// Opening compares every block of the newest version, and throws `.invalidDatabase` where one is damaged. It reads
    /// the file once in a process, at some GB a second from memory, else as fast as the disk reads.
    case atOpening
    /// Opening returns as with `onFirstUse`, and a thread then compares every block, a quarter of its time, while a Realm
    /// of the file is open in the process. Damage goes to the logger and to `Realm.onDamage`, and the program goes on;
    /// opening the file again with `atOpening` or `inBackground` throws then.
    case inBackground
    /// Each block is compared when it is first read in the process. Files of up to 16 MiB are read whole when they are
    /// opened, as with `atOpening`. The default.
    case onFirstUse
}

extension ConfigurationCare where Self == Realm.Configuration {
    /// When the file is proved to be whole; `onFirstUse` unless set. Without meaning for Realms in memory. Realms of one
    /// file may differ in it; the file is proved once in a process. An encrypted file is decrypted into memory as far
    /// as it is proved.
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
    /// Proves the file as `configuration` says. Throws `Realm.Error`.
    func verify(_ configuration: Realm.Configuration) throws {
        do throws(EngineError) {
            switch configuration.storedVerification {
            case .onFirstUse: return
            case .atOpening: try database.prove()
            case .inBackground:
                // Nil where it is done.
                proof = try database.proveInBackground { [name = place.name] error in
                    DamageHandler.report(Realm.Error(using: name, doing: "verify", error))
                }
            }
        } catch { throw Realm.Error(opening: place.name, readOnly: configuration.readOnly, error) }
    }
}
