// SPDX-License-Identifier: Apache-2.0
// The report of an import: counts of objects read and written, and the values that could not be carried over. Readable
// by programs (JSON) and by people (text).

public import Foundation
internal import RegnumRealmFile

/// The result of an import. A value; can be used on any thread.
public struct RealmFileImportReport: Sendable, Equatable, Codable {
    /// The result for one class of the source.
    public struct ClassReport: Sendable, Equatable, Codable {
        /// The name of the class.
        public let name: String
        /// The number of objects that were read.
        public internal(set) var read = 0
        /// The number of objects that were created or, in an open Realm, created or updated.
        public internal(set) var written = 0
        /// The number of objects among `written` that existed before the import, with the same primary key.
        public internal(set) var updated = 0
        /// The number of values and objects that could not be carried over, excluding those of `dropped` properties.
        public internal(set) var lossCount = 0
        /// The properties of the source for which the target has no property.
        public internal(set) var dropped: [DroppedProperty] = []
        /// The checksum of all values of the class, as read back from the new file: 16 hexadecimal digits; nil unless
        /// the import has verified the file.
        public internal(set) var checksum: String?

        init(name: String) { self.name = name }
    }

    /// A property none of whose values could be carried over.
    public struct DroppedProperty: Sendable, Equatable, Codable {
        /// The name of the property in the source.
        public let name: String
        /// The reason, as a clause for messages.
        public let reason: String
        /// The number of objects in which the property is neither null nor an empty collection.
        public internal(set) var values = 0
    }

    /// A value or an object that could not be carried over unchanged.
    public struct Loss: Sendable, Equatable, Codable, CustomStringConvertible {
        /// The name of the object's class.
        public let className: String
        /// The name of the property; nil if the whole object is lost.
        public let property: String?
        /// The object's key in the source. In formats up to 9 it is the row number, in JSON the member `key`.
        public let key: Int64
        /// The reason, as a clause for messages.
        public let reason: String

        /// The loss as text, in the form "Dog.name of object 3: reason".
        public var description: String {
            "\(className)\(property.map { "." + $0 } ?? "") of object \(key): \(reason)"
        }
    }

    /// The file format of the source, 2 to 11 or 20 to 24; 0 for JSON, and for a database without content.
    public internal(set) var formatVersion = 0
    /// True if the source is encrypted.
    public internal(set) var isEncrypted = false
    /// The schema version of the source, which a new file gets, too; nil if the source has none.
    public internal(set) var schemaVersion: UInt64?
    /// The results of the classes, in the order of the source.
    public internal(set) var classes: [ClassReport] = []
    /// The first `lossLimit` values and objects that could not be carried over, in the order in which they were found.
    public internal(set) var losses: [Loss] = []
    /// The number of all losses, including those beyond `lossLimit`.
    public internal(set) var lossCount = 0
    /// The number of objects of the classes of the source that were left out as a whole: `notes` names each class, such
    /// as an asymmetric one.
    public internal(set) var omittedObjectCount = 0
    /// The differences between the schemas, one sentence each: classes and properties that only one side has, indexes
    /// and properties of Realm's synchronisation that have no counterpart.
    public internal(set) var notes: [String] = []

    /// The greatest number of elements in `losses`.
    public static let lossLimit = 100_000

    /// True if each object and each value was carried over. O(number of classes and dropped properties).
    public var isComplete: Bool {
        lossCount == 0 && omittedObjectCount == 0
            && classes.allSatisfy { $0.read == $0.written && $0.dropped.allSatisfy { $0.values == 0 } }
    }

    /// The number of objects written, of all classes. O(number of classes).
    public var objectsWritten: Int { classes.reduce(0) { $0 + $1.written } }

    init() {}

    /// Creates the report of a file that is about to be imported.
    init(of file: RealmFile) {
        formatVersion = file.formatVersion
        isEncrypted = file.isEncrypted
        notes = file.omissions
        omittedObjectCount = file.omittedObjectCount
        if file.historyType >= 3 {
            notes.append(
                "The file belongs to a synchronised Realm: changes that were not uploaded exist only in the new file.")
        }
    }

    mutating func lose(_ place: Int, _ property: String?, _ key: Int64, _ reason: String) {
        lossCount += 1
        classes[place].lossCount += 1
        if losses.count < Self.lossLimit {
            losses.append(Loss(className: classes[place].name, property: property, key: key, reason: reason))
        }
    }

    /// Encodes the report as JSON, indented and with sorted keys.
    ///
    /// - Throws: The errors of `JSONEncoder`.
    /// - Complexity: O(size of the report).
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return try encoder.encode(self)
    }
}

extension RealmFileImportReport: CustomStringConvertible {
    /// The report as text: a line for each class, each dropped property, each note and each of the first 1,000 losses.
    public var description: String {
        var lines = classes.map { report in
            "\(report.name): \(report.read) read, \(report.written) written"
                + (report.updated > 0 ? ", of which \(report.updated) existed before" : "")
                + (report.lossCount > 0 ? ", \(report.lossCount) not carried over" : "")
                + (report.checksum.map { ", checksum \($0)" } ?? "")
        }
        for report in classes {
            lines += report.dropped.map { property in
                "not carried over: \(report.name).\(property.name) of \(property.values) objects: \(property.reason)"
            }
        }
        lines += notes.map { "note: \($0)" }
        lines += losses.prefix(1000).map { "not carried over: \($0)" }
        if lossCount > min(losses.count, 1000) { lines.append("\(lossCount) not carried over in all") }
        return lines.joined(separator: "\n")
    }
}

/// The progress of an import. A value; can be used on any thread.
public struct RealmFileImportProgress: Sendable, Equatable {
    /// A phase of an import.
    public enum Phase: String, Sendable {
        /// Creating the objects of the class, with all values except links.
        case objects
        /// Setting the links of the class.
        case links
        /// Reading the class back and comparing it with the source.
        case verifying
        /// Completing the import: the last commit, or renaming the new file into place.
        case finishing
    }

    /// The current phase.
    public let phase: Phase
    /// The name of the current class; nil in the phase `finishing`.
    public let className: String?
    /// The number of objects of the class that this phase has completed; 0 in the phase `finishing`.
    public let completed: Int
    /// The number of objects of the class; 0 in the phase `finishing`.
    public let total: Int
    /// The completed fraction of the whole import, 0...1.
    public let fraction: Double
}
