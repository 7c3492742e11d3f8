// SPDX-License-Identifier: Apache-2.0
// Opening a Realm in a process that has almost no file descriptors left.

import Foundation
import RealmSwift
import RegnumTestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

@Suite struct DescriptorLimitTests {
    @Test("With few file descriptors left, opening a Realm throws, or the Realm is usable")
    func openings() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("descriptors-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("a.realm").path
        await #expect(processExitsWith: .success) { [path = path as String] in
            try SeveralProcessesTests.makeFile(path)
            // Lowers the limit, so that only few descriptors have to be opened to exhaust them.
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = min(limit.rlim_cur, 256)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var (refusals, successes) = (0, 0)
            for spare in 0..<40 {
                var taken: [Int32] = []
                while case let descriptor = open("/", O_RDONLY), descriptor >= 0 { taken.append(descriptor) }
                for _ in 0..<min(spare, taken.count) { close(taken.removeLast()) }
                do {
                    try autoreleasepool {
                        let realm = try Realm(configuration: KilledProcessTests.configuration(path))
                        try realm.write { realm.add(KilledProcessTests.row(spare + 1)) }
                        successes += 1
                    }
                } catch let error as Realm.Error {
                    guard error.reason == .tooManyFiles else { exit(11) }
                    refusals += 1
                }
                for descriptor in taken { close(descriptor) }
            }
            exit(refusals >= 5 && successes >= 5 ? 0 : 12)
        }
        expectIntegrity(of: KilledProcessTests.configuration(path))
    }
}
