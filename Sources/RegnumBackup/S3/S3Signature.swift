// SPDX-License-Identifier: Apache-2.0
// Signature Version 4 of a request.
// https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html

#if S3
    internal import Crypto
    internal import Foundation

    /// A request to be signed. All its headers are signed, so they must not change afterwards.
    struct S3Signature {
        var method: String
        /// With its leading slash, not encoded.
        var path: String
        var query: [String: String]
        /// Names in lower case; `host` must be among them.
        var headers: [String: String]
        var body: [UInt8]

        /// Bytes other than letters, digits and `-._~` in hexadecimal, as the signature requires.
        static func encoded(_ text: String, keepingSlashes: Bool = false) -> String {
            var result = ""
            for byte in text.utf8 {
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"):
                    result.unicodeScalars.append(Unicode.Scalar(byte))
                case UInt8(ascii: "/") where keepingSlashes: result += "/"
                default:
                    let digits = String(byte, radix: 16, uppercase: true)
                    result += digits.count == 1 ? "%0" + digits : "%" + digits
                }
            }
            return result
        }

        var encodedPath: String { Self.encoded(path, keepingSlashes: true) }

        /// Sorted, as the signature requires.
        var encodedQuery: String {
            query.map { (Self.encoded($0.key), Self.encoded($0.value)) }.sorted { $0 < $1 }
                .map { "\($0.0)=\($0.1)" }.joined(separator: "&")
        }

        static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
            bytes.map { $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16) }.joined()
        }

        /// The headers to send: those of the request, and `x-amz-date`, `x-amz-content-sha256`, `authorization`.
        func signedHeaders(_ credentials: S3Credentials, region: String, at date: Date) -> [String: String] {
            let time = date.formatted(
                Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt))
            let day = String(time.prefix(8))
            let bodyHash = Self.hexadecimal(SHA256.hash(data: body))
            var headers = headers
            headers["x-amz-date"] = time
            headers["x-amz-content-sha256"] = bodyHash
            headers["x-amz-security-token"] = credentials.sessionToken
            let sorted = headers.sorted { $0.key < $1.key }
            let names = sorted.map(\.key).joined(separator: ";")
            let request =
                [method, encodedPath, encodedQuery].joined(separator: "\n") + "\n"
                + sorted.map { "\($0.key):\($0.value)\n" }.joined() + "\n\(names)\n\(bodyHash)"
            let scope = "\(day)/\(region)/s3/aws4_request"
            let requestHash = Self.hexadecimal(SHA256.hash(data: Array(request.utf8)))
            let text = "AWS4-HMAC-SHA256\n\(time)\n\(scope)\n\(requestHash)"
            var key = SymmetricKey(data: Array("AWS4\(credentials.secretAccessKey)".utf8))
            for part in [day, region, "s3", "aws4_request"] {
                key = SymmetricKey(data: HMAC<SHA256>.authenticationCode(for: Array(part.utf8), using: key))
            }
            let signature = Self.hexadecimal(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
            headers["authorization"] =
                "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope),SignedHeaders=\(names),"
                + "Signature=\(signature)"
            return headers
        }
    }
#endif
