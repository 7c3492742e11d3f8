// SPDX-License-Identifier: Apache-2.0
// Values of types of the user's own that are stored as embedded objects, given as arguments.

/// A value that is stored as an embedded object. No object in the file is the same one: what can be asked is whether
/// one has the same members.
package struct EmbeddedArgument: Sendable {
    /// One property of the embedded class, or one entry of a dictionary.
    package struct Member: Sendable {
        package var name: String
        package var value: Constant

        package init(_ name: String, _ value: Constant) {
            self.name = name
            self.value = value
        }
    }

    /// The embedded class.
    package var className: String
    /// The type of the value, and the value, as messages show them.
    package var typeName: String
    package var shown: String
    package var members: [Member]
    /// Why it cannot be compared; nil where it can.
    package var flaw: String?

    package init(
        className: String, typeName: String, shown: String, members: [Member], flaw: String? = nil
    ) {
        self.className = className
        self.typeName = typeName
        self.shown = shown
        self.members = members
        self.flaw = flaw
    }
}

extension Constant {
    var isEmbedded: Bool {
        if case .embedded = self { return true }
        return false
    }
}
