// SPDX-License-Identifier: Apache-2.0
// Gives an object values of type Any: from a dictionary, an array, or another object. With RealmSwift's words
// for what does not fit.

internal import Foundation

enum ObjectFilling {
    /// The properties that `value` gives, with their values. Misuse where it is neither a dictionary, an
    /// array nor an object.
    static func entries(_ value: Any, of schema: ClassSchema) -> [(property: ClassProperty, value: Any)] {
        guard let value = unwrapped(value) else { refuse(value, schema) }
        if let object = objectBase(value) {
            if object.rowContext != nil { object.requireValid() }
            let source = object.classSchema
            return schema.properties.compactMap { property in
                if property.isComputed { return nil }
                guard let other = source.property(named: property.name) else {
                    // Dynamic objects show what is in a file: of an older version there may be less.
                    if object is DynamicObject { return nil }
                    misuse(
                        "Invalid value '\(object)' to initialize object of type '\(schema.name)': missing key "
                            + "'\(property.name)'. Give a dictionary of the values that there are.")
                }
                return (property, other.get(object) as Any)
            }
        }
        if let entries = Coercion.entries(value) {
            return schema.properties.compactMap { property in
                property.isComputed ? nil : entries[property.name].map { (property, $0) }
            }
        }
        let properties = schema.properties.filter { !$0.isComputed }
        guard let elements = Coercion.elements(value) else { refuse(value, schema) }
        if elements.count > properties.count {
            misuse(
                "Invalid array input: more values (\(elements.count)) than properties (\(properties.count)).")
        }
        return zip(properties, elements).map { ($0, $1) }
    }

    private static func refuse(_ value: Any, _ schema: ClassSchema) -> Never {
        misuse(
            "Invalid value '\(describe(value))' to initialize object of type '\(schema.name)': give a "
                + "dictionary, an array "
                + "in the order of the properties, or an object.")
    }

    /// An object that is made, and what its values are to be.
    private typealias Unfilled = (object: ObjectBase, value: Any)

    /// Sets what `value` gives. Values may lie in one another as deep as memory allows.
    static func fill(_ object: ObjectBase, from value: Any) {
        var waiting: [Unfilled] = [(object, value)]
        while let next = waiting.popLast() {
            var linked: [Unfilled] = []
            fill(next.object, from: next.value, &linked)
            waiting += linked.reversed()
        }
    }

    /// As `fill`; objects that it links to are made, and left to be filled.
    private static func fill(_ object: ObjectBase, from value: Any, _ linked: inout [Unfilled]) {
        let isCopy = unwrapped(value).flatMap { objectBase($0) } != nil
        for (property, value) in entries(value, of: object.classSchema) {
            // What a type has no form for is in files only.
            if isCopy, property.isPartial, property.isOwnedCollection,
                let collection = unwrapped(value) as? any AnyOwnedCollection
            {
                set(property.collection(in: object).heldElements(of: collection), property, object)
                continue
            }
            let isUnknown = isCopy && property.unknownRaw(value) != nil
            if isUnknown, !property.shape.isOptional { continue }
            set(isUnknown ? Any?.none as Any : unfilled(value, property, &linked), property, object)
        }
    }

    /// The value with new objects in the place of the dictionaries and arrays that stand for objects.
    private static func unfilled(_ value: Any, _ property: ClassProperty, _ linked: inout [Unfilled]) -> Any {
        guard let target = property.shape.target, !property.shape.isCustom, property.storage != .column,
            let present = unwrapped(value)
        else { return value }
        if !property.isOwnedCollection { return unfilled(present, target, &linked) }
        if isInstance(present), present is any AnyOwnedCollection { return value }
        if property.isMap {
            guard var entries = Coercion.entries(present) else { return value }
            for (key, value) in entries { entries[key] = unfilled(value, target, &linked) }
            return entries
        }
        guard let elements = Coercion.elements(present) else { return value }
        return elements.map { unfilled($0, target, &linked) }
    }

    private static func unfilled(_ value: Any, _ target: ObjectBase.Type, _ linked: inout [Unfilled]) -> Any {
        guard let present = unwrapped(value), objectBase(present) == nil,
            Coercion.entries(present) != nil || Coercion.elements(present) != nil
        else { return value }
        let object = target.init()
        linked.append((object, present))
        return object
    }

    static func set(_ value: Any, _ property: ClassProperty, _ object: ObjectBase) {
        if property.set(object, value) { return }
        if unwrapped(value) == nil, property.clear(object) { return }
        if object.rowContext == nil, property.shape.isOptional, property.unknownRaw(value, isKnown: false) != nil {
            // A file could have it, and it would be read as nil.
            _ = property.set(object, NSNull())
            return
        }
        refuse(value, property, object.classSchema)
    }

    /// A value that does not fit a property.
    @inline(never)
    static func refuse(_ value: Any, _ property: ClassProperty, _ schema: ClassSchema) -> Never {
        let type = (property.targetName ?? property.typeName) + (property.shape.isOptional ? "?" : "")
        let kind = property.isList ? " array" : property.isSet ? " set" : property.isMap ? " dictionary" : ""
        let given = unwrapped(value)
        let isTooWide = property.shape.type == .int && given.flatMap { Coercion.integer($0) } != nil
        misuse(
            "Invalid value '\(describe(value))' of type "
                + "'\(given.map { "\(Swift.type(of: $0))" } ?? "NSNull")' for '\(type)'"
                + "\(kind) property '\(schema.name).\(property.name)'."
                + (isTooWide ? " The type that it is declared with has no such value." : ""))
    }
}
