// SPDX-License-Identifier: Apache-2.0
// Snapshots as JSON and in other formats that an `Encoder` writes.

internal import Foundation

extension SnapshotValue: Encodable {
    /// Encodes the value as itself: `.null` as null, objects by the names of their properties, links as the primary key
    /// of their object. Dates, data and numbers that are not finite follow the strategies of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .float(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .data(let value): try container.encode(value)
        case .date(let value): try container.encode(value)
        case .decimal128(let value): try container.encode(value)
        case .objectId(let value): try container.encode(value)
        case .uuid(let value): try container.encode(value)
        case .list(let values), .set(let values): try container.encode(values)
        case .map(let values): try container.encode(values)
        case .object(let object): try container.encode(object)
        case .link(_, let key): try container.encode(key)
        }
    }
}

extension ObjectSnapshot: Encodable {
    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Encodes the values by the names of the properties; the name of the class is not encoded.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        for name in names { try container.encode(self[name], forKey: Name(stringValue: name)) }
    }
}
