// SPDX-License-Identifier: Apache-2.0
// Applies random operations to a user's own code and to a simple model of it, which must agree. A failing run is
// reduced to the operations that are needed.

internal import Foundation
public import Testing

/// An operation on a subject and on its model.
public struct RandomOperation<Subject, Model> {
    /// The name in reports.
    public let name: String
    /// The frequency of the operation, relative to the others.
    public let weight: Int
    let body: (Subject, inout Model, inout SeededGenerator) throws -> Void

    /// Creates an operation.
    ///
    /// - Parameters:
    ///   - name: The name in reports.
    ///   - weight: The frequency of the operation, relative to the others; at least 1.
    ///   - body: Does the same to both. Everything random in it must come from the generator.
    public init(
        _ name: String, weight: Int = 1,
        _ body: @escaping (_ subject: Subject, _ model: inout Model, _ random: inout SeededGenerator) throws -> Void
    ) {
        self.name = name
        self.weight = max(weight, 1)
        self.body = body
    }
}

/// Applies random operations to a subject and its model, and expects `agree` to return true after each. If it does not,
/// or if an operation throws or causes a programmer error, the run is repeated with fewer and fewer operations for as
/// long as it still fails. The shortest failing run is reported as the failure of the running test, with its seed.
///
/// ```swift
/// expectModel(
///     steps: 200,
///     make: { try Repository(realm: Realm(configuration: .init(inMemoryIdentifier: UUID().uuidString))) },
///     model: [String: Int](),
///     operations: [
///         RandomOperation("add") { repository, model, random in
///             let name = random.text()
///             try repository.add(name: name, age: 1)
///             model[name] = 1
///         },
///         RandomOperation("clear") { repository, model, _ in
///             try repository.removeAll()
///             model = [:]
///         },
///     ],
///     agree: { repository, model in repository.ages == model })
/// ```
///
/// - Parameters:
///   - seeds: The seeds, one for each run. The environment variable `REGNUM_SEED` replaces all of them.
///   - steps: The number of operations in a run.
///   - make: Creates a new subject.
///   - model: The initial model; a value, because runs are repeated.
///   - operations: The operations on both the subject and the model.
///   - agree: Returns true if the subject agrees with the model; called after each operation.
///   - sourceLocation: The location of failures.
/// - Thread: The calling thread.
public func expectModel<Subject, Model>(
    seeds: [UInt64] = [1, 2, 3], steps: Int = 100, make: () throws -> Subject, model: Model,
    operations: [RandomOperation<Subject, Model>], agree: (Subject, Model) throws -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    precondition(!operations.isEmpty, "a run needs operations")
    let given = ProcessInfo.processInfo.environment["REGNUM_SEED"].flatMap { UInt64($0) }
    for seed in given.map({ [$0] }) ?? seeds {
        var random = SeededGenerator(seed: seed)
        let choices = operations.indices.flatMap { Array(repeating: $0, count: operations[$0].weight) }
        let plan = (0..<steps).map { _ in
            Step(operation: choices.randomElement(using: &random) ?? 0, seed: random.next())
        }
        let trial = ModelTrial(model: model, operations: operations)
        guard let first = trial.failure(of: plan, make, agree) else { continue }
        let (shortest, words) = trial.shortened(plan, first, make, agree)
        let names = shortest.map { operations[$0.operation].name }.joined(separator: ", ")
        Report.issue(
            "Subject and model disagree with seed \(seed): \(words) Of \(steps) operations, these are sufficient: "
                + "\(names). Run it again with REGNUM_SEED=\(seed).", at: sourceLocation)
    }
}

/// An operation with the seed for everything random in it.
private struct Step {
    let operation: Int
    let seed: UInt64
}

private struct ModelTrial<Subject, Model> {
    let model: Model
    let operations: [RandomOperation<Subject, Model>]
    private static var repetitions: Int { 400 }

    init(model: Model, operations: [RandomOperation<Subject, Model>]) {
        self.model = model
        self.operations = operations
    }

    /// The reason why the run fails, and the number of steps after which it does; nil if it does not fail.
    func failure(
        of plan: [Step], _ make: () throws -> Subject, _ agree: (Subject, Model) throws -> Bool
    ) -> (steps: Int, words: String)? {
        var done = 0
        var words: String?
        let misuse = catchMisuse {
            do {
                let subject = try make()
                var model = model
                for step in plan {
                    done += 1
                    var random = SeededGenerator(seed: step.seed)
                    try operations[step.operation].body(subject, &model, &random)
                    if try !agree(subject, model) {
                        words = "they differ after '\(operations[step.operation].name)'; the model is \(model)."
                        return
                    }
                }
            } catch { words = "an operation threw \(error)." }
        }
        if let misuse { words = "misuse: \(misuse)" }
        return words.map { (done, $0) }
    }

    /// Removes halves, quarters ... and finally single steps, as long as the rest fails.
    func shortened(
        _ plan: [Step], _ first: (steps: Int, words: String), _ make: () throws -> Subject,
        _ agree: (Subject, Model) throws -> Bool
    ) -> ([Step], String) {
        var best = Array(plan.prefix(first.steps))
        var words = first.words
        var left = Self.repetitions
        var size = max(best.count / 2, 1)
        while left > 0 {
            var start = 0
            var hasShortened = false
            while start < best.count, left > 0 {
                var shorter = best
                shorter.removeSubrange(start..<min(start + size, best.count))
                left -= 1
                if let failure = failure(of: shorter, make, agree) {
                    best = Array(shorter.prefix(failure.steps))
                    words = failure.words
                    hasShortened = true
                } else {
                    start += size
                }
            }
            if size == 1, !hasShortened { break }
            size = max(size / 2, 1)
        }
        return (best, words)
    }
}
