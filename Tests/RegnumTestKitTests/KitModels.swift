// SPDX-License-Identifier: Apache-2.0
// The classes of the kit's own tests, and a way to read the issues that the kit records.

import Foundation
import Regnum
import RegnumTestKit
import Synchronization
import Testing

final class KitAccount: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var sum = 0
    @Persisted var log: List<String>
}

final class KitKeeper: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var name = ""
    @Persisted var born: Date?
    @Persisted var pets: List<KitPet>
    @Persisted var scores: Map<String, Int>
    @Persisted var den: KitHome?
}

final class KitPet: Object {
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted var keeper: KitKeeper?
    @Persisted var tags: MutableSet<String>
    @Persisted var anything: AnyRealmValue
}

final class KitHome: EmbeddedObject {
    @Persisted var street = ""
}

final class KitTagged: Object {
    @Persisted(primaryKey: true) var id = ObjectId.generate()
    @Persisted var uuid: UUID?
    @Persisted var price: Decimal128?
    @Persisted var photo: Data?
    @Persisted var ratio: Double?
    @Persisted var isNew: Bool?
}

/// The texts of the issues that `body` records or throws; they do not count as failures.
func issues(
    sourceLocation: SourceLocation = #_sourceLocation, in body: () throws -> Void
) -> [String] {
    let texts = Mutex<[String]>([])
    do {
        try withKnownIssue(isIntermittent: true, sourceLocation: sourceLocation) {
            try body()
        } matching: { issue in
            let text = issue.comments.map(\.rawValue).joined(separator: " ") + (issue.error.map { "\($0)" } ?? "")
            texts.withLock { $0.append(text) }
            return true
        }
    } catch {
        Issue.record(error, sourceLocation: sourceLocation)
    }
    return texts.withLock { $0 }
}
