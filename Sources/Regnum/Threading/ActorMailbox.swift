// SPDX-License-Identifier: Apache-2.0
// Runs work on an actor in the order of submission; a separate task for each item would not guarantee the order.

/// Can be used on any thread. Neither the mailbox nor its task retains the actor: actors hold their Realms, which hold
/// this.
final class ActorMailbox: Sendable {
    private let address: Address
    private let work: AsyncStream<@Sendable () -> Void>.Continuation

    init(_ actor: any Actor) {
        let (stream, continuation) = AsyncStream.makeStream(of: (@Sendable () -> Void).self)
        let address = Address(actor)
        self.address = address
        work = continuation
        Task.detached {
            for await piece in stream {
                guard let actor = address.actor else { return }
                await Self.run(piece, on: actor)
            }
        }
    }

    deinit { work.finish() }

    /// Nil once the actor has been released.
    var actor: (any Actor)? { address.actor }

    func perform(_ piece: @escaping @Sendable () -> Void) { work.yield(piece) }

    private static func run(_ piece: @Sendable () -> Void, on actor: isolated any Actor) { piece() }
}

/// A weak reference to an actor.
private final class Address: @unchecked Sendable {
    // Sendable: a weak reference that is never set again.
    private(set) weak var actor: (any Actor)?
    init(_ actor: any Actor) { self.actor = actor }
}

extension RealmSettings {
    /// False if its actor has been released and `actor` is another one at the same address.
    func serves(_ actor: (any Actor)?) -> Bool {
        guard let mailbox else { return true }
        return mailbox.actor === actor
    }
}
