// SPDX-License-Identifier: Apache-2.0
// What a migration block gets.

/// A file on its way from one schema to another.
public final class Migration {
    /// The classes as they are in the file.
    public let oldSchema: Schema
    /// The classes as they are declared.
    public let newSchema: Schema

    init(oldSchema: Schema, newSchema: Schema) {
        self.oldSchema = oldSchema
        self.newSchema = newSchema
    }
}
