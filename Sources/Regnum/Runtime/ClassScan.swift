// SPDX-License-Identifier: Apache-2.0
// Finds every concrete, non-generic subclass of a base class in the images loaded into the process.
//
// The Swift runtime keeps a record of the metadata sections of each loaded image (each image registers itself) and
// exports `swift_enumerateAllMetadataSections` to enumerate them; Swift Testing finds its tests the same way. Only
// memory emitted by the compiler is read, and a metadata accessor is called only for a class that its descriptors alone
// show to derive from the base: no foreign class is ever realised.
//
// Layout of the data read (stable on Apple's systems, de facto stable on Linux; a test fails loudly if it differs):
//
//     MetadataSections   version, baseAddress, 2 unused words, then (start, length) of: protocols,
//                        conformances, type metadata, ...
//     record             Int32 relative to itself; low bits 0: to the descriptor, 1: to a pointer to it
//     class descriptor   UInt32 flags (low 5 bits 16: class; 0x80: generic), then Int32 relative to
//                        themselves: parent, name, accessor (+12), fields (+16), superclass's mangled name (+20)
//     mangled name       byte 1 + Int32: reference to a descriptor; byte 2 + Int32: to a pointer to it
//     class metadata     descriptor at 2 words + 24 bytes

private struct SectionRange {
    var start: UInt
    var byteCount: Int
}

private struct MetadataSections {
    var version: UInt
    var baseAddress: UnsafeRawPointer?
    var unused0: UnsafeRawPointer?
    var unused1: UnsafeRawPointer?
    var protocols: SectionRange
    var conformances: SectionRange
    var typeMetadata: SectionRange
}

/// Exported by the dynamic and the static runtime. Plain pointers only: the Swift and C calling conventions agree for
/// them.
@_silgen_name("swift_enumerateAllMetadataSections")
private func enumerateAllMetadataSections(
    _ body: @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer?) -> Bool,
    _ context: UnsafeMutableRawPointer?)

package enum ClassScan {
    /// The subclasses of `base`, without `base` itself, in link order. Generic classes are left out; a concrete class
    /// that derives from a specialised generic class is included. Any thread; about 0.3 ms for a large program.
    package static func subclasses(of base: AnyClass) -> [AnyClass] {
        var scan = Scan(base: descriptor(of: base))
        scan.run()
        return scan.found
    }

    private static func descriptor(of type: AnyClass) -> UnsafeRawPointer {
        unsafeBitCast(type, to: UnsafeRawPointer.self)
            .load(fromByteOffset: 2 * MemoryLayout<UInt>.size + 24, as: UnsafeRawPointer.self)
    }
}

private struct Scan {
    let base: UnsafeRawPointer
    private var isSubclass: [UnsafeRawPointer: Bool]
    private var seen: Set<UnsafeRawPointer> = []
    var found: [AnyClass] = []

    init(base: UnsafeRawPointer) {
        self.base = base
        isSubclass = [base: true]
    }

    mutating func run() {
        withUnsafeMutablePointer(to: &self) { scan in
            enumerateAllMetadataSections(
                { raw, context in
                    let sections = raw.load(as: MetadataSections.self)
                    guard let scan = context?.assumingMemoryBound(to: Scan.self), sections.version >= 1,
                        let start = UnsafeRawPointer(bitPattern: sections.typeMetadata.start)
                    else { return true }
                    for offset in stride(from: 0, to: sections.typeMetadata.byteCount & ~3, by: 4) {
                        scan.pointee.visit(start + offset)
                    }
                    return true
                }, UnsafeMutableRawPointer(scan))
        }
    }

    private mutating func visit(_ record: UnsafeRawPointer) {
        let value = record.load(as: Int32.self)
        // Linkers may leave zeros between records.
        guard value != 0 else { return }
        var target = record + Int(value & ~3)
        switch value & 3 {
        case 0: break
        case 1:
            guard let through = target.load(as: UnsafeRawPointer?.self) else { return }
            target = through
        default: return
        }
        let flags = target.load(as: UInt32.self)
        guard flags & 0x1f == 16, flags & 0x80 == 0, target != base, derives(target) else { return }
        // Two images may contain the same record.
        guard seen.insert(target).inserted, let type = metadata(of: target) else { return }
        found.append(type)
    }

    private mutating func derives(_ descriptor: UnsafeRawPointer) -> Bool {
        if let known = isSubclass[descriptor] { return known }
        var answer = false
        let field = descriptor + 20
        let relative = field.load(as: Int32.self)
        if relative != 0 {
            let name = field + Int(relative)
            let reference = name + 1
            switch name.load(as: UInt8.self) {
            case 1:
                answer = derives(reference + Int(reference.loadUnaligned(as: Int32.self)))
            case 2:
                // Nil if weakly linked and absent.
                let slot = reference + Int(reference.loadUnaligned(as: Int32.self))
                answer = slot.load(as: UnsafeRawPointer?.self).map { derives($0) } ?? false
            default:
                // A spelled-out name: from the standard library, never one of our classes.
                break
            }
        }
        isSubclass[descriptor] = answer
        return answer
    }

    /// Calls the metadata accessor; request 0 means "complete, blocking".
    private func metadata(of descriptor: UnsafeRawPointer) -> AnyClass? {
        let field = descriptor + 12
        let relative = field.load(as: Int32.self)
        guard relative != 0 else { return nil }
        typealias Accessor = @convention(c) (UInt) -> UnsafeRawPointer
        let accessor = unsafeBitCast(field + Int(relative), to: Accessor.self)
        return unsafeBitCast(accessor(0), to: AnyClass.self)
    }
}
