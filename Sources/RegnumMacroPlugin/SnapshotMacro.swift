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
            guard let model = declaration.as(ClassDeclSyntax.self) else {
                context.report(
                    node,
                    "@Snapshot belongs to a class of objects: write it above a class that inherits from Object or "
                        + "EmbeddedObject")
                return []
            }
            if let parameters = model.genericParameterClause {
                context.report(parameters, "a generic class has no @Snapshot, because no Realm stores it")
                return []
            }
            if let taken = model.memberBlock.members.first(where: { $0.decl.declaredTypeName == "Snapshot" }) {
                context.report(
                    taken.decl, "@Snapshot adds the type 'Snapshot' to the class: give this one another name")
                return []
            }
            guard let depth = depth(of: node, context) else { return [] }
            var scan = PropertyScan(context)
            let properties = scan.properties(of: model)
            if scan.hasErrors { return [] }
            if properties.isEmpty {
                context.report(
                    node, "'\(model.name.text)' has no @Persisted property of its own: a snapshot of it would be empty")
                return []
            }
            return [SnapshotSource(model: model, depth: depth, properties: properties).declaration]
        }

        /// The argument `depth`, as it is written; "1" if there is none; nil if it is wrong.
        private static func depth(of node: AttributeSyntax, _ context: some MacroExpansionContext) -> String? {
            guard case .argumentList(let arguments) = node.arguments, let depth = arguments.first?.expression else {
                return "1"
            }
            if depth.is(IntegerLiteralExprSyntax.self) { return depth.trimmedDescription }
            context.report(depth, "the depth is the number of links to follow, as a literal: 0, 1, 2")
            return nil
        }
    }

    extension SnapshotMacro: ExtensionMacro {
        package static func expansion(
            of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
            providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
            in context: some MacroExpansionContext
        ) throws -> [ExtensionDeclSyntax] {
            guard let model = declaration.as(ClassDeclSyntax.self), model.genericParameterClause == nil else {
                return []
            }
            if protocols.isEmpty {
                context.report(
                    node,
                    "a superclass of '\(model.name.text)' has @Snapshot already: only one class of them "
                        + "can have it")
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

    extension MacroExpansionContext {
        /// Reports an error at a place of the user's source.
        func report(_ place: some SyntaxProtocol, _ message: String) {
            diagnose(Diagnostic(node: Syntax(place), message: SnapshotProblem(message: message)))
        }
    }
#endif
