// SPDX-License-Identifier: Apache-2.0
// The XML of the service's answers: lists of objects, and errors.

#if S3
    internal import Foundation
    #if canImport(FoundationXML)
        internal import FoundationXML
    #endif

    /// The texts of the elements of an answer that contain no others, by name.
    struct S3Fields {
        private var texts: [String: [String]] = [:]
        private(set) var isComplete = false

        init(_ xml: [UInt8]) {
            guard !xml.isEmpty else { return }
            let reader = Reader()
            let parser = XMLParser(data: Data(xml))
            parser.delegate = reader
            // The parser closes elements that the text leaves open.
            isComplete = parser.parse() && !reader.hasFailed && parser.parserError == nil
            texts = reader.texts
        }

        subscript(_ name: String) -> [String] { texts[name] ?? [] }

        private final class Reader: NSObject, XMLParserDelegate {
            var texts: [String: [String]] = [:]
            private(set) var hasFailed = false
            private var text = ""

            func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) { hasFailed = true }

            func parser(
                _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
                attributes: [String: String]
            ) { text = "" }

            func parser(_ parser: XMLParser, foundCharacters found: String) { text += found }

            func parser(
                _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
            ) {
                texts[name, default: []].append(text)
                text = ""
            }
        }
    }

    /// A page of ListObjectsV2.
    struct S3ListPage {
        var keys: [String]
        /// The token of the next page; nil if this is the last one.
        var next: String?

        init(xml: [UInt8]) throws {
            let fields = S3Fields(xml)
            guard fields.isComplete, let isTruncated = fields["IsTruncated"].first else {
                throw BackupError(.storage, "The service's list of objects cannot be read.")
            }
            // Encoded as in a form: a space is a plus sign.
            keys = fields["Key"].map {
                let key = $0.replacing("+", with: " ")
                return key.removingPercentEncoding ?? key
            }
            next = isTruncated == "true" ? fields["NextContinuationToken"].first : nil
            if isTruncated == "true", next == nil {
                throw BackupError(.storage, "The service's list of objects ends without a token for the rest.")
            }
        }
    }
#endif
