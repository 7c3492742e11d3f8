// SPDX-License-Identifier: Apache-2.0
// The name of a class in the file. It must not differ between two runs: the reflected name of a private class contains
// an address, which is left out.

package enum ClassNames {
    /// The result of `_realmObjectName()` if the class overrides it; otherwise `Outer_Inner` for a nested class, and
    /// the bare name for a private, file-private or function-local one. O(length of the name).
    package static func name(of type: ObjectBase.Type) -> String {
        if let given = type._realmObjectName() { return given }
        return parts(of: type).names.joined(separator: "_")
    }

    /// The module that declares the class.
    package static func module(of type: ObjectBase.Type) -> String { parts(of: type).module }

    private static func parts(of type: ObjectBase.Type) -> (module: String, names: [String]) {
        var parts = split(String(reflecting: type))
        let module = parts.isEmpty ? "" : parts.removeFirst()
        // Parts before an anonymous context are of no use: the class cannot be named from outside.
        if let hidden = parts.lastIndex(where: { $0.hasPrefix("(") }) { parts.removeSubrange(...hidden) }
        return (module.split(separator: ":").last.map(String.init) ?? module, parts)
    }

    /// Splits a reflected name at the dots outside brackets.
    private static func split(_ name: String) -> [String] {
        var parts: [String] = []
        var part = ""
        var depth = 0
        for character in name {
            switch character {
            case "(", "<": depth += 1
            case ")", ">": depth -= 1
            default: break
            }
            if character == ".", depth == 0 {
                parts.append(part)
                part = ""
            } else {
                part.append(character)
            }
        }
        parts.append(part)
        return parts
    }
}
