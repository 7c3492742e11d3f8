// SPDX-License-Identifier: Apache-2.0
// The subscription of one subscriber to one observation.
//
//     observation ──take──▶ demand left ──▶ subscriber
//                       └─▶ none left: waiting ──request──▶ a turn of the callback scheduler ──▶ subscriber
//
// Values are delivered by the observation's callback scheduler only, one at a time and in order, and never more than
// the demand. `cancel` and `request` may be called from any thread.

#if canImport(Combine) || Publishers
    internal import Dispatch
    internal import Regnum
    internal import Synchronization

    final class ObservationSubscription<S: Subscriber>: Subscription, @unchecked Sendable {
        // Sendable: all mutable state is guarded by the mutex; values are removed by the callback scheduler only.
        private struct State: @unchecked Sendable {
            // Sendable: only accessed under the mutex.
            var subscriber: S?
            var demand = Subscribers.Demand.none
            var waiting: [S.Input] = []
            var isFinished = false
            var isDelivering = false
            var token: NotificationToken?
        }
        private let state: Mutex<State>
        private let waiting: Waiting
        /// Schedules work on the observation's callback scheduler.
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

        /// Starts the observation for the subscriber. Returns the token, or nil if the subscriber has cancelled
        /// immediately.
        @discardableResult
        static func start(
            _ source: ObservationSource<S.Input>, on queue: DispatchQueue?, _ subscriber: S,
            _ ending: Subscribers.Completion<S.Failure>
        ) -> NotificationToken? {
            // If no callback could run, starting is a programmer error, so nothing is ever scheduled.
            let turns = queue.map { RegnumReactive.turns(on: $0) } ?? source.realm()?.core.turns
            let subscription = ObservationSubscription(subscriber, source.waiting, turns, ending)
            subscriber.receive(subscription: subscription)
            guard subscription.isActive else { return nil }
            // Weak: the observation must not retain a subscription that its subscriber has dropped.
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
            let turn = CallbackTurn { self.deliver() }
            turns { turn.run() }
        }

        func cancel() {
            // Released outside the lock: releasing the state may run user code.
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

        /// Delivers waiting values while there is demand. Called on the callback scheduler.
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

        /// Removes and returns the next step that is due.
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
