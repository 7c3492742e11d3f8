// SPDX-License-Identifier: Apache-2.0
// Readers that write nothing, not even to the lock file. They keep a version by holding a shared lock on a byte of the
// database file, which the system grants to every process that may read the file and releases when the process ends.
//
//   locked bytes of the database file: 2^62 + 2^56 + v keeps version v; v = 0 keeps everything from now on
//
// A reader first locks v = 0. The transaction that is running at that moment may still reuse space that only versions
// before the newest one need; all later transactions keep everything. So the version that the reader then finds to be
// the newest stays intact. It locks that one and unlocks v = 0. Writers query these locks once, when a transaction
// begins.

import RegnumSystem

extension LockFile {
    private static let firstPinByte = 1 << 62 + 1 << 56
    private static var pinBytes: Range<Int> { firstPinByte..<firstPinByte + Int(CommitSlot.versionLimit) }

    /// Keeps a version as long as the database file is open here, or everything from now on if `version` is 0. Returns
    /// false if the file system does not support locks.
    func keepAsReader(_ version: UInt64) throws(EngineError) -> Bool {
        do { return try database.tryLockShared(byte: Self.firstPinByte + Int(version)) } catch {
            if error.isUnsupportedLock { return false }
            throw .system(error)
        }
    }

    func releaseAsReader(_ version: UInt64) { database.unlock(byte: Self.firstPinByte + Int(version)) }

    /// True if a reader that writes nothing has the file open.
    func hasReaders() throws(EngineError) -> Bool {
        do { return try database.isLocked(bytes: Self.pinBytes) } catch { throw .system(error) }
    }

    /// Returns the versions that such readers keep; nil, after one system call, if there are none. Their process ids
    /// are unknown.
    func pinsOfReaders() throws(EngineError) -> OtherPins? {
        var (found, next) = (OtherPins(process: 0, pins: []), Self.pinBytes.lowerBound)
        do throws(SystemError) {
            while let locked = try database.firstLocked(in: next..<Self.pinBytes.upperBound) {
                let versions =
                    UInt64(locked.lowerBound - Self.firstPinByte)..<UInt64(locked.upperBound - Self.firstPinByte)
                if versions.lowerBound == 0 || found.pins.count + versions.count > Self.pinsPerSlot {
                    found.floor = versions.lowerBound
                    break
                }
                found.pins += versions
                next = locked.upperBound
            }
        } catch { throw .system(error) }
        return found.pins.isEmpty && found.floor == nil ? nil : found
    }
}
