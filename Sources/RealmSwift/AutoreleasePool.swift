// SPDX-License-Identifier: Apache-2.0
// Ordinary Realm code wraps work on background threads in `autoreleasepool`. Linux has no such pools, and needs
// none: references end where they end. The function is here so that this code compiles.

#if !canImport(ObjectiveC)
    /// Runs `body` and returns what it returns. Objects end with their last reference, so there is nothing to drain.
    public func autoreleasepool<Result, Failure: Error>(
        invoking body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body()
    }
#endif
