// SPDX-License-Identifier: Apache-2.0
// Names that RealmSwift has and Regnum does not: a program's own types of these names take precedence over the
// declarations that say so.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

private class User: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted(indexed: true) var name = ""
    @Persisted var credentials: Credentials?
}

private class Credentials: EmbeddedObject {
    @Persisted var token = ""
}

private struct App {
    let realm: Realm
    func users() -> [String] { Array(realm.objects(User.self).map(\.name)) }
}

private enum SyncSession { case open }

@propertyWrapper
private struct ObservedResults<Value> {
    var wrappedValue: Value
}

private struct View {
    @ObservedResults var names = ["a"]
}

@Suite("Names that RealmSwift has and Regnum does not")
struct RetiredNamesTests {
    @Test("A program's own types take precedence")
    func ownTypes() throws {
        let realm = try memoryRealm(User.self, Credentials.self)
        try realm.write {
            let user = realm.create(User.self, value: ["id": 1, "name": "Ann"] as [String: Any])
            user.credentials = Credentials(value: ["token": "t"])
        }
        #expect(App(realm: realm).users() == ["Ann"] && SyncSession.open == .open && View().names == ["a"])
        #expect(realm.object(ofType: User.self, forPrimaryKey: 1)?.credentials?.token == "t")
    }
}
