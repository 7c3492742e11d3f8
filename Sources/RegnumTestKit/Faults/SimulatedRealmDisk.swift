// SPDX-License-Identifier: Apache-2.0
// A simulated disk with one realm file, at a unique path.

internal import Foundation
internal import Regnum
internal import RegnumSimulation
internal import RegnumSystem

final class SimulatedRealmDisk: Sendable {
    let files: SimulatedFileSystem
    private let folder: String
    private var path: String { folder + "test.realm" }

    /// Creates a disk with these bytes as the file, or without a file if they are nil.
    init(_ contents: [UInt8]?, seed: UInt64) {
        folder = "/regnum-pretended-\(UUID().uuidString)/"
        files = SimulatedFileSystem(seed: seed, isShared: false)
        if let contents { files.setContents(of: folder + "test.realm", contents) }
    }

    func configuration(_ types: [ObjectBase.Type]) -> Realm.Configuration {
        var configuration = Realm.Configuration(
            fileURL: URL(fileURLWithPath: path), objectTypes: types.isEmpty ? nil : types)
        configuration.extras.fileSystem = files
        return configuration
    }

    /// The file as programs see it.
    var contents: [UInt8]? { files.contents(of: path) }

    /// The file as it is after the fault.
    func contents(after fault: StorageFault, _ random: inout SeededRandom) -> [UInt8]? {
        switch fault {
        case .powerLoss:
            let models = LossModel.allCases
            return files.crash(model: models[random.below(models.count)], random: &random).contents(of: path)
        case .killedProcess, .diskFull, .ioError: return contents
        }
    }
}
