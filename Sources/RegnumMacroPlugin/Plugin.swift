// SPDX-License-Identifier: Apache-2.0
// The program that the compiler asks to expand the macros of RegnumMacros. Without the trait it is empty, because a
// macro target is always a program.

#if Macros
    internal import SwiftCompilerPlugin
    internal import SwiftSyntaxMacros

    @main
    struct Plugin: CompilerPlugin {
        let providingMacros: [any Macro.Type] = [SnapshotMacro.self]
    }
#else
    @main
    enum Plugin {
        static func main() {}
    }
#endif
