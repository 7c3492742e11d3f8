// SPDX-License-Identifier: Apache-2.0
// A replacement for `autoreleasepool`, in which existing Realm code wraps work on background threads. Linux has no such
// pools and needs none, because objects are released with their last reference. The function makes that code compile.

#if !canImport(ObjectiveC)
    /// Runs `body` and returns its result. Objects are released with their last reference, so there is nothing to
    /// drain.
    public func autoreleasepool<Result, Failure: Error>(
        invoking body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body()
    }
#endif
