// SPDX-License-Identifier: Apache-2.0
// Compares an imported file with its source: the values of RealmSwift's API, by name alone, with those of
// RegnumRealmFile.

import Foundation
import RealmSwift
import RegnumRealmFile

/// The differences between a file in Realm's format and a Realm, one on each line.
struct Comparison {
    let file: RealmFile
    let realm: Realm
    /// The position of each object in its table, by table and key.
    private var places: [RealmFileLink: Int] = [:]
    private(set) var differences: [String] = []

    init(_ file: RealmFile, _ realm: Realm) throws {
        self.file = file
        self.realm = realm
        for table in file.classes {
            var place = 0
            try file.forEachObject(of: table) { object in
                places[RealmFileLink(tableIndex: table.index, key: object.key)] = place
                place += 1
            }
        }
    }

    mutating func run() throws -> [String] {
        for table in file.classes {
            let objects = realm.dynamicObjects(table.name)
            if objects.count != table.objectCount {
                differences.append("\(table.name): \(objects.count) objects, not \(table.objectCount)")
                continue
            }
            var place = 0
            try file.forEachObject(of: table) { object in
                let found = objects[place]
                let names = Set(found.objectSchema.properties.map(\.name))
                for (index, property) in table.properties.enumerated() where names.contains(property.name) {
                    let expected = try object.value(at: index)
                    if !isEqual(expected, found[property.name]) {
                        differences.append(
                            "\(table.name)[\(place)].\(property.name): \(String(describing: found[property.name]).prefix(200)), "
                                + "not \("\(expected)".prefix(200))")
                    }
                }
                place += 1
            }
        }
        return differences
    }

    /// Optionals within Any are nil.
    private func flat(_ value: Any?) -> Any? {
        guard let value else { return nil }
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .optional else { return value }
        return mirror.children.first.flatMap { flat($0.value) }
    }

    private func isEqual(_ expected: RealmFileValue, _ found: Any?) -> Bool {
        guard let found = flat(found) else { return expected == .null }
        if let any = found as? AnyRealmValue { return isEqualAny(expected, any) }
        switch expected {
        case .null, .rows: return false
        case .bool(let bit): return (found as? NSNumber)?.boolValue == bit || found as? Bool == bit
        case .int(let number):
            return (found as? NSNumber)?.int64Value == number || (found as? Int).map(Int64.init) == number
        case .float(let number):
            return ((found as? NSNumber)?.floatValue ?? found as? Float)?.bitPattern == number.bitPattern
        case .double(let number):
            return ((found as? NSNumber)?.doubleValue ?? found as? Double)?.bitPattern == number.bitPattern
        case .string(let text): return (found as? String).map { $0.utf8.elementsEqual(text.utf8) } ?? false
        case .data(let data): return found as? Data == data
        case .date(let date): return found as? Date == date.date
        case .decimal(let decimal):
            guard let number = found as? Decimal128 else { return false }
            return decimal.kind == .notANumber ? number.isNaN : number == (try? Decimal128(string: decimal.description))
        case .objectId(let id): return (found as? ObjectId)?.stringValue == id.description
        case .uuid(let uuid): return found as? UUID == uuid
        case .link(let link): return isLink(link, found as? ObjectBase)
        case .list(let values):
            guard let list = found as? any RealmCollection else { return false }
            let elements = elements(list)
            return elements.count == values.count && zip(values, elements).allSatisfy { isEqual($0, $1) }
        case .set(let values):
            guard let set = found as? any RealmCollection else { return false }
            var rest = elements(set)
            for value in values {
                guard let place = rest.firstIndex(where: { isEqual(value, $0) }) else { return false }
                rest.remove(at: place)
            }
            return rest.isEmpty
        case .dictionary(let entries):
            guard let map = found as? any RealmKeyedCollection else { return false }
            let found = self.entries(map)
            return found.count == entries.count
                && entries.allSatisfy { entry in
                    guard case .string(let key) = entry.key, let value = found[key] else { return false }
                    return isEqual(entry.value, value)
                }
        }
    }

    private func elements<C: RealmCollection>(_ collection: C) -> [Any?] { collection.map { flat($0) } }

    private func entries<C: RealmKeyedCollection>(_ map: C) -> [String: Any?] {
        var found: [String: Any?] = [:]
        for key in map.keys { found["\(key)"] = .some(flat(map[key])) }
        return found
    }

    private func isEqualAny(_ expected: RealmFileValue, _ found: AnyRealmValue) -> Bool {
        switch (expected, found) {
        case (.null, .none): true
        case (.int(let a), .int(let b)): a == Int64(b)
        case (.bool(let a), .bool(let b)): a == b
        case (.float(let a), .float(let b)): a.bitPattern == b.bitPattern
        case (.double(let a), .double(let b)): a.bitPattern == b.bitPattern
        case (.string, .string(let b)): isEqual(expected, b)
        case (.data, .data(let b)): isEqual(expected, b)
        case (.date, .date(let b)): isEqual(expected, b)
        case (.objectId, .objectId(let b)): isEqual(expected, b)
        case (.decimal, .decimal128(let b)): isEqual(expected, b)
        case (.uuid, .uuid(let b)): isEqual(expected, b)
        case (.link(let link), .object(let b)): isLink(link, b)
        case (.list(let values), .list(let b)):
            b.count == values.count && zip(values, b).allSatisfy { isEqualAny($0, $1) }
        case (.dictionary, .dictionary(let b)): isEqual(expected, b)
        default: false
        }
    }

    /// True if the object and the link have the same position in their tables.
    private func isLink(_ link: RealmFileLink, _ object: ObjectBase?) -> Bool {
        guard let object, let place = places[link] else { return false }
        let table = file.tables[link.tableIndex]
        let objects = realm.dynamicObjects(table.name)
        guard object.objectSchema.className == table.name, place < objects.count else { return false }
        return objects[place].isSameObject(as: object)
    }
}
