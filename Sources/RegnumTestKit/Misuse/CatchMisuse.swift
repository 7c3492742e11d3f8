// SPDX-License-Identifier: Apache-2.0
// `catchMisuse`: returns the message of a programmer error that would otherwise end the program, for comparison in a
// test.

internal import Regnum

#if os(Linux) && canImport(Glibc)

    /// Runs `body` and returns the message of the first programmer error in it, or nil if there is none.
    ///
    /// These programmer errors end a program: use on the wrong thread, a write outside a transaction, use of a deleted
    /// object, a predicate that does not parse, a primary key that exists already. Inside this call the program
    /// continues instead:
    ///
    /// ```swift
    /// let words = catchMisuse { dog.name = "Rex" }
    /// #expect(words?.hasPrefix("Cannot modify managed objects outside of a write transaction.") == true)
    /// ```
    ///
    /// - Throws: The error that `body` throws.
    /// - Thread: Any. `body` runs on the calling thread, so it may use the caller's Realms, and is on the caller's
    ///   actor if there is one. Calls may be nested; the innermost one gets the message.
    /// - Complexity: About 1.5 microseconds in a release build; at a programmer error, some more for each Realm that is
    ///   open in the process.
    ///
    /// At a programmer error the rest of `body` is abandoned: no further code in it runs, not even `defer` and
    /// `deinit`.
    /// - A write transaction begun in `body` is cancelled; one begun before it stays open.
    /// - Objects that `body` created or held stay in memory until the process ends, including Realms. Test realms count
    ///   those in `TestRealmReport.abandonedRealms` and do not report them as leaks.
    ///
    /// Some code cannot be between this call and the programmer error:
    /// - `DispatchQueue.sync`, or a block of the main queue that `body` waits for: the message is returned, but that
    ///   queue never runs again.
    /// - `TaskLocal.withValue`, and so `withKnownIssue` and `confirmation`: the process ends later. Make `catchMisuse`
    ///   the innermost call.
    /// - A lock that `body` took: it stays locked.
    /// - Traps that are not detected by Regnum (an array index out of range, an overflow, an unwrapped nil), recursion
    ///   deeper than 1 MiB, and programmer errors on other threads that `body` starts: these end the process as always.
    ///
    /// `body` is synchronous. For asynchronous calls use `catchAsyncMisuse`.
    public func catchMisuse<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> String? {
        MisuseCatcher.listen()
        var failure: Failure?
        let message = MisuseCatcher.run {
            do throws(Failure) { try body() } catch { failure = error }
        }
        if let failure { throw failure }
        return message
    }

    enum MisuseCatcher {
        /// Installs the kit's hooks in the library, once.
        static func listen() {
            KitHooks.begin()
            _ = hooks
        }

        private static let hooks: Void = {
            let previous = MisuseHook.handler
            MisuseHook.handler = { text in
                BodyStack.current?.abandon(text)
                // Without a body on this thread the error ends the process, unless another handler is installed.
                previous?(text)
            }
            WriteHook.didBegin = { core in BodyStack.current?.note(core) }
        }()

        static func run(_ body: () -> Void) -> String? {
            withAbandonable(body) { body in
                let outer = BodyStack.current
                let accesses = AccessMark()
                let stack = BodyStack.take()
                let message = stack.run(body)
                if message != nil { accesses.endLaterOnes() }
                accesses.close()
                let begun = stack.takeBegun()
                BodyStack.give(stack, isClean: message == nil)
                if message != nil {
                    for core in begun.reversed() { core.cancelAnyWrite() }
                    RealmCore.noteAbandonedBody()
                } else if let outer {
                    // The outer body is responsible for transactions that stay open.
                    for core in begun where core.isWriting { outer.note(core) }
                }
                return message
            }
        }
    }

    // MARK: References

    /// The memory layout of a stored closure: code and context.
    private struct StoredClosure { var call: () -> Void }

    /// Calls `work` with `body` as an escaping closure whose references may be abandoned on a stack that is never
    /// resumed.
    ///
    /// `withoutActuallyEscaping` ends the process if the closure is still referenced afterwards, and abandoned frames
    /// keep references. So those references are released here.
    private func withAbandonable<R>(_ body: () -> Void, _ work: (@escaping () -> Void) -> R) -> R {
        withoutActuallyEscaping(body) { escaping in
            let context = unsafeBitCast(StoredClosure(call: escaping), to: (UInt, UInt).self).1
            guard let pointer = UnsafeRawPointer(bitPattern: context) else { return work(escaping) }
            let object = Unmanaged<AnyObject>.fromOpaque(pointer)
            let before = object._withUnsafeGuaranteedRef { _getRetainCount($0) }
            let result = work(escaping)
            let after = object._withUnsafeGuaranteedRef { _getRetainCount($0) }
            if after > before { for _ in before..<after { object.release() } }
            return result
        }
    }

#else

    /// Not available on this platform, where a running call cannot be abandoned. Use an exit test:
    /// `#expect(processExitsWith: .failure) { ... }`.
    @available(*, unavailable, message: "catchMisuse needs Linux with Glibc; use an exit test here")
    public func catchMisuse<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> String? {
        try body()
        return nil
    }

#endif
