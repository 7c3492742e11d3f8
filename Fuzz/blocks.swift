// SPDX-License-Identifier: Apache-2.0
// The decoders of blocks: one or two blocks of a valid file are changed, and all checksums above them recomputed.

import RegnumEngine
import RegnumSystem

@_cdecl("LLVMFuzzerTestOneInput") public func fuzzBlocks(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    var input = FuzzInput(start, count)
    var file = HostileFile.good
    let pages = file.usedBlocks
    for _ in 0..<(1 + Int(input.byte() % 2)) {
        let page = pages[input.short() % pages.count]
        let isNearStart = input.byte() & 1 != 0
        let first = page * 4096 + (input.byte() & 7 == 0 ? 0 : BlockHeader.byteCount)
        let end = ((file.blocks.lastIndex(of: page) ?? page) + 1) * 4096
        for _ in 0..<(1 + Int(input.byte() % 12)) where !input.isEmpty {
            input.change(&file.bytes, from: first, to: isNearStart ? min(end, first + 400) : end)
        }
        file.retag(page)
    }
    HostileUse.run(file.bytes)
    return 0
}
