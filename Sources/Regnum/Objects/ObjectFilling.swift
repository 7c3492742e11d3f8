// SPDX-License-Identifier: Apache-2.0
// Sets an object's properties from a value of type Any: a dictionary, an array, or another object. Invalid values are
// reported with RealmSwift's messages.

internal import Foundation

enum ObjectFilling {
    /// Returns the properties that `value` provides, with their values. Anything but a dictionary, an array or an
    /// object is a programmer error.
    static func entries(_ value: Any, of schema: ClassSchema) -> [(property: ClassProperty, value: Any)] {
        guard let value = unwrapped(value) else { refuse(value, schema) }
        if let object = objectBase(value) {
            if object.rowContext != nil { object.requireValid() }
            let source = object.classSchema
            return schema.properties.compactMap { property in
                if property.isComputed { return nil }
                guard let other = source.property(named: property.name) else {
                    // Dynamic objects have the properties in the file, and a file of an older version may have fewer.
                    if object is DynamicObject { return nil }
                    misuse(
                        "Invalid value '\(object)' to initialize object of type '\(schema.name)': missing key "
                            + "'\(property.name)'. Pass a dictionary with the available values.")
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

    /// A newly created object and the value to fill it from.
    private typealias Unfilled = (object: ObjectBase, value: Any)

    /// Sets the properties that `value` provides. Values can be nested as deeply as memory allows.
    static func fill(_ object: ObjectBase, from value: Any) {
        var waiting: [Unfilled] = [(object, value)]
        while let next = waiting.popLast() {
            var linked: [Unfilled] = []
            fill(next.object, from: next.value, &linked)
            waiting += linked.reversed()
        }
    }

    /// Like `fill(_:from:)`; objects that the values link to are created and appended to `linked` to be filled later.
    private static func fill(_ object: ObjectBase, from value: Any, _ linked: inout [Unfilled]) {
        let isCopy = unwrapped(value).flatMap { objectBase($0) } != nil
        for (property, value) in entries(value, of: object.classSchema) {
            // Only a file can hold values that the type cannot represent.
            if isCopy, property.isPartial, property.isOwnedCollection,
                let present = unwrapped(value), isInstance(present), let collection = present as? any AnyOwnedCollection
            {
                set(property.collection(in: object).heldElements(of: collection), property, object)
                continue
            }
            let isUnknown = isCopy && property.unknownRaw(value) != nil
            if isUnknown, !property.shape.isOptional { continue }
            set(isUnknown ? Any?.none as Any : unfilled(value, property, &linked), property, object)
        }
    }

    /// Returns the value with the dictionaries and arrays that represent objects replaced by new objects.
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
            // A file could hold the value, and it would be read as nil.
            _ = property.set(object, NSNull())
            return
        }
        refuse(value, property, object.classSchema)
    }

    /// Reports a value that does not fit a property as a programmer error.
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
                + (isTooWide ? " The declared type cannot represent this value." : ""))
    }
}
