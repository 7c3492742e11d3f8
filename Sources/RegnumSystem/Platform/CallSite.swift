// SPDX-License-Identifier: Apache-2.0
// Finds the line of the program from which the library was called, for the message of a programmer error. Only Linux's
// toolchains have the module that reads stacks and debug information.

#if canImport(Runtime) && !canImport(Darwin)
    import Runtime
#endif

package enum CallSite {
    /// The folder of the library's sources, as debug information names it.
    private static let sources = String("\(#filePath)".dropLast("RegnumSystem/Platform/CallSite.swift".utf8.count))

    /// More frames are not searched: the caller of the library is near the top.
    private static let frameLimit = 32

    /// False if `outsideLibrary` always returns nil.
    package static var isSupported: Bool {
        #if canImport(Runtime) && !canImport(Darwin)
            true
        #else
            false
        #endif
    }

    /// The innermost line on the stack that is not part of the library, such as "/home/me/App/Model.swift:40"; nil
    /// without debug information. Takes some hundredths of a second. The functions of the program must keep
    /// frame pointers, which is SwiftPM's default.
    @inline(never)
    package static func outsideLibrary() -> String? {
        #if canImport(Runtime) && !canImport(Darwin)
            let stack = try? Backtrace.capture(limit: frameLimit, top: 0)
            for frame in stack?.symbolicated()?.frames ?? [] {
                guard let place = frame.symbol?.sourceLocation else { continue }
                if place.line > 0, isOutside(place.path) { return "\(place.path):\(place.line)" }
            }
        #endif
        return nil
    }

    /// False for a source file of the library, and for generated code. A path may be relative to the folder of the
    /// build.
    package static func isOutside(_ path: String) -> Bool {
        if !path.hasSuffix(".swift") || path.contains("@__swiftmacro") { return false }
        if path.hasPrefix("/") { return !path.hasPrefix(sources) }
        let parts = path.split(separator: "/")
        guard let place = parts.lastIndex(of: "Sources"), place + 1 < parts.count else { return true }
        return parts[place + 1] != "RealmSwift" && !parts[place + 1].hasPrefix("Regnum")
    }
}
