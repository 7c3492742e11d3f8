// SPDX-License-Identifier: Apache-2.0
// Converts users' key paths to regions of the schema.

internal import RegnumEngine
internal import RegnumObservation

extension ClassBinding {
    /// The region in which changes count as changes to an object of the class. Without key paths: all its properties,
    /// and links up to `depth`. Reports a programmer error if a name is not a property.
    func region(_ keyPaths: [String]?, depth: Int) -> Region {
        guard let keyPaths else { return .everything(tableKey, depth: depth) }
        // Observers with the same key paths share one region, so that a delivery traverses it once for all of them.
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
                // Backlinks have no column: their step alone reports objects that are added or removed.
                if case .backlinks? = step?.step { return (steps + [step.unsafelyUnwrapped.step], nil) }
                let column = at.columns[place]
                return (steps, column < 0 ? nil : column)
            }
            guard let step else {
                misuse(
                    "Invalid property name: property '\(names[i + 1])' not found in '\(at.schema.name).\(name)', "
                        + "which is not a link to objects.")
            }
            steps.append(step.step)
            at = step.target
        }
        return (steps, nil)
    }

    /// The step that follows the property, and its target class; nil for values.
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

    /// The class whose links a linking objects property follows backwards; nil if this Realm does not know the class.
    private func originClass(of property: ClassProperty) -> ClassBinding? {
        guard let type = property.shape.target else { return nil }
        // Dynamic objects all have the same type, so only the name identifies the class.
        if type == DynamicObject.self { return property.targetName.flatMap { core.dynamicBinding(named: $0) } }
        return core.bindingIfAny(for: type)
    }
}

extension _Watched {
    /// The region in which changes count as changes to the elements; nil for values. Reports a programmer error if a
    /// key path does not resolve.
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

extension PropertyLocation {
    /// The region in which changes count as changes to the values of a map; nil if they are not objects. Reports a
    /// programmer error if a key path does not resolve.
    func region(_ keyPaths: [String]?) -> Region? {
        if let elementBinding { return elementBinding.region(keyPaths, depth: Region.depth) }
        refuseOfValues(keyPaths)
        return nil
    }
}

/// Reports a programmer error for key paths of elements that are not objects.
private func refuseOfValues(_ keyPaths: [String]?) {
    guard let name = keyPaths?.first else { return }
    misuse(
        "Invalid property name: property '\(name)' not found in elements that are values. Only objects have "
            + "properties: observe the collection without key paths.")
}
