// SPDX-License-Identifier: Apache-2.0
// Work that reads the whole file: the integrity check and the measurement of space. It runs beside the other requests,
// on a file opened for it alone, and is asked for its progress.

internal import Dispatch
internal import Foundation
internal import RegnumInspect
internal import RegnumSystem

final class StudioJobs: @unchecked Sendable {
    // Sendable: the lock guards the states.
    private enum State {
        case running(Double)
        case done(JSONValue)
        case failed(StudioFailure)
    }

    private static let names: Set<String> = ["check", "space"]

    private let options: StudioOptions
    private let queue = DispatchQueue(label: "regnum.studio.jobs", qos: .utility)
    private let lock = NSLock()
    private var states: [String: State] = [:]

    init(_ options: StudioOptions) { self.options = options }

    /// `POST job` begins the job `name`, unless it is running. `GET job` returns its state.
    func respond(_ call: StudioCall) throws -> JSONValue {
        let name = try call.text("name")
        guard Self.names.contains(name) else { throw StudioFailure.argument("name", "check or space") }
        if call.isPost, begin(name) { queue.async { [self] in run(name) } }
        switch lock.withLock({ states[name] }) {
        case nil: return ["state": "none"]
        case .running(let progress): return ["state": "running", "progress": .double(progress)]
        case .done(let result): return ["state": "done", "result": result]
        case .failed(let failure): return ["state": "failed", "message": .string(failure.message)]
        }
    }

    private func begin(_ name: String) -> Bool {
        lock.withLock {
            if case .running? = states[name] { return false }
            states[name] = .running(0)
            return true
        }
    }

    private func set(_ name: String, _ state: State) { lock.withLock { states[name] = state } }

    private func run(_ name: String) {
        do {
            let inspector = try Inspector(
                fileURL: options.fileURL, isReadOnly: true, encryptionKey: options.encryptionKey)
            let start = ContinuousClock.now
            let result = name == "check" ? check(inspector) : try Self.space(inspector)
            set(name, .done(["microseconds": .int(StudioView.microseconds(since: start)), "report": result]))
        } catch { set(name, .failed(StudioFailure(error))) }
    }

    private func check(_ inspector: Inspector) -> JSONValue {
        let findings = inspector.integrityFindings { [self] progress in set("check", .running(progress)) }
        return ["findings": .array(findings.map { .string($0) }), "version": .int(inspector.newestVersion)]
    }

    private static func space(_ inspector: Inspector) throws -> JSONValue {
        let report = try inspector.report()
        let properties = try inspector.propertySpace()
        let classes = report.tables.map { space -> JSONValue in
            let own = properties.filter { $0.className == space.name }.map { property -> JSONValue in
                [
                    "name": .string(property.name), "values": .int(property.valueBytes),
                    "long": .int(property.blobBytes), "indexes": .int(property.indexBytes),
                    "backlinks": .int(property.backlinkBytes),
                ]
            }
            return [
                "name": .string(space.name), "objects": .int(space.objects), "rows": .int(space.rowGroupBytes),
                "long": .int(space.blobBytes), "indexes": .int(space.indexBytes),
                "backlinks": .int(space.backlinkBytes), "properties": .array(own),
            ]
        }
        return [
            "version": .int(report.version), "fileBytes": .int(report.fileBytes),
            "pageBytes": .int(report.pageBytes), "reachablePages": .int(report.reachablePages),
            "pendingPages": .int(report.pendingPages), "freePages": .int(report.freePages),
            "reservedPages": .int(report.reservedPages), "classes": .array(classes),
        ]
    }
}
