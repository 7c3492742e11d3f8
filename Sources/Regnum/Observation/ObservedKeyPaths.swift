// SPDX-License-Identifier: Apache-2.0
// From the key paths that users write to the parts of the schema that count.

internal import RegnumEngine
internal import RegnumObservation

extension ClassBinding {
    /// What counts as a change of an object of the class. Without key paths: its properties, and links to `depth`.
    /// Misuse for a name that is none.
    func region(_ keyPaths: [String]?, depth: Int) -> Region {
        guard let keyPaths else { return .everything(tableKey, depth: depth) }
        // Observers that ask for the same share what a delivery finds out for one of them.
        if let known = regions[keyPaths] { return known }
        let made = Region.keyPaths(tableKey, keyPaths.map { path($0) })
        if regions.count >= 64 { regions.removeAll() }
        regions[keyPaths] = made
        return made
    }

    private func path(_ keyPath: String) -> (steps: [Region.Step], column: Int?) {
        var steps: [Region.Step] = []
        var at = self
        let names = keyPath.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        for (i, name) in names.enumerated() {
            guard let place = at.schema.properties.firstIndex(where: { $0.name == name }) else {
                misuse(
                    "Invalid property name: property '\(name)' not found in object of type '\(at.schema.name)'. A "
                        + "key path names properties of the observed class, and of the classes it links to.")
            }
            let property = at.schema.properties[place]
            let isLast = i == names.count - 1
            let step = at.step(property, at.columns[place])
            if isLast {
                // Backlinks have no column: their step alone tells of objects that come and go.
                if case .backlinks? = step?.step { return (steps + [step.unsafelyUnwrapped.step], nil) }
                let column = at.columns[place]
                return (steps, column < 0 ? nil : column)
            }
            guard let step else {
                misuse(
                    "Invalid property name: property '\(names[i + 1])' not found in '\(at.schema.name).\(name)', "
                        + "which is no link to objects.")
            }
            steps.append(step.step)
            at = step.target
        }
        return (steps, nil)
    }

    /// Where a property leads to; nil for values.
    func step(_ property: ClassProperty, _ column: Int) -> (step: Region.Step, target: ClassBinding)? {
        if property.isComputed {
            guard let origin = originClass(of: property), let name = property.originProperty,
                let place = origin.schema.properties.firstIndex(where: { $0.name == name })
            else { return nil }
            return (.backlinks(origin: origin.tableKey, column: origin.columns[place]), origin)
        }
        guard column >= 0, let target = target(of: column) else { return nil }
        return (.forward(column: column, target: target.tableKey), target)
    }

    /// The class whose links a property of linking objects goes back; nil where this Realm does not know it.
    private func originClass(of property: ClassProperty) -> ClassBinding? {
        guard let type = property.shape.target else { return nil }
        // All targets of dynamic objects are of one type: only the name tells which class is meant.
        if type == DynamicObject.self { return property.targetName.flatMap { core.dynamicBinding(named: $0) } }
        return core.bindingIfAny(for: type)
    }
}

extension _Watched {
    /// What counts as a change of the elements; nil for values. Misuse for key paths that lead to nothing.
    func region(_ keyPaths: [String]?) -> Region? {
        if let elements { return elements.region(keyPaths, depth: Region.depth) }
        switch kind {
        case .results(let state): if state.isOfValues { refuseOfValues(keyPaths) }
        case .elements: refuseOfValues(keyPaths)
        case .unmanaged: break
        }
        return nil
    }
}

extension ManagedPlace {
    /// What counts as a change of the values of a map; nil where they are no objects. Misuse for key paths that lead to
    /// nothing.
    func region(_ keyPaths: [String]?) -> Region? {
        if let elementBinding { return elementBinding.region(keyPaths, depth: Region.depth) }
        refuseOfValues(keyPaths)
        return nil
    }
}

/// Misuse for key paths of elements that are no objects.
private func refuseOfValues(_ keyPaths: [String]?) {
    guard let name = keyPaths?.first else { return }
    misuse(
        "Invalid property name: property '\(name)' not found in elements that are values. Only objects have "
            + "properties: observe the collection without key paths.")
}
