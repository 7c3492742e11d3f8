// SPDX-License-Identifier: Apache-2.0
// From the key paths that users write to the parts of the schema that count.

internal import RegnumEngine
internal import RegnumObservation

extension ClassBinding {
    /// What counts as a change of an object of the class. Without key paths: its properties, and links to `depth`.
    /// Misuse for a name that is none.
    func region(_ keyPaths: [String]?, depth: Int) -> Region {
        guard let keyPaths else { return .everything(tableKey, depth: depth) }
        return .keyPaths(tableKey, keyPaths.map { path($0) })
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
                return (steps, at.columns[place])
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
            guard let type = property.shape.target, let origin = core.bindingIfAny(for: type),
                let place = origin.schema.properties.firstIndex(where: { $0.name == property.originProperty })
            else { return nil }
            return (.backlinks(origin: origin.tableKey, column: origin.columns[place]), origin)
        }
        guard column >= 0, let target = target(of: column) else { return nil }
        return (.forward(column: column, target: target.tableKey), target)
    }
}
