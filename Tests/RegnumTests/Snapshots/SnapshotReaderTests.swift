// SPDX-License-Identifier: Apache-2.0
// The work of decoding many objects, counted in decoders: one for all of them.

import Testing

@testable import Regnum

@Suite struct SnapshotReaderTests {
    private struct Value: Decodable { let name: String; let best: Named? }
    private struct Named: Decodable { let name: String }
    private struct Kept: Decodable {
        let decoder: any Decoder
        init(from decoder: any Decoder) throws { self.decoder = decoder }
    }

    private func keepers() throws -> Results<Keeper> {
        let realm = try Realm(
            configuration: Realm.Configuration(
                inMemoryIdentifier: "SnapshotReaderTests-\(UInt64.random(in: 0 ... .max))",
                objectTypes: [Keeper.self, Hound.self]))
        try realm.write {
            for number in 0..<5 {
                let keeper = realm.create(Keeper.self, value: ["name": "\(number)"])
                keeper.best = realm.create(
                    Hound.self, value: ["id": number, "name": "hound \(number)"] as [String: Any])
            }
        }
        return realm.objects(Keeper.self)
    }

    @Test("All objects of a class are decoded by one decoder")
    func one() throws {
        let reader = SnapshotReader()
        let values = try keepers().map { try reader.value($0, as: Value.self) }
        #expect(values.map(\.name) == ["0", "1", "2", "3", "4"])
        #expect(values.compactMap(\.best?.name) == (0..<5).map { "hound \($0)" })
        #expect(reader.decoderCount == 1)
    }

    @Test("An object whose decoder is kept is the last one of that decoder")
    func kept() throws {
        let reader = SnapshotReader()
        let values = try keepers().map { try reader.value($0, as: Kept.self) }
        #expect(reader.decoderCount == 5)
        #expect(try values.map { try Value(from: $0.decoder).name } == ["0", "1", "2", "3", "4"])
    }
}
