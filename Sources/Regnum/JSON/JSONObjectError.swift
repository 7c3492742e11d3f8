// SPDX-License-Identifier: Apache-2.0
// The error of objects that are read from JSON or written as JSON, with the path to the value.

public import Foundation

/// An error in JSON that is decoded as objects, or in objects that are encoded as JSON.
public struct JSONObjectError: Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
    /// The path to the value, such as "[3].address.street"; empty for the whole text.
    public let path: String
    /// The problem of the value.
    public let message: String

    /// The path and the message.
    public var description: String { path.isEmpty ? "The JSON \(message)" : "\(path): \(message)" }
    public var errorDescription: String? { description }

    package init(path: String = "", _ message: String) {
        self.path = path
        self.message = message
    }

    /// Returns the error of a value that is part of another one: ".name" for a member, "[2]" for an element.
    package func inside(_ part: String) -> JSONObjectError { JSONObjectError(path: part + path, message) }

    /// Returns the error with a path that begins with the member of an object itself.
    var ofObject: JSONObjectError {
        path.hasPrefix(".") ? JSONObjectError(path: String(path.dropFirst()), message) : self
    }
}
