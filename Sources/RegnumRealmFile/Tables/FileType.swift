// SPDX-License-Identifier: Apache-2.0
// The numeric codes of column types and attributes.

/// The type of a column, or of a value of any type.
enum FileType: Int64 {
    case int = 0
    case bool = 1
    case string = 2
    /// Strings interned by their column (formats up to 9).
    case internedString = 3
    case data = 4
    /// A table in each row (formats up to 9).
    case subtable = 5
    case mixed = 6
    /// Whole seconds (formats up to 4).
    case oldDate = 7
    case date = 8
    case float = 9
    case double = 10
    case decimal = 11
    case link = 12
    /// A list of links as a type of its own (formats up to 23).
    case linkList = 13
    case backlink = 14
    case objectId = 15
    case typedLink = 16
    case uuid = 17
    case list = 19
    case set = 20
    case dictionary = 21

    /// The maximum nesting depth of collections in values of any type; realm-core allows 100.
    static let nestingLimit = 128
}

/// The attributes of a column.
struct FileAttributes: OptionSet {
    let rawValue: Int64

    static let indexed = FileAttributes(rawValue: 1)
    static let unique = FileAttributes(rawValue: 2)
    static let nullable = FileAttributes(rawValue: 16)
    static let list = FileAttributes(rawValue: 32)
    static let dictionary = FileAttributes(rawValue: 64)
    static let set = FileAttributes(rawValue: 128)
    static let fullText = FileAttributes(rawValue: 256)
}
