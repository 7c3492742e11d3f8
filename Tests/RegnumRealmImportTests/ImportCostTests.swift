// SPDX-License-Identifier: Apache-2.0
// The cost of objects: short values cost as much as the long ones of the same size.

import Foundation
import RegnumRealmFile
import Testing

@testable import RegnumRealmImport

@Suite("The cost of objects in an import") struct ImportCostTests {
    @Test("Many values below a kilobyte are not free")
    func shortValues() {
        let short = RealmFileValue.string(String(repeating: "x", count: 1000))
        let sum = (0..<100).reduce(0) { sum, _ in sum + ImportCost.byteCount(short) }
        #expect(ImportCost.cost(sum) == 98)
        #expect(ImportCost.cost(0) == 1)
        let list = RealmFileValue.list(Array(repeating: .data(Data(count: 1000)), count: 1000))
        #expect(ImportCost.cost(ImportCost.byteCount(list)) > 1000)
        let key = RealmFileEntry(key: short, value: .null)
        #expect(ImportCost.byteCount(.dictionary([key])) > 1000)
    }

    @Test("A batch of an encrypted file is at most about 32 MB")
    func batches() {
        #expect(NewFileImport<RealmFileSource>.batchCost(isEncrypted: true) << 10 <= 33_000_000)
    }
}
