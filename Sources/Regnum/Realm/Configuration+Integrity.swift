// SPDX-License-Identifier: Apache-2.0
// The integrity check over the data that a configuration names, for tests.

internal import RegnumEngine
internal import RegnumSystem

extension Realm.Configuration {
    /// What the integrity check finds wrong, one sentence each; empty where all is well. A file is opened
    /// anew, as another process would, so nothing that this process has cached can hide damage. A file that
    /// is missing or cannot be opened is a finding.
    ///
    /// Waits until nobody writes. Misuse where the calling thread itself writes. Reads everything: O(file).
    package func integrityFindings() -> [String] {
        let place: Place
        do { place = try validated() } catch { return ["\(error)"] }
        let key = RealmCache.Key(
            place: place, confinement: .current,
            types: objectTypes.map { Set($0.map { ObjectIdentifier($0) }) })
        if RealmCache.shared.core(at: key)?.isWriting == true {
            misuse(
                "Cannot check the integrity of '\(place.name)' inside a write transaction: commit it first.")
        }
        do throws(EngineError) {
            let database: Database
            switch place {
            case .memory(let identifier): database = try Database.openInMemory(identifier: identifier)
            case .file(let path):
                guard (try? files.status(path)) != nil else {
                    return ["There is no file at '\(path)'."]
                }
                var options = Database.OpenOptions(isReadOnly: readOnly)
                options.encryptionKey = engineKey
                database = try Database.openAsOtherProcess(
                    path: path, fileSystem: files, options: options)
            }
            return IntegrityCheck.run(database).findings.map(\.description)
        } catch { return ["'\(place.name)' cannot be opened: \(error)"] }
    }
}
