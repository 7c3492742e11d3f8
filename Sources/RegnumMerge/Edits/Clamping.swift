// SPDX-License-Identifier: Apache-2.0
// What the hub does to the stamps of an upload before it applies it.

extension Merge {
    /// Clamps the stamps of an upload (rule 3). Edits that shared a stamp still do, and the order of stamps remains.
    /// - Parameters:
    ///   - replica: the number of the uploading client. Stamps of other replicas are those of offers.
    ///   - limit: the hub's time and five seconds.
    ///   - newest: the newest time of the space, which is raised.
    ///   - author: the last time that was accepted from this replica, which is raised.
    /// - Complexity: O(*n* log *n*) for *n* edits.
    public func clamp(
        _ edits: inout [Edit], of replica: Replica, limit: Timestamp, newest: inout Timestamp,
        author: inout Timestamp
    ) {
        let order = edits.indices.sorted { rules.isLater(edits[$1].stamp, than: edits[$0].stamp) }
        var last: (original: Stamp, clamped: Timestamp)?
        for index in order {
            let stamp = edits[index].stamp
            if let last, last.original == stamp {
                edits[index].stamp.time = last.clamped
                continue
            }
            // The time of adopted data is before that of every edit of its author.
            let isOwn = stamp.replica == replica && stamp.time != .adopted
            let time = rules.time(
                stamp.time, clampedTo: limit, newest: newest, author: isOwn ? author : .zero)
            if isOwn { author = time }
            newest = max(newest, time)
            edits[index].stamp.time = time
            last = (stamp, time)
        }
    }
}
