// SPDX-License-Identifier: Apache-2.0
// Makes accessors of managed objects. Where every stored property is one of ours, without running the user's
// initialiser: a copy of an image of zeros with the object header in front, about 35 ns.

internal import RegnumSystem

/// One class's way to make accessors. Immutable; any thread.
package struct AccessorFactory: @unchecked Sendable {
    // Sendable: the image is written once in `init` and lives for ever, as the class does.
    private let type: ObjectBase.Type
    private let image: UnsafeMutableRawPointer?
    private let byteCount: Int

    /// `usesImage`: all stored properties of the class below `ObjectBase` may be zeros.
    init(_ type: ObjectBase.Type, instanceSize: Int, usesImage: Bool) {
        self.type = type
        byteCount = instanceSize
        guard usesImage else {
            image = nil
            return
        }
        let image = UnsafeMutableRawPointer.allocate(byteCount: instanceSize, alignment: 16)
        Memory.zero(image, instanceSize)
        // Metadata pointer and the reference count of an object with one owner: 3 is what the runtime stores
        // for a new native object.
        image.storeBytes(of: unsafeBitCast(type as AnyClass, to: UInt.self), as: UInt.self)
        image.storeBytes(of: 3, toByteOffset: MemoryLayout<UInt>.size, as: UInt.self)
        self.image = image
    }

    /// True where accessors are copies of the image.
    package var usesImage: Bool { image != nil }

    /// A new instance, not bound to a row yet.
    @inline(__always)
    package func make() -> ObjectBase {
        guard let image else { return type.init() }
        let memory = Memory.allocateInstance(byteCount)
        memory.copyMemory(from: image, byteCount: byteCount)
        return Unmanaged<ObjectBase>.fromOpaque(memory).takeRetainedValue()
    }
}
