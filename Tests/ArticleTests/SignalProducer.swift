// SPDX-License-Identifier: Apache-2.0
// The part of ReactiveSwift's `SignalProducer` that the article on ReactiveSwiftRealm uses.

enum NoError: Error, Equatable {}

struct SignalObserver<Value, Failure: Error> {
    let value: (Value) -> Void
    let failed: (Failure) -> Void
    let completed: () -> Void

    func send(value: Value) { self.value(value) }
    func send(error: Failure) { failed(error) }
    func sendCompleted() { completed() }
}

/// Runs its closure again for each start.
struct SignalProducer<Value, Failure: Error> {
    private let begin: (SignalObserver<Value, Failure>) -> Void

    init(_ begin: @escaping (SignalObserver<Value, Failure>, Void) -> Void) {
        self.begin = { begin($0, ()) }
    }

    init(value: Value) {
        begin = { observer in
            observer.send(value: value)
            observer.sendCompleted()
        }
    }

    private init(begin: @escaping (SignalObserver<Value, Failure>) -> Void) { self.begin = begin }

    func on(failed: ((Failure) -> Void)? = nil, value: ((Value) -> Void)? = nil) -> SignalProducer {
        SignalProducer(begin: { observer in
            begin(
                SignalObserver(
                    value: {
                        value?($0)
                        observer.send(value: $0)
                    },
                    failed: {
                        failed?($0)
                        observer.send(error: $0)
                    }, completed: observer.completed))
        })
    }

    func startWithValues(_ action: @escaping (Value) -> Void) {
        begin(SignalObserver(value: action, failed: { _ in }, completed: {}))
    }

    func start() { startWithValues { _ in } }
}
