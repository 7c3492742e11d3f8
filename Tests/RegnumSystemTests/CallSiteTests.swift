// SPDX-License-Identifier: Apache-2.0
// Which lines on a stack belong to the program, and which to the library.

import RegnumSystem
import Testing

@Suite("The line of a program that called the library")
struct CallSiteTests {
    @Test("Files of the library and generated code are not the program's")
    func paths() {
        let root = String("\(#filePath)".dropLast("Tests/RegnumSystemTests/CallSiteTests.swift".utf8.count))
        for path in [
            root + "Sources/Regnum/Realm/Realm.swift", "Sources/RegnumSystem/Platform/CallSite.swift",
            ".build/checkouts/regnum/Sources/RealmSwift/Exports.swift", "<compiler-generated>",
            "/tmp/swift-generated-sources/@__swiftmacro_1a.swift", "/usr/include/stdio.h",
        ] {
            #expect(!CallSite.isOutside(path), "\(path)")
        }
        for path in [root + "Tests/A.swift", "Sources/app/main.swift", "/home/me/App/Model.swift", "main.swift"] {
            #expect(CallSite.isOutside(path), "\(path)")
        }
    }

    @Test("The line of a call is found on the stack", .enabled(if: CallSite.isSupported))
    func line() {
        let (place, line) = (CallSite.outsideLibrary(), #line)
        #expect(place?.hasSuffix("CallSiteTests.swift:\(line)") == true, "\(place ?? "")")
    }
}
