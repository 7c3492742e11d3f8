// SPDX-License-Identifier: Apache-2.0
// What an import has read and written, and what it could not carry over, for programs and for people.

public import Foundation
internal import RegnumRealmFile

/// What an import did. A value; any thread.
public struct RealmFileImportReport: Sendable, Equatable, Codable {
    /// One class of the source.
    public struct ClassReport: Sendable, Equatable, Codable {
        public let name: String
        /// Objects that were read.
        public internal(set) var read = 0
        /// Objects that were made, or, in an open Realm, given the values of the source.
        public internal(set) var written = 0
        /// Those of `written` that were there before, with the same primary key.
        public internal(set) var updated = 0
        /// Values that could not be carried over, those of `dropped` not counted.
        public internal(set) var lossCount = 0
        /// Properties of the source that have no place in the target.
        public internal(set) var dropped: [DroppedProperty] = []
        /// A checksum of all values of the class, in hexadecimal digits, as the new file was found to hold them; nil unless the
        /// import was asked to verify.
        public internal(set) var checksum: String?

        init(name: String) { self.name = name }
    }

    /// A property whose values could not be carried over at all.
    public struct DroppedProperty: Sendable, Equatable, Codable {
        public let name: String
        public let reason: String
        /// Objects that have a value there: not null, not an empty collection.
        public internal(set) var values = 0
    }

    /// A value, or an object, that could not be carried over as it was.
    public struct Loss: Sendable, Equatable, Codable, CustomStringConvertible {
        public let className: String
        /// Nil for a whole object.
        public let property: String?
        /// The object's key in the source: in formats up to 9 the number of its row, in JSON the `key`.
        public let key: Int64
        public let reason: String

        /// As "Dog.name of object 3: reason".
        public var description: String {
            "\(className)\(property.map { "." + $0 } ?? "") of object \(key): \(reason)"
        }
    }

    /// The source's file format, 2 to 11 or 20 to 24; 0 for JSON, and for a database without content.
    public internal(set) var formatVersion = 0
    public internal(set) var isEncrypted = false
    /// The schema version, which is carried over; nil if the source has none.
    public internal(set) var schemaVersion: UInt64?
    public internal(set) var classes: [ClassReport] = []
    /// Each value that could not be carried over, in the order of the classes; at most `lossLimit`.
    public internal(set) var losses: [Loss] = []
    /// All losses, also those beyond the limit.
    public internal(set) var lossCount = 0
    /// What is different in the schema, one sentence each: properties and classes that are missing on one side, indexes and
    /// properties of Realm's synchronisation that have no counterpart.
    public internal(set) var notes: [String] = []

    /// The number of losses that are kept one by one.
    public static let lossLimit = 100_000

    /// True if each object and each value was carried over.
    public var isComplete: Bool {
        lossCount == 0
            && classes.allSatisfy { $0.read == $0.written && $0.dropped.allSatisfy { $0.values == 0 } }
    }

    /// Of all classes.
    public var objectsWritten: Int { classes.reduce(0) { $0 + $1.written } }

    init() {}

    /// The facts of a file that is about to be imported.
    init(of file: RealmFile) {
        formatVersion = file.formatVersion
        isEncrypted = file.isEncrypted
        if file.historyType >= 3 {
            notes.append(
                "The file belongs to a synchronised Realm: what it has not uploaded yet is in the new file only.")
        }
    }

    mutating func lose(_ place: Int, _ property: String?, _ key: Int64, _ reason: String) {
        lossCount += 1
        classes[place].lossCount += 1
        if losses.count < Self.lossLimit {
            losses.append(Loss(className: classes[place].name, property: property, key: key, reason: reason))
        }
    }

    /// The report as JSON.
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return try encoder.encode(self)
    }
}

extension RealmFileImportReport: CustomStringConvertible {
    /// A line for each class, each note and each of the first thousand losses.
    public var description: String {
        var lines = classes.map { report in
            "\(report.name): \(report.read) read, \(report.written) written"
                + (report.updated > 0 ? ", of which \(report.updated) were there before" : "")
                + (report.lossCount > 0 ? ", \(report.lossCount) not carried" : "")
                + (report.checksum.map { ", checksum \($0)" } ?? "")
        }
        for report in classes {
            lines += report.dropped.map { property in
                "not carried: \(report.name).\(property.name) of \(property.values) objects: \(property.reason)"
            }
        }
        lines += notes.map { "note: \($0)" }
        lines += losses.prefix(1000).map { "not carried: \($0)" }
        if lossCount > min(losses.count, 1000) { lines.append("\(lossCount) not carried in all") }
        return lines.joined(separator: "\n")
    }
}

/// How far an import is. A value; any thread.
public struct RealmFileImportProgress: Sendable, Equatable {
    /// What is being done.
    public enum Phase: String, Sendable {
        /// Objects of the class are made with the values that are no links.
        case objects
        /// The links of the class are set.
        case links
        /// The class is read back and compared with the source.
        case verifying
        /// The new file gets its name.
        case finishing
    }

    public let phase: Phase
    /// Nil while finishing.
    public let className: String?
    /// Objects of the class that are done.
    public let completed: Int
    /// Objects of the class.
    public let total: Int
    /// Of the whole import, 0 to 1.
    public let fraction: Double
}
