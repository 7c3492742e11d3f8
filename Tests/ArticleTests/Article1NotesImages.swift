// SPDX-License-Identifier: Apache-2.0
// The parts that "TDD with Realm" leaves to UIKit and to its readers: an image type that is stored in a file, and the
// functions of `NoteManager` that the article calls and does not show. Images are portable pixmaps; `Examples/Notes`
// uses real image formats.

import Foundation

/// Red, green and blue bytes, row after row.
final class UIImage {
    let size: CGSize
    private let pixels: [UInt8]

    init(width: Int, height: Int, pixels: [UInt8]) {
        size = CGSize(width: width, height: height)
        self.pixels = pixels
    }

    /// Reads the bytes of a file that `data` made.
    convenience init?(data: Data) {
        let parts = data.split(separator: 10, maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].elementsEqual("P6".utf8) else { return nil }
        let sides = String(decoding: parts[1], as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        guard sides.count == 2, parts[3].count == 3 * sides[0] * sides[1] else { return nil }
        self.init(width: sides[0], height: sides[1], pixels: Array(parts[3]))
    }

    var data: Data { Data("P6\n\(Int(size.width)) \(Int(size.height))\n255\n".utf8) + pixels }

    /// Takes the nearest pixel of the larger image for each pixel of the smaller one.
    func scaled(width: Int, height: Int) -> UIImage {
        let (oldWidth, oldHeight) = (Int(size.width), Int(size.height))
        var result: [UInt8] = []
        for y in 0..<height {
            for x in 0..<width {
                let place = 3 * (y * oldHeight / height * oldWidth + x * oldWidth / width)
                result.append(contentsOf: pixels[place..<(place + 3)])
            }
        }
        return UIImage(width: width, height: height, pixels: result)
    }
}

func createAnImageOf(size: CGSize) -> UIImage? {
    let (width, height) = (Int(size.width), Int(size.height))
    return UIImage(width: width, height: height, pixels: Array(repeating: 0x7f, count: 3 * width * height))
}

extension NoteManager {
    func checkImageDirectoryPath() -> String {
        let folder = documentsURL.appendingPathComponent("images", isDirectory: true)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch { return "badpath" }
        return folder.path
    }

    func checkIfDirectoryExistFor(fullPath: String) -> Bool { FileManager.default.fileExists(atPath: fullPath) }

    func loadImageFrom(fileName: String) -> UIImage? {
        FileManager.default.contents(atPath: checkImageDirectoryPath() + "/" + fileName)
            .flatMap { UIImage(data: $0) }
    }

    func scaleImageTo(maximumWidth: CGFloat, image: UIImage) -> UIImage {
        let height = image.size.height * maximumWidth / image.size.width
        return image.scaled(width: Int(maximumWidth), height: Int(height.rounded()))
    }
}
