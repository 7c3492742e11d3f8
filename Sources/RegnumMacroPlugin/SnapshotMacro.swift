// SPDX-License-Identifier: Apache-2.0
// The macro @Snapshot: the member `Snapshot`, a struct with the values of the class, and the conformance of the class
// to `SnapshotModel`. Its protocols are in Regnum/Snapshots.

#if Macros
    internal import SwiftDiagnostics
    package import SwiftSyntax
    internal import SwiftSyntaxBuilder
    package import SwiftSyntaxMacros

    package struct SnapshotMacro {}

    extension SnapshotMacro: MemberMacro {
        package static func expansion(
            of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
            conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
        ) throws -> [DeclSyntax] {
            let (source, problems) = source(of: declaration, node)
            for problem in problems { context.diagnose(problem) }
            return source.map { [$0.declaration] } ?? []
        }

        /// The struct of a class, or the problems for which it has none.
        private static func source(
            of declaration: some DeclGroupSyntax, _ node: AttributeSyntax
        ) -> (source: SnapshotSource?, problems: [Diagnostic]) {
            func refused(_ place: some SyntaxProtocol, _ message: String) -> (SnapshotSource?, [Diagnostic]) {
                (nil, [Diagnostic(place, message)])
            }
            guard let model = declaration.as(ClassDeclSyntax.self) else {
                return refused(
                    node,
                    "@Snapshot belongs to a class of objects: write it above a class that inherits from Object or "
                        + "EmbeddedObject")
            }
            if let parameters = model.genericParameterClause {
                return refused(parameters, "a generic class has no @Snapshot, because no Realm stores it")
            }
            if let taken = model.memberBlock.members.first(where: { $0.decl.declaredTypeName == "Snapshot" }) {
                return refused(
                    taken.decl, "@Snapshot adds the type 'Snapshot' to the class: give this one another name")
            }
            let depth = node.depth
            if let depth, !depth.is(IntegerLiteralExprSyntax.self) {
                return refused(depth, "the depth is the number of links to follow, as a literal: 0, 1, 2")
            }
            var scan = PropertyScan()
            let properties = scan.properties(of: model)
            if !scan.problems.isEmpty { return (nil, scan.problems) }
            if properties.isEmpty {
                return refused(
                    node, "'\(model.name.text)' has no @Persisted property of its own: a snapshot of it would be empty")
            }
            return (
                SnapshotSource(model: model, depth: depth?.trimmedDescription ?? "1", properties: properties), []
            )
        }
    }

    extension SnapshotMacro: ExtensionMacro {
        package static func expansion(
            of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
            providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
            in context: some MacroExpansionContext
        ) throws -> [ExtensionDeclSyntax] {
            // The other role of the macro has reported the problems.
            guard let model = source(of: declaration, node).source?.model else { return [] }
            if protocols.isEmpty {
                context.diagnose(
                    Diagnostic(
                        node,
                        "a superclass of '\(model.name.text)' has @Snapshot already: only one of them can have it"))
                return []
            }
            // A link is read as the key or the values of its target, an embedded object as its values.
            let name = type.trimmedDescription
            let form = model.isEmbedded ? "\(name).Snapshot" : "Regnum.LinkedSnapshot<\(name)>"
            let source: DeclSyntax = """
                extension \(raw: name): Regnum.SnapshotModel {
                    \(raw: model.memberAccess)typealias SnapshotForm = \(raw: form)
                }
                """
            return source.as(ExtensionDeclSyntax.self).map { [$0] } ?? []
        }
    }

    extension ClassDeclSyntax {
        /// True if the class says that its objects are embedded.
        fileprivate var isEmbedded: Bool {
            inheritanceClause?.inheritedTypes.contains { $0.type.simpleName == "EmbeddedObject" } ?? false
        }

        /// The access level of generated members, followed by a space: that of the class, but none in a private one.
        var memberAccess: String {
            switch modifiers.access {
            case nil, "private", "fileprivate": ""
            case let level?: "\(level) "
            }
        }
    }

    extension DeclSyntax {
        /// The name of the type that the declaration declares; nil for other declarations.
        fileprivate var declaredTypeName: String? {
            self.as(StructDeclSyntax.self)?.name.text ?? self.as(ClassDeclSyntax.self)?.name.text
                ?? self.as(EnumDeclSyntax.self)?.name.text ?? self.as(TypeAliasDeclSyntax.self)?.name.text
        }
    }

    extension DeclModifierListSyntax {
        /// The access level; nil for internal, public for open. The level of a setter does not count.
        var access: String? {
            let levels: Set = ["public", "open", "package", "private", "fileprivate"]
            let level = first { $0.detail == nil && levels.contains($0.name.text) }?.name.text
            return level == "open" ? "public" : level
        }
    }

    extension TypeSyntax {
        /// The name of a type without its module and arguments; nil for types without a name.
        var simpleName: String? {
            self.as(IdentifierTypeSyntax.self)?.name.text ?? self.as(MemberTypeSyntax.self)?.name.text
        }
    }

    /// An error of a macro.
    private struct SnapshotProblem: DiagnosticMessage {
        let message: String
        var diagnosticID: MessageID { MessageID(domain: "RegnumMacros", id: "Snapshot") }
        var severity: DiagnosticSeverity { .error }
    }

    extension Diagnostic {
        /// An error at a place of the user's source.
        init(_ place: some SyntaxProtocol, _ message: String) {
            self.init(node: Syntax(place), message: SnapshotProblem(message: message))
        }
    }

    extension AttributeSyntax {
        /// The argument `depth`; nil if there is none.
        fileprivate var depth: ExprSyntax? {
            guard case .argumentList(let arguments) = arguments else { return nil }
            return arguments.first?.expression
        }
    }
#endif
