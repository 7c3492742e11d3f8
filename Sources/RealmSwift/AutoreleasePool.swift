// SPDX-License-Identifier: Apache-2.0
// A replacement for `autoreleasepool`, in which existing Realm code wraps work on background threads. Linux has no
// autorelease pools and needs none, because an object is released when its last reference goes away. This function lets
// such code compile.

#if !canImport(ObjectiveC)
    /// Runs `body` and returns its result. An object is released when its last reference goes away, so there is nothing
    /// to drain.
    public func autoreleasepool<Result, Failure: Error>(
        invoking body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body()
    }
#endif
