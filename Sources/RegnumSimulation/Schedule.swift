// SPDX-License-Identifier: Apache-2.0
// Runs several simulated processes, one thread each, one at a time. At each call to the file system another process may
// continue instead, as chosen by a seed: the same seed produces the same order of all calls.

package import RegnumSystem

/// One run of several processes. Created and run by one thread; the processes call `step` through their file systems.
package final class Schedule: @unchecked Sendable {
    // Unchecked: only the thread that has the turn accesses the state, and turns are handed over through monitors.

    /// How the next process is chosen.
    package enum Strategy: Sendable {
        /// Switches at each step with a probability of 1 in `period`.
        case random(period: Int)
        /// Runs the process of the highest priority; at `changes` steps of the run, the priority of the running process
        /// becomes the lowest. Finds errors that take few switches, but at particular steps.
        case priorities(changes: Int)
    }

    private final class Process {
        let turn = Turn()
        var isWaiting = false
        var isEnded = false
        var isDead = false
        var priority = 0
        var steps = 0
        /// The process is killed at this step, or at its first step after `sparedStep`.
        var lastStep = Int.max
        var sparedStep = 0
        var files: [any File] = []
    }

    /// A turn that one thread waits for and another grants.
    private final class Turn: @unchecked Sendable {
        // Unchecked: guarded by the monitor.
        private let monitor = Monitor()
        private var isGiven = false

        func give() {
            monitor.withLock {
                isGiven = true
                monitor.tellAll()
            }
        }

        func take() {
            monitor.withLock {
                while !isGiven { monitor.wait() }
                isGiven = false
            }
        }
    }

    private let strategy: Strategy
    private let stepLimit: Int
    private var random: SeededRandom
    private var processes: [Process] = []
    private var changes: Set<Int> = []
    private var lowest = 0
    /// The process of the last steps, and the number of consecutive steps it has made.
    private var (lastIndex, stretch) = (-1, 0)
    /// After this many consecutive steps, the priority of a process becomes the lowest: it polls for something that
    /// another process is about to do, and a real system would let others run in the meantime.
    private static let longestStretch = 1000
    private let finished = Turn()
    package private(set) var steps = 0
    /// The reason for which the run was aborted: no process could continue, or the step limit was reached.
    package private(set) var failure: String?

    package init(seed: UInt64, strategy: Strategy, stepLimit: Int = 200_000) {
        random = SeededRandom(seed: seed)
        self.strategy = strategy
        self.stepLimit = stepLimit
    }

    /// Adds a process that uses the files of `base`, and that is killed at step `lastStep`.
    package func addProcess(on base: any FileSystem, killedAt lastStep: Int? = nil) -> SteppedFileSystem {
        let process = Process()
        process.lastStep = lastStep ?? .max
        processes.append(process)
        return SteppedFileSystem(base, self, processes.count - 1)
    }

    /// Runs one body for each process, and returns when all have ended. `expectedSteps` is the expected length of the
    /// run, from which the steps of priority changes are drawn.
    package func run(expectedSteps: Int, _ bodies: [@Sendable () -> Void]) {
        precondition(bodies.count == processes.count, "a body for each process")
        if case .priorities(let count) = strategy {
            changes = Set((0..<count).map { _ in random.below(expectedSteps) })
            var order = Array(processes.indices)
            order.shuffle(using: &random)
            for (priority, i) in order.enumerated() { processes[i].priority = priority }
        }
        for (i, body) in bodies.enumerated() {
            let turn = processes[i].turn
            let isStarted = DetachedThread.start { [self] in
                turn.take()
                body()
                end(i)
            }
            precondition(isStarted, "no thread for a simulated process")
        }
        processes[random.below(processes.count)].turn.give()
        finished.take()
    }

    package func isDead(_ process: Int) -> Bool { processes[process].isDead }

    // MARK: By the thread that has the turn

    /// Lets another process continue. Throws if this process is dead.
    func step(_ index: Int, mayDie: Bool = true) throws(SystemError) {
        let process = processes[index]
        if process.isDead { throw SystemError(.io, "call", "a dead process") }
        steps += 1
        process.steps += 1
        if mayDie, process.steps >= process.lastStep, process.steps > process.sparedStep { kill(index) }
        if steps > stepLimit { abort("no end after \(stepLimit) steps") }
        if process.isDead { throw SystemError(.io, "call", "a dead process") }
        if index != lastIndex { stretch = 0 }
        (lastIndex, stretch) = (index, stretch + 1)
        if changes.contains(steps) || stretch.isMultiple(of: Self.longestStretch) {
            lowest -= 1
            process.priority = lowest
        }
        pass(index, to: choose(current: index))
        if process.isDead { throw SystemError(.io, "call", "a dead process") }
    }

    /// Prevents the process from being killed at its next step.
    func spare(_ index: Int) { processes[index].sparedStep = processes[index].steps + 1 }

    /// Waits until a lock is released.
    func wait(_ index: Int) throws(SystemError) {
        let process = processes[index]
        process.isWaiting = true
        pass(index, to: choose(current: nil))
        if process.isDead { throw SystemError(.io, "lock", "a dead process") }
    }

    /// Called when locks were released: all waiting processes try again.
    func wakeAll() { for process in processes { process.isWaiting = false } }

    func opened(_ file: any File, by index: Int) { processes[index].files.append(file) }

    private func pass(_ index: Int, to next: Int) {
        if next == index { return }
        processes[next].turn.give()
        processes[index].turn.take()
    }

    /// Stops the process for good, and releases its locks.
    private func kill(_ index: Int) {
        processes[index].isDead = true
        for file in processes[index].files { file.close() }
        wakeAll()
    }

    private func abort(_ reason: String) {
        if failure == nil { failure = reason }
        for i in processes.indices where !processes[i].isDead { kill(i) }
    }

    private func end(_ index: Int) {
        processes[index].isEnded = true
        processes[index].files = []
        if processes.allSatisfy(\.isEnded) { finished.give() } else { processes[choose(current: nil)].turn.give() }
    }

    private func choose(current: Int?) -> Int {
        var ready = processes.indices.filter { !processes[$0].isEnded && !processes[$0].isWaiting }
        if ready.isEmpty {
            abort("all processes wait for each other's locks")
            ready = processes.indices.filter { !processes[$0].isEnded }
        }
        switch strategy {
        case .random(let period):
            if let current, random.below(period) != 0 { return current }
            return ready[random.below(ready.count)]
        case .priorities:
            return ready.max { processes[$0].priority < processes[$1].priority } ?? ready[0]
        }
    }
}
