// SPDX-License-Identifier: Apache-2.0
// `catchMisuse`: a programmer's error that would end the program, as a text that a test can compare.

internal import Regnum

#if os(Linux) && canImport(Glibc)

    /// Runs `body` and returns the message of the first misuse in it, or nil where there was none.
    ///
    /// Misuse is what ends a program: use on the wrong thread, a write outside of a transaction, a deleted
    /// object, a predicate that does not parse, a primary key that is taken. Inside this call the program
    /// goes on instead:
    ///
    /// ```swift
    /// let words = catchMisuse { dog.name = "Rex" }
    /// #expect(words?.hasPrefix("Cannot modify managed objects outside of a write transaction.") == true)
    /// ```
    ///
    /// - Throws: what `body` throws.
    /// - Thread: any; `body` runs on the calling thread, so it may use the caller's Realms, and is on the
    ///   main actor or in an actor where the caller is. Calls may be nested; the innermost one gets the
    ///   message.
    /// - Cost: about 1.5 microseconds in a release build; at a misuse some more for each Realm open in the process.
    ///
    /// At a misuse the rest of `body` is abandoned: nothing in it runs any more, no `defer` and no `deinit`.
    /// - A write transaction begun in `body` is cancelled; one begun before it stays open.
    /// - What `body` created or held stays in memory until the process ends, Realms included. Test realms count
    ///   those in `TestRealmReport.abandonedRealms` and do not take them for leaks.
    ///
    /// What cannot be survived, because it stands between this call and the misuse:
    /// - `DispatchQueue.sync`, or a block of the main queue that `body` waits for: the message comes, but
    ///   that queue never runs again.
    /// - `TaskLocal.withValue`, and so `withKnownIssue` and `confirmation`: the process ends later. Put
    ///   `catchMisuse` innermost.
    /// - A lock that `body` took: it stays locked.
    /// - Traps that are not misuse (an index of an Array, an overflow, a forced nil), recursion deeper than 1
    ///   MiB, and misuse on other threads that `body` starts: these end the process as always.
    ///
    /// `body` is synchronous. For asynchronous calls there is `catchAsyncMisuse`.
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
        /// Connects the kit with the library, once.
        static func listen() {
            KitHooks.begin()
            _ = hooks
        }

        private static let hooks: Void = {
            let previous = MisuseHook.handler
            MisuseHook.handler = { text in
                BodyStack.current?.abandon(text)
                // Without a body on this thread the misuse ends the process, unless somebody else listens.
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
                    // What stays open is the outer body's.
                    for core in begun where core.isWriting { outer.note(core) }
                }
                return message
            }
        }
    }

    // MARK: References

    /// A stored closure as it lies in memory: code and context.
    private struct StoredClosure { var call: () -> Void }

    /// Calls `work` with `body` as an escaping closure whose references may be abandoned on a stack that
    /// never resumes.
    ///
    /// `withoutActuallyEscaping` ends the process where anybody still holds the closure afterwards, and
    /// abandoned frames do. So the references they have kept are given back for them.
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

    /// Not available on this platform, which cannot leave a call from within. Use an exit test:
    /// `#expect(processExitsWith: .failure) { ... }`.
    @available(*, unavailable, message: "catchMisuse needs Linux with Glibc; use an exit test here")
    public func catchMisuse<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> String? {
        try body()
        return nil
    }

#endif
