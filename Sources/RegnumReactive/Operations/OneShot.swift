// SPDX-License-Identifier: Apache-2.0
// A subscription that ends with one value and a completion, or with a failure. Its work begins when the value is
// asked for.

#if canImport(Combine) || Publishers
    internal import Synchronization

    final class OneShot<S: Subscriber>: Subscription, @unchecked Sendable {
        // Sendable: everything mutable is behind the mutex; the result is delivered at its place only.
        private struct State: @unchecked Sendable {
            // Sendable: only reached under the mutex.
            var subscriber: S?
            var begin: ((OneShot) -> Void)?
            var onCancel: (() -> Void)?
        }
        private let state: Mutex<State>

        init(_ subscriber: S, _ begin: @escaping (OneShot) -> Void) {
            state = Mutex(State(subscriber: subscriber, begin: begin))
        }

        /// False once it is cancelled or has delivered.
        var isActive: Bool { state.withLock { $0.subscriber != nil } }

        /// What is to be ended when the subscriber loses interest before there is a result.
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

        /// Delivers; to be called once, where the result belongs.
        func finish(_ result: Result<S.Input, S.Failure>) {
            guard let subscriber = take().subscriber else { return }
            switch result {
            case .success(let value):
                _ = subscriber.receive(value)
                subscriber.receive(completion: .finished)
            case .failure(let error): subscriber.receive(completion: .failure(error))
            }
        }

        /// Empties the state; what was in it is released behind the lock.
        private func take() -> State {
            state.withLock { state in
                let last = state
                state = State()
                return last
            }
        }
    }
#endif
