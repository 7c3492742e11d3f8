// SPDX-License-Identifier: Apache-2.0
// Reading and writing properties of all elements by name, and the collection operators of key-value coding.

internal import Foundation
internal import RegnumEngine
internal import RegnumQuery

extension _QueryableCollection {
    /// The values of a property of all elements, `NSNull` for nil; for "self" the elements, for "@count" their number.
    public func value(forKey key: String) -> Any? {
        switch key {
        case "self": return Array(self)
        case "@count": return count
        case "@invalidated": return isInvalidated
        default: return elementValues(key)
        }
    }

    /// As `value(forKey:)` along links; or one figure by `@sum.age`, `@min.`, `@max.`, `@avg.`, or the values by
    /// `@unionOfObjects.`, `@distinctUnionOfObjects.`, `@unionOfArrays.`, `@distinctUnionOfArrays.`.
    public func value(forKeyPath keyPath: String) -> Any? {
        guard keyPath.hasPrefix("@") else {
            return keyPath.contains(".") ? elementValues(keyPath) : value(forKey: keyPath)
        }
        if keyPath == "@count" || keyPath.hasPrefix("@count.") { return count }
        if keyPath == "@invalidated" { return isInvalidated }
        let parts = keyPath.split(separator: ".", maxSplits: 1).map(String.init)
        let name = parts[0]
        guard KeyValueOperator.names.contains(name) else {
            misuse("Unsupported KVC collection operator found in key path '\(keyPath)'")
        }
        guard parts.count == 2 else {
            misuse("Missing key path for KVC collection operator \(name) in key path '\(keyPath)'")
        }
        if parts[1].contains(".") {
            misuse("Nested key paths are not supported yet for KVC collection operators.")
        }
        return applied(name, parts[1])
    }

    /// Sets a property of all elements. Misuse outside a write.
    public func setValue(_ value: Any?, forKey key: String) {
        guard let state = _handle.state else {
            misuse("This method may only be called on collections retrieved from an RLMRealm")
        }
        state.check()
        state.realm.requireWrite("Cannot modify managed objects outside of a write transaction.")
        guard let binding = state.binding else { return }
        // The change may move elements out of the collection: the keys of now are what is meant.
        for object in state.allKeys() { binding.makeAccessor(object).setKeyPath(key, to: value) }
    }

    /// Sets a property that the key path leads to from all elements.
    public func setValue(_ value: Any?, forKeyPath keyPath: String) { setValue(value, forKey: keyPath) }

    private func elementValues(_ keyPath: String) -> [Any] {
        guard let state = _handle.state else {
            return compactMap { $0 as? ObjectBase }.map { $0.value(atKeyPath: keyPath) ?? NSNull() }
        }
        guard let binding = state.binding else { return [] }
        state.check()
        return state.allKeys().map { binding.makeAccessor($0).value(atKeyPath: keyPath) ?? NSNull() }
    }

    private func applied(_ name: String, _ property: String) -> Any? {
        guard let state = _handle.state else { return nil }
        switch name {
        case "@min": return KeyValueOperator.shown(state.figure(.min, of: property, "min"))
        case "@max": return KeyValueOperator.shown(state.figure(.max, of: property, "max"))
        case "@sum": return KeyValueOperator.shown(state.figure(.sum, of: property, "sum"))
        case "@avg": return KeyValueOperator.shown(state.figure(.avg, of: property, "average"))
        default:
            var values = elementValues(property).filter { !($0 is NSNull) }
            if name.hasSuffix("OfArrays") { values = values.flatMap { Coercion.elements($0) ?? [] } }
            return name.hasPrefix("@distinct") ? KeyValueOperator.distinct(values) : values
        }
    }
}

private enum KeyValueOperator {
    static let names: Set<String> = [
        "@min", "@max", "@sum", "@avg", "@unionOfObjects", "@distinctUnionOfObjects", "@unionOfArrays",
        "@distinctUnionOfArrays",
    ]

    static func shown(_ value: Value?) -> Any? {
        switch value {
        case .int(let value): Int(value)
        case .float(let value): value
        case .double(let value): value
        case .date(let value): Date._fromRaw(_RawValue(.date(value)))
        default: nil
        }
    }

    static func distinct(_ values: [Any]) -> [Any] {
        var seen: Set<AnyHashable> = []
        return values.filter { value in
            guard let value = value as? AnyHashable else { return true }
            return seen.insert(value).inserted
        }
    }
}

extension ObjectBase {
    /// Along links by property names; nil where a link is nil.
    func value(atKeyPath keyPath: String) -> Any? {
        var parts = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let last = parts.removeLast()
        var object = self
        for part in parts {
            guard let next = object[part] as? ObjectBase else { return nil }
            object = next
        }
        return object[last]
    }

    func setKeyPath(_ keyPath: String, to value: Any?) {
        var parts = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let last = parts.removeLast()
        var object = self
        for part in parts {
            guard let next = object[part] as? ObjectBase else { return }
            object = next
        }
        object[last] = value
    }
}
