// SPDX-License-Identifier: Apache-2.0
// Checks whether the process can open more files. Dispatch and Foundation need descriptors for each run loop and for
// the main queue, and end the program if the system refuses them.

package enum SpareDescriptors {
    /// Returns true if `count` more files can be opened now. Costs `count` calls to open.
    package static func has(_ count: Int) -> Bool {
        var opened: [Int32] = []
        defer { for descriptor in opened { SystemCalls.closeFile(descriptor) } }
        for _ in 0..<count {
            let result = withUTF8Path("/") { SystemCalls.openDirectory($0) }
            guard result >= 0 else { return false }
            opened.append(Int32(result))
        }
        return true
    }
}
