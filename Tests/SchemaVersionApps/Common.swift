// SPDX-License-Identifier: Apache-2.0
// Shared by the apps of all versions: `write FILE` makes a file as a user of that version would have it; `open FILE`
// opens it as the app does at launch, with its migration, and prints all people, one on each line.

import Foundation
import RealmSwift

/// The line of a person; each version fills in its properties.
struct Line {
    var id = ""
    var name = ""
    var born = "-"
    var email = "-"
    var city = "-"
    var vehicles: [String] = []

    var text: String { [id, name, born, email, city, vehicles.joined(separator: ",")].joined(separator: "|") }
}

@main
enum Program {
    static let count = 40

    static func main() {
        do { try run() } catch {
            FileHandle.standardError.write(Data("\(error)\n".utf8))
            exit(1)
        }
    }

    private static func run() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3 else { fatalError("usage: write|open FILE") }
        var configuration = RealmConfigurator.makeDefaultConfiguration()
        configuration.fileURL = URL(fileURLWithPath: arguments[2])
        let realm = try Realm(configuration: configuration)
        if arguments[1] == "write" {
            try realm.write { for number in 0..<count { realm.add(person(number)) } }
            return
        }
        for person in realm.objects(Person.self).sorted(byKeyPath: "id") { print(line(person).text) }
    }
}
