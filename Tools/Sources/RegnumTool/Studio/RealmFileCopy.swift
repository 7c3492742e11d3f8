// SPDX-License-Identifier: Apache-2.0
// A temporary copy, in the new format, of a file in Realm's own format.

import Foundation
import RegnumRealmImport

enum RealmFileCopy {
    /// Makes the copy, encrypted with the same key. The old file is only read.
    static func make(_ arguments: FileArguments, to url: URL) throws -> RealmFileImportReport {
        var job = RealmFileImport(from: arguments.url, to: url)
        job.sourceKey = try arguments.key()
        job.targetKey = job.sourceKey
        Interruption.watch()
        job.progress = {
            try Interruption.check()
            Output.progress($0.words)
        }
        defer { Output.progress(nil) }
        return try job.run()
    }
}
