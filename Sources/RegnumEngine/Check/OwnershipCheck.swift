// SPDX-License-Identifier: Apache-2.0
// Checks the law of embedded tables: each row has one owner.

import RegnumSystem

extension IntegrityCheck.Walk {
    mutating func checkOwners(_ table: Table, _ session: Session) throws(EngineError) {
        var wrong: [String] = []
        try table.forEachGroup { group throws(EngineError) in
            for row in 0..<group.pointee.count {
                let key = ObjectKey(group.pointee.key(at: row))
                let owners = try table.ownerCount(of: key)
                if owners != 1 { wrong.append("\(table.placeWords(key)) has \(owners) owners") }
            }
            return wrong.count < IntegrityCheck.findingLimit
        }
        for text in wrong { find(12, "\(table.definition.name): \(text)") }
    }
}
