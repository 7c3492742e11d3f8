// SPDX-License-Identifier: Apache-2.0
// The source of the struct that @Snapshot generates.

#if Macros
    internal import SwiftSyntax
    internal import SwiftSyntaxBuilder

    struct SnapshotSource {
        let model: ClassDeclSyntax
        let depth: String
        let properties: [ModelProperty]

        private var name: String { model.name.trimmedDescription }
        /// The access level of the struct and its functions, followed by a space.
        private var access: String { model.memberAccess }

        var declaration: DeclSyntax {
            let lines = [
                "/// The values of a `\(name)`, which can be compared, encoded, and sent to any thread or actor.",
                "\(access)struct Snapshot: Regnum.ModelSnapshot {",
                "    \(access)typealias ModelClass = \(name)",
                "    \(access)typealias ModelKey = \(key?.form ?? "Swift.Never")",
            ]
            let parts = [
                properties.map { "\($0.access.map { level in "\(level) " } ?? "")var \($0.name): \($0.form)" },
                ["\(access)static var linkDepth: Swift.Int { \(depth) }"], memberwise, reading, keys, writing, coding,
            ]
            let body = parts.flatMap { [""] + $0.map { $0.isEmpty ? "" : "    \($0)" } }
            return "\(raw: (lines + body + ["}"]).filter { !$0.isEmpty }.joined(separator: "\n"))"
        }

        private var key: ModelProperty? { properties.first(where: \.isPrimaryKey) }

        /// The initialiser with a value for each property. Its access is that of the least accessible property.
        private var memberwise: [String] {
            let levels = properties.map { $0.access ?? "internal" }
            let level =
                if levels.contains("private") || levels.contains("fileprivate") {
                    "fileprivate "
                } else if levels.contains("internal") || access.isEmpty {
                    ""
                } else {
                    levels.contains("package") ? "package " : access
                }
            let parameters = properties.map { "\($0.name): \($0.form)\($0.isOptional ? " = nil" : "")" }
            return ["\(level)init(\(parameters.joined(separator: ", "))) {"]
                + properties.map { "    self.\($0.name) = \($0.name)" } + ["}"]
        }

        private var reading: [String] {
            [
                "\(access)init(_ object: \(name), depth: Swift.Int) {",
                "    let reading = Regnum.SnapshotReading(depth: depth)",
            ]
                + properties.map { "    self.\($0.name) = reading.value(object.\($0.name))" } + ["}"]
        }

        private var keys: [String] {
            guard let key else { return [] }
            return [
                "\(access)static func _key(of object: \(name)) -> ModelKey? { object.\(key.name) }",
                "\(access)var _key: ModelKey? { self.\(key.name) }",
            ]
        }

        private var writing: [String] {
            ["\(access)func _write(to object: \(name), _ writing: Regnum.SnapshotWriting) {"]
                + properties.map { property in
                    let place = property.kind == .value ? "&object" : "object"
                    let text = property.name.filter { $0 != "`" }
                    return "    writing.write(self.\(property.name), to: \(place).\(property.name), \"\(text)\")"
                } + ["}"]
        }

        /// Decoding begins with the question whether the decoder stands at an object, which is then read as it is.
        private var coding: [String] {
            let decoded = properties.map { property in
                let type = property.isOptional ? String(property.form.dropLast()) : property.form
                let decode = property.isOptional ? "decodeIfPresent" : "decode"
                return "    self.\(property.name) = try values.\(decode)(\(type).self, forKey: .\(property.name))"
            }
            let start = [
                "}",
                "\(access)init(from decoder: any Swift.Decoder) throws {",
                "    if let object = Self._object(in: decoder) {",
                "        self.init(object)",
                "        return",
                "    }",
                "    let values = try decoder.container(keyedBy: CodingKeys.self)",
            ]
            return ["private enum CodingKeys: Swift.String, Swift.CodingKey {"]
                + properties.map { "    case \($0.name)" } + start + decoded + ["}"]
        }
    }
#endif
