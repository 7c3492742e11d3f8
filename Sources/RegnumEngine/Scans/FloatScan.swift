// SPDX-License-Identifier: Apache-2.0
// The loops of `CompareScan` over floating-point numbers, eight rows per step. They are repeated for each type, because
// vector comparisons compile to vector instructions only if the type is known at compile time.

protocol ScannedFloat: BinaryFloatingPoint {
    static func scanEqual(_ data: UnsafeRawPointer, _ count: Int, _ value: Self, _ out: RowBitmap)
    static func scanAtLeast(_ data: UnsafeRawPointer, _ count: Int, _ value: Self, _ out: RowBitmap)
    static func scanGreater(_ data: UnsafeRawPointer, _ count: Int, _ value: Self, _ out: RowBitmap)
    /// Selects the rows that are not NaN.
    static func scanNumbers(_ data: UnsafeRawPointer, _ count: Int, _ out: RowBitmap)
}

extension Double: ScannedFloat {
    static func scanEqual(_ data: UnsafeRawPointer, _ count: Int, _ value: Double, _ out: RowBitmap) {
        let constants = SIMD8<Double>(repeating: value)
        scan(data, count, out) {
            $0 .== constants
        } last: {
            $0 == value
        }
    }

    static func scanAtLeast(_ data: UnsafeRawPointer, _ count: Int, _ value: Double, _ out: RowBitmap) {
        let constants = SIMD8<Double>(repeating: value)
        scan(data, count, out) {
            $0 .>= constants
        } last: {
            $0 >= value
        }
    }

    static func scanGreater(_ data: UnsafeRawPointer, _ count: Int, _ value: Double, _ out: RowBitmap) {
        let constants = SIMD8<Double>(repeating: value)
        scan(data, count, out) {
            $0 .> constants
        } last: {
            $0 > value
        }
    }

    static func scanNumbers(_ data: UnsafeRawPointer, _ count: Int, _ out: RowBitmap) {
        scan(data, count, out) {
            $0 .== $0
        } last: {
            $0 == $0
        }
    }

    @inline(__always)
    private static func scan(
        _ data: UnsafeRawPointer, _ count: Int, _ out: RowBitmap,
        _ test: (SIMD8<Double>) -> SIMDMask<SIMD8<Int64>>, last: (Double) -> Bool
    ) {
        CompareScan.eights(count, out) { block in
            let values = data.loadUnaligned(fromByteOffset: block &* 64, as: SIMD8<Double>.self)
            return CompareScan.lanes(unsafeBitCast(test(values), to: SIMD8<Int64>.self))
        } last: {
            last(data.load(fromByteOffset: $0 &* 8, as: Double.self))
        }
    }
}

extension Float: ScannedFloat {
    static func scanEqual(_ data: UnsafeRawPointer, _ count: Int, _ value: Float, _ out: RowBitmap) {
        let constants = SIMD8<Float>(repeating: value)
        scan(data, count, out) {
            $0 .== constants
        } last: {
            $0 == value
        }
    }

    static func scanAtLeast(_ data: UnsafeRawPointer, _ count: Int, _ value: Float, _ out: RowBitmap) {
        let constants = SIMD8<Float>(repeating: value)
        scan(data, count, out) {
            $0 .>= constants
        } last: {
            $0 >= value
        }
    }

    static func scanGreater(_ data: UnsafeRawPointer, _ count: Int, _ value: Float, _ out: RowBitmap) {
        let constants = SIMD8<Float>(repeating: value)
        scan(data, count, out) {
            $0 .> constants
        } last: {
            $0 > value
        }
    }

    static func scanNumbers(_ data: UnsafeRawPointer, _ count: Int, _ out: RowBitmap) {
        scan(data, count, out) {
            $0 .== $0
        } last: {
            $0 == $0
        }
    }

    @inline(__always)
    private static func scan(
        _ data: UnsafeRawPointer, _ count: Int, _ out: RowBitmap,
        _ test: (SIMD8<Float>) -> SIMDMask<SIMD8<Int32>>, last: (Float) -> Bool
    ) {
        CompareScan.eights(count, out) { block in
            let values = data.loadUnaligned(fromByteOffset: block &* 32, as: SIMD8<Float>.self)
            return CompareScan.lanes(unsafeBitCast(test(values), to: SIMD8<Int32>.self))
        } last: {
            last(data.load(fromByteOffset: $0 &* 4, as: Float.self))
        }
    }
}
