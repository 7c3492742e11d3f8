// SPDX-License-Identifier: Apache-2.0
// RealmSwift's contract for plain values: identifiers, decimals, locations, errors, configurations.

import Foundation
import RealmSwift
import Testing

private final class Plain: Object {
    @Persisted var x = 0
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite("Values: RealmSwift contract")
struct ValueContractTests {
    @Test("ObjectIds are created from text or time, compared by bytes, and encoded as text")
    func objectIds() throws {
        let text = "000123450000ffbeef91906c"
        let id = try ObjectId(string: text)
        #expect(
            id.stringValue == text && id.description == text && "\(id)" == text
                && id == ObjectId("000123450000ffbeef91906c"))
        #expect(
            id.hashValue == ObjectId("000123450000ffbeef91906c").hashValue
                && ObjectId().stringValue == String(repeating: "0", count: 24))
        let now = Date()
        let made = ObjectId(timestamp: now, machineId: 10, processId: 20)
        #expect(Int(made.timestamp.timeIntervalSince1970) == Int(now.timeIntervalSince1970))
        #expect(id < made && id <= made && made > id && made >= id && id != made)
        #expect(try JSONDecoder().decode([ObjectId].self, from: JSONEncoder().encode([id])) == [id])
        for wrong in ["", "0123", "000123450000ffbeef91906", "000123450000ffbeef91906cc", "00012345000zffbeef91906c"] {
            let error = #expect(throws: Realm.Error.self) { try ObjectId(string: wrong) }
            #expect(error?.code == .invalidInput)
            #expect(error?.localizedDescription == "Invalid Object ID string '\(wrong)': must be 24 hex digits")
        }
        let message = try misuseText { _ = ObjectId("xyz") }
        #expect(message?.hasPrefix("Invalid Object ID string 'xyz'") == true)
    }

    @Test("Decimals are created from many types, calculate, compare, and can be encoded")
    func decimals() throws {
        let literal: Decimal128 = 123.456
        let text: Decimal128 = "9.999E+100"
        let whole: Decimal128 = -7
        #expect(literal.stringValue == "123.456" && text.description.contains("E") && whole.doubleValue == -7)
        #expect(Decimal128(value: Decimal(string: "1.25") as Any) == 1.25 && Decimal128(value: NSNull()).isNaN)
        #expect(Decimal128(number: NSNumber(value: 1.5)) == "1.5" && Decimal128(value: "x").isNaN)
        #expect(try Decimal128(string: "not a number").isNaN && Decimal128(string: "1.0") == 1)
        var sum = literal + 1
        sum += 1
        sum -= 1
        sum *= 2
        sum /= 2
        sum.negate()
        #expect(sum == "-124.456" && sum.magnitude == "124.456" && -sum > sum && sum < 0)
        #expect(literal.distance(to: literal.advanced(by: 2)) == 2 && Decimal128(exactly: 12) == 12)
        #expect(Decimal128.min < Decimal128.max && Decimal128() == 0 && !Decimal128().isSignaling)
        #expect(literal.isEqual(NSNumber(value: 123.456)) && literal.decimalValue == Decimal(string: "123.456"))
        let nan = Decimal128(value: Double.nan)
        #expect(nan < Decimal128.min && nan == nan)
        #expect(try JSONDecoder().decode([Decimal128].self, from: Data("[\"1.5\", 2, 2.5]".utf8)) == [1.5, 2, 2.5])
        #expect(String(decoding: try JSONEncoder().encode([literal]), as: UTF8.self) == "[\"123.456\"]")
    }

    @Test("Initialisers of invalid points and areas return nil")
    func geo() throws {
        #expect(GeoPoint(latitude: 90, longitude: -180) != nil && GeoPoint(latitude: 90.01, longitude: 0) == nil)
        #expect(GeoPoint(latitude: 0, longitude: 180.1) == nil && GeoPoint(latitude: .nan, longitude: 0) == nil)
        #expect(GeoPoint(latitude: 0, longitude: 0, altitude: -1) == nil)
        #expect(GeoPoint(latitude: 0, longitude: 0, altitude: .nan) == nil)
        let ring: [(Double, Double)] = [(0, 0), (0, 3), (3, 3), (0, 0)]
        let hole: [(Double, Double)] = [(1, 1), (1, 2), (2, 2), (1, 1)]
        let points = ring.compactMap { GeoPoint(latitude: $0.0, longitude: $0.1) }
        #expect(GeoPolygon(outerRing: ring) == GeoPolygon(outerRing: points))
        #expect(GeoPolygon(outerRing: ring, holes: hole, hole)?.holes.count == 2)
        #expect(GeoPolygon(outerRing: ring, holes: [hole]) == GeoPolygon(outerRing: ring, holes: hole))
        #expect(GeoPolygon(outerRing: points, holes: points)?.holes.count == 1)
        #expect(GeoPolygon(outerRing: [(0, 0), (0, 3), (0, 0)]) == nil)
        #expect(GeoPolygon(outerRing: [(0, 0), (0, 3), (3, 3), (1, 1)]) == nil)
        #expect(GeoPolygon(outerRing: ring, holes: [[(0, 0), (91, 0), (3, 3), (0, 0)]]) == nil)
        #expect(
            Distance.kilometers(-1) == nil && Distance.radians(.nan) == nil && Distance.degrees(180)?.radians == .pi)
        let distance = try #require(Distance.kilometers(10))
        #expect(abs(distance.asKilometers() - 10) < 1e-9 && abs(distance.asMiles() - 6.2137) < 1e-3)
        #expect(abs(distance.asDegrees() - 0.08983) < 1e-4 && Distance.miles(1) != Distance.kilometers(1))
        let center = try #require(GeoPoint(latitude: 1, longitude: 2))
        #expect(GeoCircle(center: center, radius: distance).radiusInRadians == distance.radians)
        #expect(GeoCircle(center: (1, 2), radius: distance) == GeoCircle(center: center, radius: distance))
        #expect(
            GeoCircle(center: center, radiusInRadians: -1) == nil
                && GeoCircle(center: (91, 0), radiusInRadians: 1) == nil)
        #expect(GeoBox(bottomLeft: (0, 0), topRight: (0, 181)) == nil)
    }

    @Test("An error of opening can be matched by code, by type and as an NSError")
    func errors() throws {
        let url = URL(fileURLWithPath: "/nowhere/at/all.realm")
        func open() throws {
            _ = try Realm(configuration: .init(fileURL: url, readOnly: true, objectTypes: [Plain.self]))
        }
        do { try open() } catch Realm.Error.fileNotFound {} catch { Issue.record(error) }
        do { try open() } catch let error as Realm.Error {
            switch error.code {
            case .fileNotFound: break
            default: Issue.record(error)
            }
            #expect(error.fileURL?.path == url.path && error.userInfo[NSFilePathErrorKey] as? String == url.path)
            #expect(error.errorCode == 5 && Realm.Error.errorDomain == "io.realm" && Set([error, error]).count == 1)
            #expect(error != Realm.Error(.fail) && error == Realm.Error(.fileNotFound))
            #expect(
                error.localizedDescription.hasPrefix(
                    "Failed to open Realm file at path '/nowhere/at/all.realm': No such"))
        }
        do { try open() } catch {
            switch error {
            case Realm.Error.fileAccess: Issue.record(error)
            case Realm.Error.fileNotFound: break
            default: Issue.record(error)
            }
            let bridged = error as NSError
            #expect(bridged.domain == "io.realm" && bridged.code == Realm.Error.fileNotFound.rawValue)
            #expect(bridged.userInfo[NSFilePathErrorKey] as? String == url.path)
            #expect(bridged.localizedDescription == error.localizedDescription)
        }
        let made = Realm.Error(.fail, userInfo: [NSLocalizedDescriptionKey: "words"])
        #expect(made.localizedDescription == "words" && (made as any Error) == (Realm.Error(.fail) as any Error))
        #expect(!((made as any Error) == (Realm.Error(.fileAccess) as any Error)))
    }

    @Test("A configuration has RealmSwift's defaults, and either a file or an in-memory identifier")
    func configurations() throws {
        var configuration = Realm.Configuration()
        #expect(configuration.fileURL?.lastPathComponent == "default.realm" && configuration.inMemoryIdentifier == nil)
        #expect(configuration.encryptionKey == nil && !configuration.readOnly && configuration.schemaVersion == 0)
        #expect(configuration.migrationBlock == nil && !configuration.deleteRealmIfMigrationNeeded)
        #expect(configuration.shouldCompactOnLaunch == nil && configuration.objectTypes == nil)
        #expect(configuration.seedFilePath == nil && configuration.maximumNumberOfActiveVersions == nil)
        configuration.inMemoryIdentifier = "memory"
        #expect(configuration.fileURL == nil)
        configuration.fileURL = URL(fileURLWithPath: "/tmp/a.realm")
        #expect(configuration.inMemoryIdentifier == nil)
        let both = Realm.Configuration(fileURL: URL(fileURLWithPath: "/tmp/a.realm"), inMemoryIdentifier: "memory")
        #expect(both.fileURL == nil && both.inMemoryIdentifier == "memory")
        configuration.shouldCompactOnLaunch = { total, used in total > 100 << 20 && Double(used) / Double(total) < 0.5 }
        configuration.migrationBlock = { migration, old in
            if old < 1 { migration.enumerateObjects(ofType: "Plain") { _, new in new?["x"] = 1 } }
        }
        configuration.fileURL?.deleteLastPathComponent()
        configuration.fileURL?.appendPathComponent("b.realm")
        #expect(configuration.fileURL?.path == "/tmp/b.realm")
        let lines = configuration.description.split(separator: "\n").map { $0.split(separator: " ")[0] }
        #expect(
            lines == [
                "Realm.Configuration", "\tfileURL", "\tinMemoryIdentifier", "\tencryptionKey", "\treadOnly",
                "\tschemaVersion", "\tmigrationBlock", "\tdeleteRealmIfMigrationNeeded", "\tshouldCompactOnLaunch",
                "\tdynamic", "\tcustomSchema", "}",
            ])
    }

    @Test("Log levels and property types have RealmSwift's order")
    func levels() {
        let levels: [LogLevel] = [.off, .fatal, .error, .warn, .info, .detail, .debug, .trace, .all]
        #expect(levels.map(\.rawValue) == Array(0...8))
        let types: [PropertyType] = [
            .int, .bool, .string, .data, .date, .float, .double, .object, .linkingObjects, .any, .objectId, .decimal128,
            .UUID,
        ]
        #expect(types.map(\.rawValue) == Array(0...12))
    }
}
