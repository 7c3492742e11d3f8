// SPDX-License-Identifier: Apache-2.0
// The only mathematical function of the C library that is needed below Foundation.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

package enum Logarithm {
    /// The natural logarithm of a positive number.
    package static func natural(_ value: Double) -> Double { log(value) }
}
