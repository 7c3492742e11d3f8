// SPDX-License-Identifier: Apache-2.0
// Maps a property of a RealmSwift file to a type of column and a kind of collection.

internal import RegnumEngine
internal import RegnumRealmFile

extension ColumnType {
    init?(_ type: RealmFileProperty.ValueType) {
        switch type {
        case .int: self = .int
        case .bool: self = .bool
        case .float: self = .float
        case .double: self = .double
        case .string: self = .string
        case .data: self = .data
        case .date: self = .date
        case .decimal: self = .decimal128
        case .objectId: self = .objectID
        case .uuid: self = .uuid
        case .any: self = .mixed
        case .link: self = .link
        case .rows: return nil
        }
    }
}

extension CollectionKind {
    init(_ collection: RealmFileProperty.Collection) {
        switch collection {
        case .none: self = .none
        case .list: self = .list
        case .set: self = .set
        case .dictionary: self = .dictionary
        }
    }
}
