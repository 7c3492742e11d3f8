// SPDX-License-Identifier: Apache-2.0
// The place of a repository of backups on the command line: a folder, or s3://BUCKET/PREFIX.

import ArgumentParser
import Foundation
import RegnumBackup

/// The place of a repository, as a user writes it.
enum BackupPlace {
    case folder(String)
    case s3(bucket: String, prefix: String)

    init(_ text: String) throws {
        guard text.hasPrefix("s3://") else {
            self = .folder(text)
            return
        }
        let parts = text.dropFirst(5).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let bucket = parts.first, !bucket.isEmpty else {
            throw Refusal("'\(text)' names no bucket: write s3://BUCKET or s3://BUCKET/PREFIX.")
        }
        self = .s3(bucket: String(bucket), prefix: parts.count > 1 ? String(parts[1]) : "")
    }

    var isFolder: Bool { if case .folder = self { true } else { false } }

    /// Opens the repository at the place that `text` names.
    static func repository(_ text: String, key: Data?) throws -> BackupRepository {
        let place = try BackupPlace(text)
        if place.isFolder, FileKind(text) != .folder { throw Refusal("'\(text)': No such folder.") }
        let store = try place.store()
        do { return try BackupRepository(store, encryptionKey: key) } catch let error as BackupError
            where error.code == .noRepository
        {
            throw Refusal("'\(text)' is not a repository of backups: `regnum backup FILE '\(text)' --new` makes one.")
        }
    }

    /// The store there. The keys, the region and the address of a service other than Amazon's are in the environment
    /// variables that Amazon's own tools read.
    func store() throws -> any BackupStore {
        switch self {
        case .folder(let path): return DirectoryStore(URL(fileURLWithPath: path))
        case .s3(let bucket, let prefix):
            #if S3
                let variables = ProcessInfo.processInfo.environment
                let address = variables["AWS_ENDPOINT_URL_S3"] ?? variables["AWS_ENDPOINT_URL"]
                let endpoint = address.flatMap { URL(string: $0) }
                if let address, endpoint?.host == nil {
                    throw Refusal("AWS_ENDPOINT_URL is not an address: '\(address)'.")
                }
                return S3Store(
                    bucket: bucket, prefix: prefix,
                    region: variables["AWS_REGION"] ?? variables["AWS_DEFAULT_REGION"] ?? "us-east-1",
                    endpoint: endpoint)
            #else
                throw Refusal(
                    "This `regnum` was built without S3, for '\(bucket)/\(prefix)': build it with `--traits Compression,Encryption,S3`."
                )
            #endif
        }
    }
}

/// The key of a repository that is encrypted with a key of its own.
struct RepositoryKeyArguments: ParsableArguments {
    private static let variable = "REGNUM_REPOSITORY_KEY_FILE"

    @Option(
        help: """
            A file with the key of a repository that is encrypted with a key of its own. Without it the environment \
            variable REGNUM_REPOSITORY_KEY_FILE names the file.
            """,
        completion: .file())
    var repositoryKeyFile: String?

    /// Nil if none is specified.
    func key() throws -> Data? {
        if let repositoryKeyFile { return try KeySource.option(repositoryKeyFile).key() }
        let path = ProcessInfo.processInfo.environment[Self.variable] ?? ""
        return path.isEmpty ? nil : try KeySource.option(path).key()
    }
}
