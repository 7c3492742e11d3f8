// SPDX-License-Identifier: Apache-2.0
// Compares a realm with an approved text.

public import Foundation
public import Regnum
public import Testing

/// Expects that the objects of `realm` are those that `expected` describes in the format of `snapshotText`. If they
/// differ, the failure shows the differing lines: `-` for what was expected, `+` for what was found.
///
/// - Returns: True if they are the same.
/// - Thread: The realm's own.
@discardableResult
public func expectSnapshot(
    of realm: Realm, matches expected: String, types: [ObjectBase.Type] = [], redacting redacted: Set<String> = [],
    sourceLocation: SourceLocation = #_sourceLocation
) -> Bool {
    compare(realm.snapshotText(of: types, redacting: redacted), expected, "the snapshot", sourceLocation)
}

/// Same as `expectSnapshot(of:matches:)`, with the text in a file. If there is no file, it is written and the test
/// fails once, so that the new text is reviewed. The environment variable `REGNUM_RECORD=1` writes the file again.
@discardableResult
public func expectSnapshot(
    of realm: Realm, file: URL, types: [ObjectBase.Type] = [], redacting redacted: Set<String> = [],
    sourceLocation: SourceLocation = #_sourceLocation
) -> Bool {
    let text = realm.snapshotText(of: types, redacting: redacted)
    let isRecording = ProcessInfo.processInfo.environment["REGNUM_RECORD"] == "1"
    if !isRecording, let expected = try? String(contentsOf: file, encoding: .utf8) {
        return compare(text, expected, "'\(file.lastPathComponent)'", sourceLocation)
    }
    do {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try text.write(to: file, atomically: true, encoding: .utf8)
    } catch {
        Report.issue("The snapshot cannot be written to '\(file.path)': \(error)", at: sourceLocation)
        return false
    }
    if !isRecording {
        Report.issue(
            "There was no '\(file.path)': it has been written. Review it, and run the test again.", at: sourceLocation)
    }
    return isRecording
}

func compare(_ text: String, _ expected: String, _ name: String, _ location: SourceLocation) -> Bool {
    guard let difference = TextDifference.between(expected, and: text) else { return true }
    Report.issue("The realm differs from \(name):\n\(difference)", at: location)
    return false
}

/// The lines that were removed and added, with the lines around them.
enum TextDifference {
    private static let context = 2

    /// The difference; nil if the texts are the same apart from empty lines at their ends.
    static func between(_ old: String, and new: String) -> String? {
        let old = lines(old)
        let new = lines(new)
        if old == new { return nil }
        var removed: Set<Int> = []
        var inserted: Set<Int> = []
        for change in new.difference(from: old) {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): inserted.insert(offset)
            }
        }
        var marked: [(mark: String, line: String)] = []
        var (i, j) = (0, 0)
        while i < old.count || j < new.count {
            if removed.contains(i) {
                marked.append(("-", old[i]))
                i += 1
            } else if inserted.contains(j) {
                marked.append(("+", new[j]))
                j += 1
            } else {
                marked.append((" ", old[i]))
                i += 1
                j += 1
            }
        }
        return excerpt(marked)
    }

    private static func lines(_ text: String) -> [String] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines
    }

    private static func excerpt(_ marked: [(mark: String, line: String)]) -> String {
        var shown: [String] = []
        var isGap = false
        for (index, (mark, line)) in marked.enumerated() {
            let near = marked[max(0, index - context)..<min(marked.count, index + context + 1)]
            if near.contains(where: { $0.mark != " " }) {
                shown.append("\(mark) \(line)")
                isGap = false
            } else if !isGap {
                shown.append("  (...)")
                isGap = true
            }
        }
        return shown.joined(separator: "\n")
    }
}
