// SPDX-License-Identifier: Apache-2.0
// The bytes of a file or of standard input, in chunks.

import Foundation
import RegnumInspect

extension ByteSource {
    /// The file at a path; standard input for `-`.
    init(path: String) throws {
        let handle: FileHandle
        if path == "-" {
            handle = .standardInput
        } else {
            do { handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path)) } catch {
                throw Refusal("'\(path)' cannot be read: \(error.localizedDescription)")
            }
        }
        self.init { [UInt8](try handle.read(upToCount: 1 << 18) ?? Data()) }
    }
}
