// SPDX-License-Identifier: Apache-2.0
// Creates accessors of managed objects. If every stored property of a class may be zero-initialised, the user's
// initialiser does not run: the accessor is a copy of a zeroed image with the object header in front, about 35 ns.

internal import RegnumSystem

/// Creates the accessors of one class. Immutable; any thread.
package struct AccessorFactory: @unchecked Sendable {
    // Sendable: the image is written once in `init` and is never deallocated, like the class's metadata.
    private let type: ObjectBase.Type
    private let image: UnsafeMutableRawPointer?
    private let byteCount: Int

    /// `usesImage`: whether all stored properties of the class below `ObjectBase` may be zero. Without effect if the
    /// runtime does not have the expected layout.
    init(_ type: ObjectBase.Type, instanceSize: Int, usesImage: Bool) {
        self.type = type
        byteCount = instanceSize
        guard usesImage, RuntimeLayout.isVerified else {
            image = nil
            return
        }
        let image = UnsafeMutableRawPointer.allocate(byteCount: instanceSize, alignment: 16)
        Memory.zero(image, instanceSize)
        RuntimeLayout.writeHeader(of: type, to: image)
        self.image = image
    }

    /// True if accessors are copies of the image.
    package var usesImage: Bool { image != nil }

    /// Returns a new instance that is not yet bound to a row.
    @inline(__always)
    package func make() -> ObjectBase {
        guard let image else { return type.init() }
        let memory = Memory.allocateInstance(byteCount)
        memory.copyMemory(from: image, byteCount: byteCount)
        return Unmanaged<ObjectBase>.fromOpaque(memory).takeRetainedValue()
    }
}
