// SPDX-License-Identifier: Apache-2.0
// A second stack on the caller's thread, on which the body of `catchMisuse` runs. A programmer error in it switches
// back to the caller and never returns. The thread's identity, thread-local values, run loop and executor stay the
// same.

internal import Foundation
internal import Regnum
internal import Synchronization

#if os(Linux) && canImport(Glibc)

    // The headers' declarations are not imported, or differ between versions, but the symbols do not.
    @_silgen_name("getcontext") private func getContext(_ target: UnsafeMutableRawPointer) -> Int32
    @_silgen_name("swapcontext")
    private func swapContext(_ save: UnsafeMutableRawPointer, _ next: UnsafeMutableRawPointer) -> Int32
    @_silgen_name("makecontext")
    private func makeContext(
        _ context: UnsafeMutableRawPointer, _ entry: @convention(c) () -> Void, _ argumentCount: Int32)

    /// The first fields of `ucontext_t`; the C library manages the others.
    private struct ContextHead {
        var flags: UInt
        var link: UnsafeMutableRawPointer?
        var stack: stack_t
    }

    /// A stack with the two contexts that switch to it and back. Used by one thread at a time.
    final class BodyStack: @unchecked Sendable {
        // Sendable: only the thread that has taken it from the pool accesses it.

        /// The size of a stack in bytes; only pages that are touched use memory.
        private static let byteCount = 1 << 20
        /// Larger than `ucontext_t` on any machine.
        private static let contextByteCount = 4096
        /// The number of stacks kept unused in the pool. A stack with an abandoned body is reused only after that many
        /// others, so that a stale pointer into it finds old data instead of a live frame.
        private static let restingCount = 64

        private struct WeakCore { weak var core: RealmCore? }

        private let caller = UnsafeMutableRawPointer.allocate(byteCount: contextByteCount, alignment: 64)
        private let callee = UnsafeMutableRawPointer.allocate(byteCount: contextByteCount, alignment: 64)
        private let stack: UnsafeMutableRawPointer
        private var body: (() -> Void)?
        private var message: String?
        /// The Realms on which the body has begun a write transaction. Weak, because the body may close them.
        private var begun: [WeakCore] = []

        private init() {
            let flags = Int32(MAP_PRIVATE) | Int32(MAP_ANONYMOUS) | Int32(MAP_NORESERVE) | Int32(MAP_STACK)
            let base = mmap(nil, Self.byteCount, PROT_READ | PROT_WRITE, flags, -1, 0)
            guard let base, base != UnsafeMutableRawPointer(bitPattern: -1) else {
                fatalError("no memory for the stack of catchMisuse")
            }
            // A guard page: overflow ends the process instead of overwriting other memory.
            mprotect(base, sysconf(Int32(_SC_PAGESIZE)), PROT_NONE)
            stack = base
        }

        // MARK: Pool

        /// The free stacks, next one first. They are never deallocated.
        private static let pool = Mutex<[BodyStack]>([])

        static func take() -> BodyStack {
            pool.withLock { $0.count > restingCount ? $0.removeFirst() : nil } ?? BodyStack()
        }

        static func give(_ stack: BodyStack, isClean: Bool) {
            pool.withLock { isClean ? $0.insert(stack, at: 0) : $0.append(stack) }
        }

        // MARK: The innermost body of the calling thread

        private static let key: pthread_key_t = {
            var key = pthread_key_t()
            let code = pthread_key_create(&key, nil)
            precondition(code == 0, "no thread-local key is left")
            return key
        }()

        static var current: BodyStack? {
            pthread_getspecific(key).map { Unmanaged<BodyStack>.fromOpaque($0).takeUnretainedValue() }
        }

        private static func setCurrent(_ stack: BodyStack?) {
            pthread_setspecific(key, stack.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) })
        }

        // MARK: Running

        /// Runs `work` on this stack. Returns the message if it was abandoned.
        func run(_ work: @escaping () -> Void) -> String? {
            let outer = Self.current
            body = work
            message = nil
            guard getContext(callee) == 0 else { fatalError("getcontext failed") }
            let head = callee.assumingMemoryBound(to: ContextHead.self)
            head.pointee.link = nil
            head.pointee.stack = stack_t(ss_sp: stack, ss_flags: 0, ss_size: Self.byteCount)
            makeContext(
                callee,
                {
                    guard let stack = BodyStack.current else { fatalError("a body without a stack") }
                    stack.body?()
                    stack.leave()
                }, 0)
            Self.setCurrent(self)
            _ = swapContext(caller, callee)
            Self.setCurrent(outer)
            body = nil
            return message
        }

        private func leave() -> Never {
            _ = swapContext(callee, caller)
            fatalError("an abandoned body was resumed")
        }

        /// Switches back to the caller of `run`. The frames of the body are never resumed.
        func abandon(_ text: String) -> Never {
            message = text
            leave()
        }

        // MARK: Writes

        func note(_ core: RealmCore) {
            if !begun.contains(where: { $0.core === core }) { begun.append(WeakCore(core: core)) }
        }

        /// The noted Realms that are still open, oldest first. Clears the list.
        func takeBegun() -> [RealmCore] {
            defer { begun = [] }
            return begun.compactMap(\.core)
        }
    }

    // MARK: Accesses

    // Declarations with @_silgen_name crash the compiler, which has its own declarations of these functions, so they
    // are looked up. A program with a static runtime does not export them: then the accesses that an abandoned body
    // began never end.
    private typealias BeginAccess =
        @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer, UInt, UnsafeRawPointer?) -> Void
    private typealias EndAccess = @convention(c) (UnsafeMutableRawPointer) -> Void

    private enum AccessRuntime {
        static let begin = dlsym(nil, "swift_beginAccess").map { unsafeBitCast($0, to: BeginAccess.self) }
        static let end = dlsym(nil, "swift_endAccess").map { unsafeBitCast($0, to: EndAccess.self) }
    }

    /// Marks a position in the runtime's per-thread list of accesses in progress, and ends the accesses begun after it.
    /// Without this the list would point into abandoned frames, and later accesses to the same variables would be
    /// reported as simultaneous.
    struct AccessMark {
        /// An entry of the runtime's list: address, caller, next entry (with bit 0 set if the access modifies).
        private typealias Entry = (address: UInt, caller: UInt, next: UInt)
        private static let tracked: UInt = 0x20
        private static let modifies: UInt = 1

        private let entries = UnsafeMutablePointer<Entry>.allocate(capacity: 2)

        init() {
            entries.initialize(repeating: (0, 0, 0), count: 2)
            AccessRuntime.begin?(entries, entries, Self.tracked, nil)
        }

        /// Ends every access of this thread that was begun since `init` and is still in progress.
        func endLaterOnes() {
            guard let begin = AccessRuntime.begin, let end = AccessRuntime.end else { return }
            let newest = entries + 1
            begin(newest, newest, Self.tracked, nil)
            var next = newest.pointee.next & ~Self.modifies
            while next != UInt(bitPattern: entries), let entry = UnsafeMutablePointer<Entry>(bitPattern: next) {
                next = entry.pointee.next & ~Self.modifies
                end(entry)
            }
            end(newest)
        }

        func close() {
            AccessRuntime.end?(entries)
            entries.deallocate()
        }
    }

#endif
