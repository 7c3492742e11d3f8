// SPDX-License-Identifier: Apache-2.0
// The processor time of a thread, for tests that limit the work of a call: other load of the machine does not count.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

package enum ThreadTime {
    /// The processor time of the calling thread, in seconds.
    package static var seconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
}
