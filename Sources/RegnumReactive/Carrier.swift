// SPDX-License-Identifier: Apache-2.0
// What the publishers stand on: Combine where the system has it, OpenCombine where the trait `Publishers` asks for
// it. Without either the module holds one declaration, which says how to get the rest.

#if canImport(Combine)
    @_exported public import Combine
#elseif Publishers
    @_exported public import OpenCombine
    @_exported public import OpenCombineDispatch
#else
    /// Needs the trait `Publishers` of the package.
    @available(
        *, unavailable,
        message: """
            Publishers are switched off. Add the trait to your Package.swift: \
            .package(url: "...", from: "...", traits: [.defaults, "Publishers"])
            """
    )
    public enum RealmPublishers {}
#endif
