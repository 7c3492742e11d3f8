// SPDX-License-Identifier: Apache-2.0
// Classes with declared rules: unique constraints, delete rules, auto-incremented numbers.

import Foundation
import RealmSwift

enum Rules {
    class Member: Object {
        @Persisted var email: String?
        @Persisted var country = ""
        @Persisted var passport = 0
        @Persisted var note = ""
        @Persisted var place: Place?
        @Persisted var kind = Kind.plain
        override class func shouldIncludeInDefaultSchema() -> Bool { false }

        convenience init(_ email: String?, _ country: String = "", _ passport: Int = 0) {
            self.init()
            self.email = email
            self.country = country
            self.passport = passport
        }
    }

    enum Kind: String, PersistableEnum { case plain, special }

    class Place: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Seat: Object {
        @Persisted(primaryKey: true) var id = UUID()
        @Persisted var place: Place?
        @Persisted var row = 0
        @Persisted var guest = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Invoice: Object {
        @Persisted(primaryKey: true) var number: Int
        @Persisted var text = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Ticket: Object {
        @Persisted(indexed: true) var number: Int8?
        @Persisted var text = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Department: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var lead: Worker?
        @Persisted var projects: List<Project>
        @Persisted(originProperty: "department") var workers: LinkingObjects<Worker>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Project: Object {
        @Persisted var name = ""
        @Persisted var parts: List<Piece>
        @Persisted var tasks: Map<String, Task?>
        @Persisted var next: Project?
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Piece: EmbeddedObject {
        @Persisted var name = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Task: Object {
        @Persisted var name = ""
        @Persisted(originProperty: "task") var remarks: LinkingObjects<Remark>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Remark: Object {
        @Persisted var text = ""
        @Persisted var task: Task?
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    class Worker: Object {
        @Persisted var name = ""
        @Persisted var department: Department?
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    static let company: [ObjectBase.Type] = [
        Department.self, Project.self, Piece.self, Task.self, Remark.self, Worker.self,
    ]
}

extension Rules.Member: UniqueConstraints {
    static var uniqueConstraints: [[String]] { [["email"], ["country", "passport"]] }
}

extension Rules.Seat: UniqueConstraints {
    static var uniqueConstraints: [[String]] { [["place", "row"]] }
}

extension Rules.Invoice: AutoIncrement {
    static var autoIncrementedProperty: String { "number" }
}

extension Rules.Ticket: AutoIncrement {
    static var autoIncrementedProperty: String { "number" }
}

extension Rules.Department: DeleteRules {
    static var deleteRules: [String: DeleteRule] { ["projects": .cascade, "workers": .deny] }
}

extension Rules.Project: DeleteRules {
    static var deleteRules: [String: DeleteRule] { ["tasks": .cascade, "next": .cascade] }
}

extension Rules.Task: DeleteRules {
    static var deleteRules: [String: DeleteRule] { ["remarks": .cascade] }
}

/// The same class without and with its constraint, as in two versions of a program.
enum OldRules {
    class Member: Object {
        @Persisted var email: String?
        @Persisted var country = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
        override class func _realmObjectName() -> String { "RulesMember" }
    }
}

enum NewRules {
    class Member: Object {
        @Persisted var mail: String?
        @Persisted var country = ""
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
        override class func _realmObjectName() -> String { "RulesMember" }
    }
}

extension NewRules.Member: UniqueConstraints {
    static var uniqueConstraints: [[String]] { [["mail", "country"]] }
}
