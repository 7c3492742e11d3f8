// SPDX-License-Identifier: Apache-2.0
// The 200 classes of `bench opening`, five properties each, with links and lists among them, in no default schema.
// Written by Scripts/many-classes, two lines a class so that one file holds them.
// swift-format-ignore-file

import Foundation
import RealmSwift

class OneOfMany: Object {
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

final class C001: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C002?; @Persisted var others: List<C003> }
final class C002: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C003? }
final class C003: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C005> }
final class C004: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C005: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C006?; @Persisted var others: List<C007> }
final class C006: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C007? }
final class C007: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C009> }
final class C008: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C009: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C010?; @Persisted var others: List<C011> }
final class C010: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C011? }
final class C011: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C013> }
final class C012: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C013: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C014?; @Persisted var others: List<C015> }
final class C014: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C015? }
final class C015: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C017> }
final class C016: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C017: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C018?; @Persisted var others: List<C019> }
final class C018: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C019? }
final class C019: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C021> }
final class C020: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C021: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C022?; @Persisted var others: List<C023> }
final class C022: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C023? }
final class C023: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C025> }
final class C024: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C025: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C026?; @Persisted var others: List<C027> }
final class C026: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C027? }
final class C027: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C029> }
final class C028: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C029: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C030?; @Persisted var others: List<C031> }
final class C030: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C031? }
final class C031: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C033> }
final class C032: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C033: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C034?; @Persisted var others: List<C035> }
final class C034: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C035? }
final class C035: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C037> }
final class C036: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C037: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C038?; @Persisted var others: List<C039> }
final class C038: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C039? }
final class C039: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C041> }
final class C040: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C041: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C042?; @Persisted var others: List<C043> }
final class C042: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C043? }
final class C043: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C045> }
final class C044: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C045: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C046?; @Persisted var others: List<C047> }
final class C046: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C047? }
final class C047: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C049> }
final class C048: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C049: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C050?; @Persisted var others: List<C051> }
final class C050: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C051? }
final class C051: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C053> }
final class C052: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C053: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C054?; @Persisted var others: List<C055> }
final class C054: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C055? }
final class C055: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C057> }
final class C056: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C057: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C058?; @Persisted var others: List<C059> }
final class C058: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C059? }
final class C059: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C061> }
final class C060: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C061: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C062?; @Persisted var others: List<C063> }
final class C062: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C063? }
final class C063: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C065> }
final class C064: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C065: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C066?; @Persisted var others: List<C067> }
final class C066: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C067? }
final class C067: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C069> }
final class C068: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C069: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C070?; @Persisted var others: List<C071> }
final class C070: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C071? }
final class C071: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C073> }
final class C072: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C073: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C074?; @Persisted var others: List<C075> }
final class C074: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C075? }
final class C075: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C077> }
final class C076: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C077: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C078?; @Persisted var others: List<C079> }
final class C078: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C079? }
final class C079: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C081> }
final class C080: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C081: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C082?; @Persisted var others: List<C083> }
final class C082: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C083? }
final class C083: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C085> }
final class C084: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C085: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C086?; @Persisted var others: List<C087> }
final class C086: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C087? }
final class C087: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C089> }
final class C088: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C089: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C090?; @Persisted var others: List<C091> }
final class C090: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C091? }
final class C091: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C093> }
final class C092: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C093: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C094?; @Persisted var others: List<C095> }
final class C094: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C095? }
final class C095: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C097> }
final class C096: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C097: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C098?; @Persisted var others: List<C099> }
final class C098: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C099? }
final class C099: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C101> }
final class C100: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C101: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C102?; @Persisted var others: List<C103> }
final class C102: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C103? }
final class C103: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C105> }
final class C104: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C105: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C106?; @Persisted var others: List<C107> }
final class C106: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C107? }
final class C107: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C109> }
final class C108: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C109: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C110?; @Persisted var others: List<C111> }
final class C110: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C111? }
final class C111: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C113> }
final class C112: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C113: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C114?; @Persisted var others: List<C115> }
final class C114: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C115? }
final class C115: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C117> }
final class C116: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C117: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C118?; @Persisted var others: List<C119> }
final class C118: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C119? }
final class C119: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C121> }
final class C120: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C121: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C122?; @Persisted var others: List<C123> }
final class C122: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C123? }
final class C123: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C125> }
final class C124: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C125: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C126?; @Persisted var others: List<C127> }
final class C126: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C127? }
final class C127: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C129> }
final class C128: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C129: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C130?; @Persisted var others: List<C131> }
final class C130: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C131? }
final class C131: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C133> }
final class C132: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C133: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C134?; @Persisted var others: List<C135> }
final class C134: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C135? }
final class C135: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C137> }
final class C136: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C137: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C138?; @Persisted var others: List<C139> }
final class C138: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C139? }
final class C139: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C141> }
final class C140: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C141: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C142?; @Persisted var others: List<C143> }
final class C142: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C143? }
final class C143: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C145> }
final class C144: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C145: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C146?; @Persisted var others: List<C147> }
final class C146: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C147? }
final class C147: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C149> }
final class C148: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C149: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C150?; @Persisted var others: List<C151> }
final class C150: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C151? }
final class C151: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C153> }
final class C152: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C153: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C154?; @Persisted var others: List<C155> }
final class C154: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C155? }
final class C155: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C157> }
final class C156: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C157: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C158?; @Persisted var others: List<C159> }
final class C158: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C159? }
final class C159: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C161> }
final class C160: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C161: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C162?; @Persisted var others: List<C163> }
final class C162: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C163? }
final class C163: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C165> }
final class C164: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C165: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C166?; @Persisted var others: List<C167> }
final class C166: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C167? }
final class C167: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C169> }
final class C168: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C169: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C170?; @Persisted var others: List<C171> }
final class C170: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C171? }
final class C171: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C173> }
final class C172: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C173: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C174?; @Persisted var others: List<C175> }
final class C174: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C175? }
final class C175: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C177> }
final class C176: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C177: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C178?; @Persisted var others: List<C179> }
final class C178: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C179? }
final class C179: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C181> }
final class C180: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C181: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C182?; @Persisted var others: List<C183> }
final class C182: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C183? }
final class C183: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C185> }
final class C184: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C185: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C186?; @Persisted var others: List<C187> }
final class C186: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C187? }
final class C187: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C189> }
final class C188: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C189: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C190?; @Persisted var others: List<C191> }
final class C190: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C191? }
final class C191: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C193> }
final class C192: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C193: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C194?; @Persisted var others: List<C195> }
final class C194: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C195? }
final class C195: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C197> }
final class C196: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }
final class C197: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double?; @Persisted var next: C198?; @Persisted var others: List<C199> }
final class C198: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var tags: List<String>; @Persisted var active: Bool; @Persisted var next: C199? }
final class C199: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted(indexed: true) var code: Int; @Persisted var created: Date?; @Persisted var others: List<C001> }
final class C200: OneOfMany { @Persisted(primaryKey: true) var id: Int; @Persisted var name: String
    @Persisted var score: Double; @Persisted var active: Bool; @Persisted var created: Date }

