// SPDX-License-Identifier: Apache-2.0
// The lanes of requests, so that a long scan keeps no other request waiting.
//
//   file     owns the `StudioFile`: changes, and requests that read few objects
//   rows     filtered and sorted rows, which a grid scrolls through
//   scans    everything else that may read a whole class: aggregates, exports, previews
//
// All lanes read the version that the file shows. Between requests the file goes on to the newest version, as the space
// of an old one is not reused while it is held.

internal import Foundation
internal import RegnumEngine

/// The lanes of requests that may read a whole class.
enum ScanLane: Sendable { case rows, scans }

final class StudioWorker: Sendable {
    // unsafe: used on the queue of `lane` only.
    private nonisolated(unsafe) let file: StudioFile
    private let lane: StudioLane
    private let rows: StudioLane
    private let scans: StudioLane
    private let turns = PageTurns()

    init(_ file: StudioFile, timeLimit: Duration) {
        self.file = file
        lane = StudioLane("regnum.studio", timeLimit: timeLimit)
        rows = StudioLane("regnum.studio.rows", timeLimit: timeLimit)
        scans = StudioLane("regnum.studio.scans", timeLimit: timeLimit)
        refreshLater()
    }

    private func refreshLater() {
        lane.later(10) { [weak self] in
            guard let self else { return }
            try? file.refresh()
            refreshLater()
        }
    }

    /// Runs `body` with the file. See `StudioLane.run`.
    func run<R: Sendable>(
        isChange: Bool = false, _ body: @escaping @Sendable (StudioFile) throws -> R
    ) async throws -> R {
        try await lane.run(isChange: isChange) { [self] _ in try body(file) }
    }

    /// Runs `body` with the version that the file shows, in a lane of scans. See `StudioLane.run`.
    func scan<R: Sendable>(
        _ kind: ScanLane, _ call: StudioCall, _ body: @escaping @Sendable (StudioView) throws -> R
    ) async throws -> R {
        let turn = try PageTurn(call, turns)
        let view = try await run { file in try file.scanView(kind) }
        return try await lane(kind).run(turn) { stop in try view.scanning(stop) { try body(view) } }
    }

    /// Ends the older scans of the page, as the request needs none itself.
    func endOlderScans(_ call: StudioCall) throws { try PageTurn(call, turns)?.take {}.leave() }

    /// Runs `body` in a lane of scans, with the view that it keeps. See `StudioLane.run`.
    func scan<R: Sendable>(
        _ kind: ScanLane, _ body: @escaping @Sendable (ScanStop) throws -> R
    ) async throws -> R {
        try await lane(kind).run(nil, body)
    }

    /// Runs `body` in a lane of scans after some seconds.
    func later(_ kind: ScanLane, _ seconds: Double, _ body: @escaping @Sendable () -> Void) {
        lane(kind).later(seconds, body)
    }

    private func lane(_ kind: ScanLane) -> StudioLane {
        switch kind {
        case .rows: rows
        case .scans: scans
        }
    }
}
