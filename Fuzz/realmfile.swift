// SPDX-License-Identifier: Apache-2.0
// The reader of files in Realm's format: a small file of a format from 2 to 24 is changed, and all that it still has is
// read: each value, and the object of each link.

import Foundation
import RegnumRealmFile

private let samples: [[UInt8]] = {
    let clusters: [(UInt8, @Sendable (inout FileBuilder) -> [(String, Int64)])] = [11, 20, 24].map {
        ($0, ClusterSamples.people)
    }
    let columns = OldFormatSamples.all.flatMap { sample in [2, 9].map { (UInt8($0), sample) } }
    return (clusters + columns).map { format, sample in
        var builder = FileBuilder(format: format)
        let tables = sample(&builder)
        return builder.file(tables: tables)
    }
}()

private let url = FileManager.default.temporaryDirectory.appendingPathComponent("fuzz-\(getpid()).realm")

@_cdecl("LLVMFuzzerTestOneInput") public func fuzzRealmFile(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(start, count)
    var bytes = samples[Int(input.byte()) % samples.count]
    while !input.isEmpty { input.change(&bytes, from: 0, to: bytes.count) }
    do {
        try Data(bytes).write(to: url)
        let file = try RealmFile(url: url)
        for table in file.tables { read(table, of: file) }
    } catch {
        check(error)
    }
    return 0
}

/// Reads a table up to its first damage.
private func read(_ table: RealmFileTable, of file: RealmFile) {
    do {
        try file.forEachObject(of: table) { object in
            for value in try object.values() {
                guard case .link(let link) = value else { continue }
                _ = try file.object(link)?.values()
            }
        }
    } catch {
        check(error)
    }
}

private func check(_ error: any Error) {
    guard let error = error as? RealmFileError, !error.description.isEmpty, error.filePath == url.path else {
        fatalError("an error that names no file: \(error)")
    }
}
