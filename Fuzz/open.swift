// SPDX-License-Identifier: Apache-2.0
// Opening a file: any bytes, or a valid file with changed headers and slots, valid or invalid checksums, and a
// truncated end. A file that opens is read, checked and written.

import RegnumEngine
import RegnumSystem

@_cdecl("LLVMFuzzerTestOneInput") public func fuzzOpen(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(start, count)
    let mode = input.byte()
    if mode >= 0xf0 {
        HostileUse.run(input.rest)
        return 0
    }
    var file = HostileFile.good
    if mode & 1 != 0 {
        let pages = input.short() % (file.bytes.count / 4096 + 1)
        let more = input.short() % 4096
        file.bytes.removeSubrange(min(file.bytes.count, pages * 4096 + more)...)
    }
    let places = [0, FormatLimits.slotAByteOffset, FormatLimits.slotBByteOffset, FormatLimits.headerCopyByteOffset]
    while !input.isEmpty {
        let place = places[Int(input.byte() % 4)]
        guard place + 4096 <= file.bytes.count else { continue }
        // Most of such a page is empty.
        input.change(&file.bytes, from: place, to: place + (mode & 4 != 0 ? 256 : 4096))
    }
    if mode & 2 != 0, file.bytes.count >= 65536 {
        file.retagHeaders()
        for slot in places[1...2] { file.retag(slot, 4080, file.hash) }
    }
    HostileUse.run(file.bytes)
    return 0
}
