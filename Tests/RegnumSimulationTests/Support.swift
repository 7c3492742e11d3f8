// SPDX-License-Identifier: Apache-2.0
// A file of two durable pages, and its contents after a power loss.

import RegnumSimulation
import RegnumSystem

func filled(_ byte: UInt8, _ count: Int = 4_096) -> [UInt8] { [UInt8](repeating: byte, count: count) }

/// A file "a" of two durable pages of ones, with a durable name.
func twoPages() throws -> (SimulatedFileSystem, any File) {
    let files = SimulatedFileSystem(seed: 3)
    let file = try files.open("a", .readWriteCreate)
    try file.write(filled(1, 8_192), at: 0)
    try file.sync(.full)
    try files.syncDirectory(containing: "a")
    return (files, file)
}

/// The contents of "a" in many images.
func images(
    _ files: SimulatedFileSystem, _ model: LossModel, count: Int = 200, keepingFirst: Int = .max
) -> Set<[UInt8]?> {
    var random = SeededRandom(seed: 11)
    return Set(
        (0..<count).map { _ in
            files.crash(keepingFirst: keepingFirst, model: model, random: &random).contents(of: "a")
        })
}
