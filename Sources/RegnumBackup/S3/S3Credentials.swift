// SPDX-License-Identifier: Apache-2.0
// The keys with which requests to S3 are signed.

#if S3
    internal import Foundation

    /// The keys of an account that may read, write, list and delete the objects of a bucket.
    public struct S3Credentials: Sendable, CustomStringConvertible, CustomReflectable {
        public var accessKeyID: String
        public var secretAccessKey: String
        /// Of temporary credentials.
        public var sessionToken: String?

        public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
            self.accessKeyID = accessKeyID
            self.secretAccessKey = secretAccessKey
            self.sessionToken = sessionToken
        }

        /// Without the secrets.
        public var description: String { "S3Credentials(\(accessKeyID))" }
        public var customMirror: Mirror { Mirror(self, children: ["accessKeyID": accessKeyID]) }

        /// The keys in the environment variables `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
        /// Throws `BackupError` with the code `.storage` if one of the first two is missing.
        public static func environment() throws -> S3Credentials {
            let variables = ProcessInfo.processInfo.environment
            guard let identifier = variables["AWS_ACCESS_KEY_ID"], let secret = variables["AWS_SECRET_ACCESS_KEY"]
            else {
                throw BackupError(
                    .storage, "The environment variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set.")
            }
            return S3Credentials(
                accessKeyID: identifier, secretAccessKey: secret, sessionToken: variables["AWS_SESSION_TOKEN"])
        }
    }
#endif
