// SPDX-License-Identifier: Apache-2.0
// A program that does not list its classes: prints the names of the default schema, one on each line.
//
//     discovery                names
//     discovery plugin FILE    names before and after FILE is loaded
//     discovery clash          uses a class whose name another module has too: ends with a message
//     discovery listed         lists that class in `objectTypes`: no clash

import First
import Foundation
import RealmSwift
import Second

func writeNames(_ identifier: String) throws {
    let realm = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: identifier))
    let names = realm.schema.objectSchema.map(\.className).sorted().joined(separator: " ")
    FileHandle.standardOutput.write(Data((names + "\n").utf8))
}

let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "plugin":
    try writeNames("before")
    guard dlopen(arguments[2], RTLD_NOW) != nil else { fatalError(String(cString: dlerror())) }
    try writeNames("after")
case "clash":
    let realm = try Realm(configuration: Realm.Configuration(inMemoryIdentifier: "clash"))
    _ = realm.objects(First.Twice.self).count
case "listed":
    let configuration = Realm.Configuration(inMemoryIdentifier: "listed", objectTypes: [Second.Twice.self])
    let realm = try Realm(configuration: configuration)
    try realm.write { realm.add(Second.Twice()) }
    FileHandle.standardOutput.write(Data("\(realm.objects(Second.Twice.self).count) Twice\n".utf8))
default:
    try writeNames("names")
}
