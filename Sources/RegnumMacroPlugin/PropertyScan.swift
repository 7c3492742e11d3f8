// SPDX-License-Identifier: Apache-2.0
// Reads the properties of a model class from its source, and says what to write instead of those that cannot work. Only
// the syntax is known: a property without a type is accepted if its default shows the type.

#if Macros
    internal import SwiftDiagnostics
    internal import SwiftSyntax
    internal import SwiftSyntaxBuilder

    /// A property that the struct has.
    struct ModelProperty {
        /// How the value is passed to `SnapshotWriting`.
        enum Kind { case value, collection }

        /// The name, in backticks if the source has them.
        let name: String
        /// The type in the struct.
        let form: String
        let kind: Kind
        let isOptional: Bool
        let isPrimaryKey: Bool
        let access: String?
    }

    struct PropertyScan {
        private(set) var problems: [Diagnostic] = []

        /// The stored properties of the class itself, in order. Reports those that are not `@Persisted` but look as if
        /// they were to be stored.
        mutating func properties(of model: ClassDeclSyntax) -> [ModelProperty] {
            var found: [ModelProperty] = []
            for member in model.memberBlock.members {
                if let function = member.decl.as(FunctionDeclSyntax.self), function.name.text == "primaryKey" {
                    report(
                        function,
                        "write `@Persisted(primaryKey: true)` at the property: @Snapshot does not see this one")
                    continue
                }
                guard let variable = member.decl.as(VariableDeclSyntax.self), !variable.isTypeProperty,
                    let binding = variable.bindings.first,
                    let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.trimmedDescription
                else { continue }
                guard let persisted = variable.attribute("Persisted") else {
                    checkUnpersisted(variable, binding, name)
                    continue
                }
                if let property = property(variable, binding, name, persisted) { found.append(property) }
            }
            return found
        }

        private mutating func report(_ place: some SyntaxProtocol, _ message: String) {
            problems.append(Diagnostic(place, message))
        }

        /// Forms of properties that RealmSwift had before `@Persisted`.
        private mutating func checkUnpersisted(
            _ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax, _ name: String
        ) {
            if variable.modifiers.contains(where: { $0.name.text == "dynamic" }) {
                report(variable, "write `@Persisted var \(name)`: a `dynamic var` is not part of @Snapshot")
                return
            }
            let type = binding.typeAnnotation?.type.simpleName ?? binding.initializer?.value.calledTypeName
            let old = ["List", "MutableSet", "Map", "RealmOptional", "RealmProperty", "LinkingObjects"]
            guard variable.bindingSpecifier.text == "let", let type, old.contains(type) else { return }
            report(
                variable, "write `@Persisted var \(name)` with its type: a `let` of \(type) is not part of @Snapshot")
        }

        private mutating func property(
            _ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax, _ name: String,
            _ persisted: AttributeSyntax
        ) -> ModelProperty? {
            guard let type = binding.typeAnnotation?.type.trimmed ?? defaultType(binding.initializer?.value) else {
                report(binding, "write the type of '\(name)': @Snapshot sees only the text of its default")
                return nil
            }
            let (inner, isOptional) = unwrapped(type)
            if inner.simpleName == "LinkingObjects" { return nil }
            if let instead = Self.instead(of: inner, name) {
                report(binding, instead)
                return nil
            }
            var kind = ModelProperty.Kind.value
            var form = Self.form(of: inner)
            if let arguments = inner.arguments, let collection = inner.simpleName {
                for argument in arguments {
                    guard let instead = Self.instead(of: unwrapped(argument).type, name, isElement: true) else {
                        continue
                    }
                    report(binding, instead)
                    return nil
                }
                let forms = arguments.map { argument in
                    let (element, isOptional) = unwrapped(argument)
                    return Self.form(of: element) + (isOptional ? "?" : "")
                }
                switch (collection, forms.count) {
                case ("List", 1): (form, kind) = ("[\(forms[0])]", .collection)
                case ("MutableSet", 1): (form, kind) = ("Set<\(forms[0])>", .collection)
                case ("Map", 2):
                    (form, kind) = ("[\(arguments[0].trimmedDescription): \(forms[1])]", .collection)
                default: break
                }
            }
            return ModelProperty(
                name: name, form: isOptional ? "\(form)?" : form, kind: kind, isOptional: isOptional,
                isPrimaryKey: persisted.isPrimaryKey, access: variable.modifiers.access)
        }

        /// The type without `?` or `Optional<>`.
        private func unwrapped(_ type: TypeSyntax) -> (type: TypeSyntax, isOptional: Bool) {
            if let optional = type.as(OptionalTypeSyntax.self) { return (optional.wrappedType.trimmed, true) }
            if type.simpleName == "Optional", let wrapped = type.arguments?.first { return (wrapped, true) }
            return (type, false)
        }

        /// The type that a default shows: of a literal, of `Date()`, and of `Size.small`.
        private func defaultType(_ value: ExprSyntax?) -> TypeSyntax? {
            guard let value else { return nil }
            if value.is(StringLiteralExprSyntax.self) { return "String" }
            if value.is(IntegerLiteralExprSyntax.self) { return "Int" }
            if value.is(FloatLiteralExprSyntax.self) { return "Double" }
            if value.is(BooleanLiteralExprSyntax.self) { return "Bool" }
            if let negative = value.as(PrefixOperatorExprSyntax.self), negative.operator.text == "-" {
                return defaultType(negative.expression)
            }
            if let member = value.as(MemberAccessExprSyntax.self), let base = member.base, base.isTypeName {
                return "\(raw: base.trimmedDescription)"
            }
            return value.calledType.map { "\(raw: $0)" }
        }
    }

    // MARK: Types

    extension PropertyScan {
        /// Types whose values are the same in the struct.
        private static var scalars: Set<String> {
            [
                "Bool", "Int", "Int8", "Int16", "Int32", "Int64", "Float", "Double", "String", "Data", "Date",
                "Decimal128", "ObjectId", "UUID",
            ]
        }

        /// The type in the struct. Of a type that is not known here, Regnum or the macro of that class declares it.
        private static func form(of type: TypeSyntax) -> String {
            let text = type.trimmedDescription
            return scalars.contains(text) ? text : "\(text).SnapshotForm"
        }

        /// The message for a type that cannot be stored, or not be in a struct; nil for others.
        private static func instead(of type: TypeSyntax, _ name: String, isElement: Bool = false) -> String? {
            let text = type.trimmedDescription
            func word(_ other: String, _ more: String = "") -> String {
                let words =
                    isElement ? "\(other) for the elements of '\(name)'" : "`@Persisted var \(name): \(other)`"
                return "\(text) cannot be stored: write \(words)\(more)"
            }
            if let array = type.as(ArrayTypeSyntax.self) {
                return word("List<\(array.element.trimmedDescription)>")
            }
            if let dictionary = type.as(DictionaryTypeSyntax.self) {
                return word("Map<\(dictionary.key.trimmedDescription), \(dictionary.value.trimmedDescription)>")
            }
            switch type.simpleName {
            case "URL": return word("String", ", or make URL a CustomPersistable")
            case "Decimal": return word("Decimal128")
            case "UInt", "UInt8", "UInt16", "UInt32", "UInt64": return word("Int")
            case "CGFloat", "NSNumber": return word("Double")
            case "Character", "Substring", "NSString": return word("String")
            case "NSDate": return word("Date")
            case "NSData": return word("Data")
            case "Array" where type.arguments?.count == 1:
                return word("List<\(type.arguments?[0].trimmedDescription ?? "")>")
            case "Set" where type.arguments?.count == 1:
                return word("MutableSet<\(type.arguments?[0].trimmedDescription ?? "")>")
            case "AnyRealmValue":
                return
                    "'\(name)' can hold values of any type, which a struct of @Snapshot cannot declare: write its "
                    + "type, or use `snapshot(depth:)` without the macro"
            default: break
            }
            if type.simpleName != nil { return nil }
            return
                "\(text) cannot be stored: write a type with a name, such as a class of objects or a CustomPersistable"
        }
    }

    extension TypeSyntax {
        /// The generic arguments; nil if there are none.
        fileprivate var arguments: [TypeSyntax]? {
            let clause =
                self.as(IdentifierTypeSyntax.self)?.genericArgumentClause
                ?? self.as(MemberTypeSyntax.self)?.genericArgumentClause
            return clause?.arguments.compactMap { argument in
                if case .type(let type) = argument.argument { type.trimmed } else { nil }
            }
        }
    }

    extension ExprSyntax {
        /// True for a name, or several joined by dots, all of which begin with capitals.
        fileprivate var isTypeName: Bool {
            if let name = self.as(DeclReferenceExprSyntax.self) {
                return name.baseName.text.first?.isUppercase ?? false
            }
            guard let member = self.as(MemberAccessExprSyntax.self), let base = member.base else { return false }
            return base.isTypeName && (member.declName.baseName.text.first?.isUppercase ?? false)
        }

        /// The type that an initialiser is called of, with its generic arguments; nil for other expressions.
        fileprivate var calledType: String? {
            guard let call = self.as(FunctionCallExprSyntax.self) else { return nil }
            if let generic = call.calledExpression.as(GenericSpecializationExprSyntax.self) {
                return generic.expression.isTypeName ? generic.trimmedDescription : nil
            }
            return call.calledExpression.isTypeName ? call.calledExpression.trimmedDescription : nil
        }

        /// The name of the type that an initialiser is called of, without its arguments.
        fileprivate var calledTypeName: String? {
            calledType.map { String($0.prefix { $0 != "<" }) }
        }
    }

    extension VariableDeclSyntax {
        fileprivate var isTypeProperty: Bool {
            modifiers.contains { $0.name.text == "static" || $0.name.text == "class" }
        }

        fileprivate func attribute(_ name: String) -> AttributeSyntax? {
            for case .attribute(let attribute) in attributes where attribute.attributeName.simpleName == name {
                return attribute
            }
            return nil
        }
    }

    extension AttributeSyntax {
        /// True for `@Persisted(primaryKey: true)`.
        fileprivate var isPrimaryKey: Bool {
            guard case .argumentList(let arguments) = arguments else { return false }
            return arguments.contains { argument in
                argument.label?.text == "primaryKey" && argument.expression.trimmedDescription == "true"
            }
        }
    }
#endif
