// SPDX-License-Identifier: Apache-2.0
// The equality of values in sections and groups.

package import RegnumEngine

/// A value with the equality of storage: strings are compared by their bytes, and NaN equals NaN.
package struct GroupKey: Hashable, Sendable {
    package let value: Value

    package init(_ value: Value) { self.value = value }

    package static func == (left: GroupKey, right: GroupKey) -> Bool {
        switch (left.value, right.value) {
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.double(let left), .double(let right)): left == right || left.isNaN && right.isNaN
        case (.float(let left), .float(let right)): left == right || left.isNaN && right.isNaN
        default: left.value == right.value
        }
    }

    package func hash(into hasher: inout Hasher) {
        switch value {
        case .string(let text):
            var text = text
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .double(let number): hasher.combine(number.isNaN ? Double.infinity : number)
        case .float(let number): hasher.combine(number.isNaN ? Float.infinity : number)
        default: hasher.combine(value)
        }
    }
}
