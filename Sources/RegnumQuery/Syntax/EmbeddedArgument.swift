// SPDX-License-Identifier: Apache-2.0
// Arguments of user-defined types that are stored as embedded objects.

/// A value stored as an embedded object. It is never identical to an object in the file: comparisons test whether an
/// object has the same members.
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

    /// The name of the embedded class.
    package var className: String
    /// The type of the value, and the value, as shown in error messages.
    package var typeName: String
    package var shown: String
    package var members: [Member]
    /// The reason it cannot be compared; nil if it can.
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
