// SPDX-License-Identifier: Apache-2.0
// The integrity check over the data that a configuration names, for tests.

internal import RegnumEngine
internal import RegnumSystem

extension Realm.Configuration {
    /// The findings of the integrity check, one sentence each; empty if the file is intact. The file is opened
    /// separately, as another process would open it, so that nothing cached in this process can hide damage. A file
    /// that is missing or cannot be opened is a finding.
    ///
    /// Waits for running writes to end. It is a programmer error if the calling thread is writing. Reads everything:
    /// O(file).
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
