// SPDX-License-Identifier: Apache-2.0
// The code samples of FullTextAndPlaces.md and Encryption.md, word for word; see GuideSamples.swift.

import Foundation
import RealmSwift
import Testing

// FullTextAndPlaces
extension Guide {
    class Article: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var title = ""
        @Persisted(indexed: .fullText) var body = ""
        @Persisted(indexed: .fullText) var keywords: List<String>
    }
    class Spot: EmbeddedObject {
        @Persisted var type = "Point"
        @Persisted(indexed: .location) var coordinates: List<Double>  // longitude first

        convenience init(latitude: Double, longitude: Double) {
            self.init()
            coordinates.append(objectsIn: [longitude, latitude])
        }
    }
    class Cafe: Object {
        @Persisted var name = ""
        @Persisted var spot: Spot?
    }

    static func searching(_ realm: Realm) throws {
        let found = realm.objects(Article.self).where { $0.body.fullTextSearch("storm -snow flood*") && $0.id > 0 }
        let newest = found.sorted(byKeyPath: "id", ascending: false).limit(20)
        let same = realm.objects(Article.self).filter("body TEXT %@ AND id > 0", "storm -snow flood*")
        show(newest.count, same.count)
        #expect(newest.map(\.id) == [1] && same.map(\.id) == [1])
    }

    static func ranking(_ realm: Realm) throws {
        let articles = realm.objects(Article.self)
        for hit in articles.search("storm \"north sea\"", in: \.body, limit: 20) {
            show(hit.element.title, hit.score, hit.snippet(length: 80).marked(before: "[", after: "]"))
        }
        let hits = articles.search("uber", in: \.body)
        #expect(hits.map(\.element.id) == [2] && hits.first?.snippet().marked(before: "[", after: "]") == "[Über] snow")
    }

    static func locating(_ realm: Realm) throws {
        let center = GeoPoint(latitude: 59.91, longitude: 10.75)
        if let center, let radius = Distance.kilometers(2) {
            let circle = GeoCircle(center: center, radius: radius)
            show(realm.objects(Cafe.self).where { $0.spot.geoWithin(circle) }.count)
        }
        if let box = GeoBox(bottomLeft: (59.8, 10.5), topRight: (60.0, 11.0)) {
            show(realm.objects(Cafe.self).filter("spot IN %@", box).count)
        }
    }

    static func fillContent(_ realm: Realm) throws {
        try realm.write {
            for (id, body) in ["A flood", "A storm and a flooded harbour", "Über snow"].enumerated() {
                realm.create(Article.self, value: ["id": id, "body": body] as [String: Any])
            }
            for (name, spot) in [
                ("Near", Spot(latitude: 59.912, longitude: 10.751)), ("Far", Spot(latitude: 41.9, longitude: 12.5)),
            ] {
                let cafe = realm.create(Cafe.self, value: ["name": name])
                cafe.spot = spot
            }
        }
    }
}

// Encryption
extension Guide {
    static func changeKey(of configuration: Realm.Configuration, to key: Data?) throws {
        guard let file = configuration.fileURL else { return }
        let copy = file.appendingPathExtension("rekeyed")
        try? FileManager.default.removeItem(at: copy)  // of an attempt that was interrupted
        do {
            let realm = try Realm(configuration: configuration)
            try realm.writeCopy(toFile: copy, encryptionKey: key)
        }
        if rename(copy.path, file.path) != 0 { throw CocoaError(.fileWriteUnknown) }
    }

    static func openAfterChange(_ configuration: Realm.Configuration, current: Data, next: Data) throws -> Realm {
        var configuration = configuration
        configuration.encryptionKey = next
        do {
            return try Realm(configuration: configuration)
        } catch let error as Realm.Error where error.reason == .wrongKey {
            configuration.encryptionKey = current  // the change did not take place
            return try Realm(configuration: configuration)
        }
    }
}
