// SPDX-License-Identifier: Apache-2.0
// The log of a repository: objects with consecutive numbers, each put only if there is none of that number. It holds
// the backups, and it is the lease that excludes a second process: a process that has put an entry knows that no other
// has put one since the entry before it.
//
//   claim     a process takes over the repository; its number is the token of that process
//   beat      the process is still at work
//   backup    a manifest: with it, and not before, a backup exists
//   release   the process has finished
//
// A process owns the numbers from its claim to the next one. Each entry lists the claims so far, so an entry of a
// process that was replaced, put late at a number whose first entry has been deleted, is recognized: it does not count.
//
//   object "log/<number>", all integers little endian
//     "RGBL" · u32 format, 1 · u8 kind (1 claim, 2 beat, 3 backup, 4 release) · u64 number · u64 token · 2 u64 process,
//     random · i64 time, in microseconds since 1970 · i64 microseconds for which the lease lasts from then on · digest
//     of the entry before · u64 number of the newest backup before (0: none) · its digest · u32 claims · u64 number of
//     each · u32 byte count and bytes of the manifest · digest of all this
//
// A second copy of each backup is at "copies/log/<number>".

struct LogEntry: Sendable, Equatable {
    enum Kind: UInt8, Sendable { case claim = 1, beat, backup, release }

    var kind: Kind
    var number: UInt64
    var token: UInt64
    var owner: SIMD2<UInt64>
    var time: Int64
    var duration: Int64
    /// The digest of the entry before; zero for the first.
    var previous = Digest(low: 0, high: 0)
    /// The newest backup before this entry; 0 if there is none.
    var lastBackup: UInt64 = 0
    var lastBackupDigest = Digest(low: 0, high: 0)
    /// Ascending. If there are many, those before the oldest backup are left out.
    var claims: [UInt64]
    /// The manifest of a backup.
    var payload: [UInt8] = []

    private static let magic: UInt32 = 0x4C42_4752
    private static let format: UInt32 = 1

    func bytes(_ hasher: Hasher128) -> [UInt8] {
        var writer = ObjectWriter()
        writer.integer(Self.magic)
        writer.integer(Self.format)
        writer.integer(kind.rawValue)
        for value in [number, token, owner.x, owner.y] { writer.integer(value) }
        writer.integer(time)
        writer.integer(duration)
        writer.digest(previous)
        writer.integer(lastBackup)
        writer.digest(lastBackupDigest)
        writer.integer(UInt32(claims.count))
        for claim in claims { writer.integer(claim) }
        writer.blob(payload)
        writer.seal(hasher)
        return writer.bytes
    }

    /// Reads the entry with that number; nil if the bytes are damaged or those of another entry. Throws `.newerFormat`.
    init?(_ bytes: [UInt8], number: UInt64, _ hasher: Hasher128) throws {
        guard var reader = ObjectReader(sealed: bytes, hasher) else { return nil }
        guard try reader.integer(UInt32.self) == Self.magic else { return nil }
        guard try reader.integer(UInt32.self) <= Self.format else {
            throw BackupError(.newerFormat, "A newer version of the library has written to the repository.")
        }
        guard let kind = Kind(rawValue: try reader.integer(UInt8.self)) else { return nil }
        self.kind = kind
        self.number = try reader.integer(UInt64.self)
        token = try reader.integer(UInt64.self)
        owner = SIMD2(try reader.integer(UInt64.self), try reader.integer(UInt64.self))
        time = try reader.integer(Int64.self)
        duration = try reader.integer(Int64.self)
        previous = try reader.digest()
        lastBackup = try reader.integer(UInt64.self)
        lastBackupDigest = try reader.digest()
        claims = []
        for _ in 0..<(try reader.count(of: 8)) { claims.append(try reader.integer(UInt64.self)) }
        payload = try reader.blob()
        guard self.number == number else { return nil }
    }

    init(
        _ kind: Kind, number: UInt64, token: UInt64, owner: SIMD2<UInt64>, time: Int64, duration: Int64,
        claims: [UInt64]
    ) {
        self.kind = kind
        self.number = number
        self.token = token
        self.owner = owner
        self.time = time
        self.duration = duration
        self.claims = claims
    }

    /// True if an entry counts, according to the claims that the newest entry lists. One before all of them
    /// was put late.
    func counts(among claims: [UInt64]) -> Bool {
        claims.last { $0 <= number } == token
    }

    /// A time further in the future than this comes from a wrong clock.
    private static let longestSkew: Int64 = 3_600_000_000

    /// True if another process may take over at that time. Clocks of different machines may differ: the lease only
    /// avoids useless work, and the log excludes the other process in any case. A process whose clock is behind waits
    /// for one whose clock is ahead; otherwise each would take over from the other, and no backup would be finished.
    func isOver(at now: Int64) -> Bool {
        kind == .release || now >= time &+ duration || now &+ max(duration, Self.longestSkew) < time
    }
}
