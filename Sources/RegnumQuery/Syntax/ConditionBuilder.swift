// SPDX-License-Identifier: Apache-2.0
// Builds condition trees of bounded depth, however deeply the conditions are nested in the text or the program: code
// that traverses such a tree may recurse, even on a thread with a small stack.

/// A tree of conditions. A tree deeper than `ConditionBuilder.levelLimit` is split into pieces.
package protocol Condition {
    static func makeAnd(_ parts: [Self]) -> Self
    static func makeOr(_ parts: [Self]) -> Self
    static func makeNot(_ part: Self) -> Self
    /// The last piece is the condition. In later pieces `piece(n)` stands for the piece with that index.
    static func makePieces(_ pieces: [Self]) -> Self
    static func makePiece(_ index: Int) -> Self
    /// The form of the node, with its children.
    var shape: ConditionShape<Self> { get }
}

package enum ConditionShape<Node> {
    case and([Node])
    case or([Node])
    case not(Node)
    case pieces([Node])
    case piece(Int)
    case leaf
}

/// Receives conditions in postfix order: first the parts, then their operator. Nested ANDs and nested ORs are
/// flattened, and double NOT is removed. O(number of conditions), without recursion.
package struct ConditionBuilder<Node: Condition> {
    /// The maximum depth of one piece.
    package static var levelLimit: Int { 16 }

    private enum Operation {
        case leaf(Node)
        case and(Int)
        case or(Int)
        case not
    }

    private var operations: [Operation] = []

    package init() {}

    @_specialize(where Node == Predicate)
    package mutating func append(_ leaf: Node) { operations.append(.leaf(leaf)) }

    /// Joins the last `count` conditions.
    @_specialize(where Node == Predicate)
    package mutating func and(_ count: Int) { if count != 1 { operations.append(.and(count)) } }

    /// Joins the last `count` conditions.
    @_specialize(where Node == Predicate)
    package mutating func or(_ count: Int) { if count != 1 { operations.append(.or(count)) } }

    /// Inverts the last condition.
    @_specialize(where Node == Predicate)
    package mutating func not() { operations.append(.not) }

    /// Appends a whole tree of any depth.
    @_specialize(where Node == Predicate)
    package mutating func append(tree: Node) {
        // Operators come before their parts here, and the last part before the first: the reverse of postfix order.
        var reversed: [Operation] = []
        var pending: [(node: Node, pieces: [Node])] = [(tree, [])]
        while let (node, pieces) = pending.popLast() {
            switch node.shape {
            case .leaf: reversed.append(.leaf(node))
            case .and(let parts):
                if parts.count != 1 { reversed.append(.and(parts.count)) }
                pending += parts.map { ($0, pieces) }
            case .or(let parts):
                if parts.count != 1 { reversed.append(.or(parts.count)) }
                pending += parts.map { ($0, pieces) }
            case .not(let part):
                reversed.append(.not)
                pending.append((part, pieces))
            case .pieces(let inner):
                if let last = inner.last { pending.append((last, inner)) }
            case .piece(let index): pending.append((pieces[index], pieces))
            }
        }
        operations += reversed.reversed()
    }

    /// Returns the condition that results from all operations; there must be exactly one.
    @_specialize(where Node == Predicate)
    package consuming func build() -> Node {
        var pieces: [Node] = []
        var frames: [Frame] = []
        // Processed from the last operation backwards, an operator is known before its parts and can be merged with its
        // parent.
        while let operation = operations.popLast() {
            var done: (node: Node, level: Int)
            switch operation {
            case .leaf(let node): done = (node, 1)
            case .not:
                if case .not? = frames.last?.kind {
                    frames.removeLast()
                } else {
                    frames.append(Frame(kind: .not, missing: 1))
                }
                continue
            case .and(let count):
                if count > 0 {
                    Frame.open(.and, count, &frames)
                    continue
                }
                done = (.makeAnd([]), 1)
            case .or(let count):
                if count > 0 {
                    Frame.open(.or, count, &frames)
                    continue
                }
                done = (.makeOr([]), 1)
            }
            while var frame = frames.popLast() {
                frame.parts.append(done.node)
                frame.level = max(frame.level, done.level)
                frame.missing -= 1
                if frame.missing > 0 {
                    frames.append(frame)
                    break
                }
                done = (frame.joined(), frame.level + 1)
                if done.level >= Self.levelLimit, !frames.isEmpty {
                    pieces.append(done.node)
                    done = (.makePiece(pieces.count - 1), 1)
                }
            }
            if frames.isEmpty, operations.isEmpty {
                return pieces.isEmpty ? done.node : .makePieces(pieces + [done.node])
            }
        }
        preconditionFailure("operations that do not come to one condition")
    }

    /// A condition that is missing some of its parts.
    private struct Frame {
        enum Kind { case and, or, not }

        let kind: Kind
        var missing: Int
        /// In reverse order.
        var parts: [Node] = []
        /// The depth of the deepest part.
        var level = 0

        static func open(_ kind: Kind, _ count: Int, _ frames: inout [Frame]) {
            if frames.last?.kind == kind {
                frames[frames.count - 1].missing += count - 1
            } else {
                frames.append(Frame(kind: kind, missing: count))
            }
        }

        func joined() -> Node {
            switch kind {
            case .and: .makeAnd(parts.reversed())
            case .or: .makeOr(parts.reversed())
            case .not: .makeNot(parts[0])
            }
        }
    }
}

extension Condition {
    /// The same condition, rebuilt with bounded depth.
    package var withoutDepth: Self {
        var builder = ConditionBuilder<Self>()
        builder.append(tree: self)
        return builder.build()
    }
}
