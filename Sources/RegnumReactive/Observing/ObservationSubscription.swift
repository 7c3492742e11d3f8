// SPDX-License-Identifier: Apache-2.0
// One subscriber of one observation.
//
//     observation ──take──▶ demand left ──▶ subscriber
//                       └─▶ none left: waiting ──request──▶ a turn at the observation's place ──▶ subscriber
//
// Values are delivered at the observation's place only, one at a time and in order, and never more than were asked
// for. `cancel` and `request` may be called by any thread.

#if canImport(Combine) || Publishers
    internal import Dispatch
    internal import Regnum
    internal import Synchronization

    final class ObservationSubscription<S: Subscriber>: Subscription, @unchecked Sendable {
        // Sendable: everything mutable is behind the mutex; values are taken out at the observation's place only.
        private struct State: @unchecked Sendable {
            // Sendable: only reached under the mutex.
            var subscriber: S?
            var demand = Subscribers.Demand.none
            var waiting: [S.Input] = []
            var isFinished = false
            var isDelivering = false
            var token: NotificationToken?
        }
        private let state: Mutex<State>
        private let waiting: Waiting
        /// Brings work to the observation's place.
        private let turns: Turns?

        private let ending: Subscribers.Completion<S.Failure>

        private init(
            _ subscriber: S, _ waiting: Waiting, _ turns: Turns?, _ ending: Subscribers.Completion<S.Failure>
        ) {
            state = Mutex(State(subscriber: subscriber))
            self.waiting = waiting
            self.turns = turns
            self.ending = ending
        }

        /// Begins to observe for the subscriber; the token, unless the subscriber has cancelled at once.
        @discardableResult
        static func start(
            _ source: Source<S.Input>, on queue: DispatchQueue?, _ subscriber: S,
            _ ending: Subscribers.Completion<S.Failure>
        ) -> NotificationToken? {
            // Where nothing could be called, beginning is misuse: nothing is ever brought there.
            let turns = queue.map { RegnumReactive.turns(on: $0) } ?? source.realm()?.core.turns
            let subscription = ObservationSubscription(subscriber, source.waiting, turns, ending)
            subscriber.receive(subscription: subscription)
            guard subscription.isActive else { return nil }
            // Weakly: what is observed must not keep a subscription that its subscriber has dropped.
            let token = source.begin(queue) { [weak subscription] in subscription?.take($0) }
            let isCancelled = subscription.state.withLock { state in
                state.token = token
                return state.subscriber == nil
            }
            if isCancelled { token.invalidate() }
            return token
        }

        private var isActive: Bool { state.withLock { $0.subscriber != nil } }

        private func take(_ signal: Signal<S.Input>) {
            state.withLock { state in
                switch signal {
                case .finished: state.isFinished = true
                case .value(let value):
                    if waiting == .latest { state.waiting.removeAll() }
                    state.waiting.append(value)
                }
            }
            deliver()
        }

        func request(_ demand: Subscribers.Demand) {
            let mustDeliver = state.withLock { state in
                state.demand += demand
                return !state.waiting.isEmpty && !state.isDelivering
            }
            guard mustDeliver, let turns else { return }
            let turn = Turn { self.deliver() }
            turns { turn.run() }
        }

        func cancel() {
            // Released behind the lock: both may end in a user's code.
            let ended = state.withLock { state -> State in
                let ended = state
                state.subscriber = nil
                state.waiting = []
                state.token = nil
                return ended
            }
            ended.token?.invalidate()
        }

        private enum Step {
            case value(S, S.Input)
            case finished(S)
        }

        /// At the observation's place: what is waiting and wanted.
        private func deliver() {
            while let step = next() {
                switch step {
                case .value(let subscriber, let value):
                    let demand = subscriber.receive(value)
                    state.withLock { state in
                        state.demand += demand
                        state.isDelivering = false
                    }
                case .finished(let subscriber):
                    cancel()
                    subscriber.receive(completion: ending)
                }
            }
        }

        /// What is due, taken out.
        private func next() -> Step? {
            state.withLock { state in
                guard let subscriber = state.subscriber, !state.isDelivering else { return nil }
                if state.waiting.isEmpty { return state.isFinished ? .finished(subscriber) : nil }
                if state.demand == .none { return nil }
                state.demand -= 1
                state.isDelivering = true
                return .value(subscriber, state.waiting.removeFirst())
            }
        }
    }
#endif
