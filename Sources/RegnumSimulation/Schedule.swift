// SPDX-License-Identifier: Apache-2.0
// Several pretended processes, one thread each, of which one runs at a time. Each call to the file system is a place
// where another may go on instead, chosen by a seed: the same seed gives the same order of all calls.

package import RegnumSystem

/// One run of some processes. Made and run by one thread; the processes call `step` through their file systems.
package final class Schedule: @unchecked Sendable {
    // Unchecked: only the thread that has the turn touches the state, and turns are handed over through monitors.

    /// How the next process is chosen.
    package enum Strategy: Sendable {
        /// At each step another one with a probability of 1 : `period`.
        case random(period: Int)
        /// The one of the highest priority; at so many steps of the run its priority becomes the lowest. Finds what
        /// takes few switches at the right places.
        case priorities(changes: Int)
    }

    private final class Process {
        let turn = Turn()
        var isWaiting = false
        var isEnded = false
        var isDead = false
        var priority = 0
        var steps = 0
        /// It is killed at this one of its steps, or the first one after `sparedStep`.
        var lastStep = Int.max
        var sparedStep = 0
        var files: [any File] = []
    }

    /// A turn that one thread waits for and another gives.
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
    /// Who has made the last steps, and how many in sequence.
    private var (lastIndex, stretch) = (-1, 0)
    /// After so many steps of one process its priority becomes the lowest: it looks again and again for what another
    /// one is about to do, as a process may that the system lets others have their turn beside.
    private static let longestStretch = 1000
    private let finished = Turn()
    package private(set) var steps = 0
    /// What went wrong: no process could go on, or they came to no end.
    package private(set) var failure: String?

    package init(seed: UInt64, strategy: Strategy, stepLimit: Int = 200_000) {
        random = SeededRandom(seed: seed)
        self.strategy = strategy
        self.stepLimit = stepLimit
    }

    /// A process whose files are those of `base`, and that is killed at its step of that number.
    package func addProcess(on base: any FileSystem, killedAt lastStep: Int? = nil) -> SteppedFileSystem {
        let process = Process()
        process.lastStep = lastStep ?? .max
        processes.append(process)
        return SteppedFileSystem(base, self, processes.count - 1)
    }

    /// Runs one body for each process, and returns when all have ended. `expectedSteps` is how long such a run is,
    /// for the places of the changes of priority.
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

    /// Another process may go on here. Throws where the process is dead.
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

    /// The process does not die at its next step.
    func spare(_ index: Int) { processes[index].sparedStep = processes[index].steps + 1 }

    /// Waits until somebody gives a lock back.
    func wait(_ index: Int) throws(SystemError) {
        let process = processes[index]
        process.isWaiting = true
        pass(index, to: choose(current: nil))
        if process.isDead { throw SystemError(.io, "lock", "a dead process") }
    }

    /// Locks have been given back: who waits tries again.
    func wakeAll() { for process in processes { process.isWaiting = false } }

    func opened(_ file: any File, by index: Int) { processes[index].files.append(file) }

    private func pass(_ index: Int, to next: Int) {
        if next == index { return }
        processes[next].turn.give()
        processes[index].turn.take()
    }

    /// The process does nothing any more, and its locks are free.
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
            abort("all processes wait for locks of one another")
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
