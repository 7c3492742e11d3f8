// SPDX-License-Identifier: Apache-2.0
// A subscription that ends with one value and a completion, or with a failure. Its work begins with the first demand.

#if canImport(Combine) || Publishers
    internal import Synchronization

    final class SingleValueSubscription<S: Subscriber>: Subscription, @unchecked Sendable {
        // Sendable: all mutable state is guarded by the mutex; the result is delivered on its scheduler only.
        private struct State: @unchecked Sendable {
            // Sendable: only accessed under the mutex.
            var subscriber: S?
            var begin: ((SingleValueSubscription) -> Void)?
            var onCancel: (() -> Void)?
        }
        private let state: Mutex<State>

        init(_ subscriber: S, _ begin: @escaping (SingleValueSubscription) -> Void) {
            state = Mutex(State(subscriber: subscriber, begin: begin))
        }

        /// False once it has been cancelled or has delivered its result.
        var isActive: Bool { state.withLock { $0.subscriber != nil } }

        /// Sets the cleanup to run if the subscriber cancels before there is a result.
        func onCancel(_ body: @escaping () -> Void) {
            state.withLock { if $0.subscriber != nil { $0.onCancel = body } }
        }

        func request(_ demand: Subscribers.Demand) {
            let begin = state.withLock { state in
                defer { state.begin = nil }
                return state.begin
            }
            begin?(self)
        }

        func cancel() { take().onCancel?() }

        /// Delivers the result. Must be called once, on the scheduler of the result.
        func finish(_ result: Result<S.Input, S.Failure>) {
            guard let subscriber = take().subscriber else { return }
            switch result {
            case .success(let value):
                _ = subscriber.receive(value)
                subscriber.receive(completion: .finished)
            case .failure(let error): subscriber.receive(completion: .failure(error))
            }
        }

        /// Empties the state and returns it, so that its contents are released outside the lock.
        private func take() -> State {
            state.withLock { state in
                let last = state
                state = State()
                return last
            }
        }
    }
#endif
