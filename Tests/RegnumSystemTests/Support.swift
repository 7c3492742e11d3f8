// SPDX-License-Identifier: Apache-2.0
// A new path, the kind of a thrown error, and writing an array.

import Foundation
import RegnumSystem

func freshPath() -> String {
    var name: UInt64 = 0
    withUnsafeMutableBytes(of: &name) { PosixFileSystem.shared.fillRandom($0) }
    return FileManager.default.temporaryDirectory.path + "/regnum-tests-\(name)"
}

func errorKind(_ body: () throws -> Void) -> SystemError.Kind? {
    do {
        try body()
        return nil
    } catch {
        return (error as? SystemError)?.kind
    }
}

extension File {
    func write(_ bytes: [UInt8], at offset: Int) throws {
        try bytes.withUnsafeBytes { try write($0, at: offset) }
    }
}
