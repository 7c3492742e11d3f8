// SPDX-License-Identifier: Apache-2.0
// Pictures, by the GD library: the counterpart of UIImage on iOS.

import CGD
import Foundation

/// A picture of true colours. It does not change once it is made.
public final class Picture: @unchecked Sendable {
    // Sendable: the image is only written while it is created.
    private let image: gdImagePtr

    private init?(_ image: gdImagePtr?) {
        guard let image else { return nil }
        self.image = image
    }

    deinit { gdImageDestroy(image) }

    /// Width and height in pixels.
    public var size: CGSize { CGSize(width: Int(image.pointee.sx), height: Int(image.pointee.sy)) }

    /// A picture of one colour, 0xRRGGBB; nil for invalid or too large sizes.
    public convenience init?(size: CGSize, color: Int32) {
        guard (1...16_384).contains(size.width), (1...16_384).contains(size.height) else { return nil }
        let (width, height) = (Int32(size.width), Int32(size.height))
        self.init(gdImageCreateTrueColor(width, height))
        gdImageFilledRectangle(image, 0, 0, width - 1, height - 1, color)
    }

    /// Reads PNG, JPEG, GIF and WebP; nil for anything else, and for damaged files.
    public convenience init?(data: Data) {
        let kinds: [([UInt8], (Int32, UnsafeMutableRawPointer?) -> gdImagePtr?)] = [
            ([0x89, 0x50, 0x4E, 0x47], gdImageCreateFromPngPtr), ([0xFF, 0xD8, 0xFF], gdImageCreateFromJpegPtr),
            ([0x47, 0x49, 0x46, 0x38], gdImageCreateFromGifPtr), ([0x52, 0x49, 0x46, 0x46], gdImageCreateFromWebpPtr),
        ]
        guard let read = kinds.first(where: { data.starts(with: $0.0) })?.1, let count = Int32(exactly: data.count)
        else { return nil }
        // GD takes a mutable pointer, and does not change the bytes.
        var bytes = [UInt8](data)
        self.init(bytes.withUnsafeMutableBytes { read(count, $0.baseAddress) })
    }

    /// The picture as a PNG file; nil if there is not enough memory.
    public func pngData() -> Data? {
        var count: Int32 = 0
        gdImageSaveAlpha(image, 1)
        guard let bytes = gdImagePngPtr(image, &count) else { return nil }
        defer { gdFree(bytes) }
        return Data(bytes: bytes, count: Int(count))
    }

    /// The picture with that width and the same proportions; nil if there is not enough memory.
    public func scaled(toWidth width: CGFloat) -> Picture? {
        let height = max(1, (size.height * width / size.width).rounded())
        gdImageSetInterpolationMethod(image, GD_BICUBIC)
        return Picture(gdImageScale(image, UInt32(max(1, width)), UInt32(height)))
    }
}
