// SPDX-License-Identifier: Apache-2.0
// The default configuration of the process, set by one test and read by another.

import Foundation
import Regnum
import RegnumTestKit
import Testing

/// Sets the configuration of the process, which the other suites do not use.
@Suite("The default configuration of two tests", .serialized)
struct DefaultConfigurationWatchTests {
    @Test("A test that reads a default configuration set by another test gets an issue")
    func replaced() throws {
        let previous = Realm.Configuration.defaultConfiguration
        defer { Realm.Configuration.defaultConfiguration = previous }
        _ = try TestRealm(Pup.self)
        Realm.Configuration.defaultConfiguration.inMemoryIdentifier = "mine"
        #expect(issues { _ = Realm.Configuration.defaultConfiguration } == [])
        DefaultConfigurationWatch.note(isWrite: true, by: "'other()'")
        let texts = issues { _ = Realm.Configuration.defaultConfiguration }
        #expect(texts.count == 1)
        #expect(texts.first?.contains("by 'other()' while it ran") == true, "\(texts)")
        #expect(issues { _ = Realm.Configuration.defaultConfiguration } == [])
    }
}