let manyClasses: [ObjectBase.Type] = [
    C001.self, C002.self, C003.self, C004.self, C005.self, C006.self, C007.self, C008.self, C009.self, C010.self,
    C011.self, C012.self, C013.self, C014.self, C015.self, C016.self, C017.self, C018.self, C019.self, C020.self,
    C021.self, C022.self, C023.self, C024.self, C025.self, C026.self, C027.self, C028.self, C029.self, C030.self,
    C031.self, C032.self, C033.self, C034.self, C035.self, C036.self, C037.self, C038.self, C039.self, C040.self,
    C041.self, C042.self, C043.self, C044.self, C045.self, C046.self, C047.self, C048.self, C049.self, C050.self,
    C051.self, C052.self, C053.self, C054.self, C055.self, C056.self, C057.self, C058.self, C059.self, C060.self,
    C061.self, C062.self, C063.self, C064.self, C065.self, C066.self, C067.self, C068.self, C069.self, C070.self,
    C071.self, C072.self, C073.self, C074.self, C075.self, C076.self, C077.self, C078.self, C079.self, C080.self,
    C081.self, C082.self, C083.self, C084.self, C085.self, C086.self, C087.self, C088.self, C089.self, C090.self,
    C091.self, C092.self, C093.self, C094.self, C095.self, C096.self, C097.self, C098.self, C099.self, C100.self,
    C101.self, C102.self, C103.self, C104.self, C105.self, C106.self, C107.self, C108.self, C109.self, C110.self,
    C111.self, C112.self, C113.self, C114.self, C115.self, C116.self, C117.self, C118.self, C119.self, C120.self,
    C121.self, C122.self, C123.self, C124.self, C125.self, C126.self, C127.self, C128.self, C129.self, C130.self,
    C131.self, C132.self, C133.self, C134.self, C135.self, C136.self, C137.self, C138.self, C139.self, C140.self,
    C141.self, C142.self, C143.self, C144.self, C145.self, C146.self, C147.self, C148.self, C149.self, C150.self,
    C151.self, C152.self, C153.self, C154.self, C155.self, C156.self, C157.self, C158.self, C159.self, C160.self,
    C161.self, C162.self, C163.self, C164.self, C165.self, C166.self, C167.self, C168.self, C169.self, C170.self,
    C171.self, C172.self, C173.self, C174.self, C175.self, C176.self, C177.self, C178.self, C179.self, C180.self,
    C181.self, C182.self, C183.self, C184.self, C185.self, C186.self, C187.self, C188.self, C189.self, C190.self,
    C191.self, C192.self, C193.self, C194.self, C195.self, C196.self, C197.self, C198.self, C199.self, C200.self,
]
