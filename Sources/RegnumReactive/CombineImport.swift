// SPDX-License-Identifier: Apache-2.0
// The reactive framework in use: Combine if the platform has it, OpenCombine if the trait `Publishers` is enabled.
// Without either, the module contains one declaration, whose message says how to enable publishers.

#if canImport(Combine)
    @_exported public import Combine
#elseif Publishers
    @_exported public import OpenCombine
    @_exported public import OpenCombineDispatch
#else
    /// Requires the trait `Publishers` of the package.
    @available(
        *, unavailable,
        message: """
            Publishers are switched off. Add the trait to your Package.swift: \
            .package(url: "...", from: "...", traits: [.defaults, "Publishers"])
            """
    )
    public enum RealmPublishers {}
#endif
