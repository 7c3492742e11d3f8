// SPDX-License-Identifier: Apache-2.0
// The place where a repository keeps its objects: six calls, which a folder, a server or a service can provide.

/// A set of named objects whose bytes never change. Any thread may call it; a call may block.
///
/// A repository relies on this:
/// - `putIfAbsent` is atomic: of two calls with one name, in whatever process, one returns true. When it has returned
///   true, `get` finds the whole object, also after a power loss. A call that throws may or may not have put the
///   object, but never a part of it.
/// - `get` and `byteCount` see every object whose `putIfAbsent` or `delete` has returned, and a deleted object does not
///   return, also after a power loss.
/// - A call throws if the store cannot be reached. Only an object that is missing in a store that can is nil.
///
/// It does not rely on a new `list`: a list may be up to an hour old, so that it omits new objects and contains deleted
/// ones, and it may contain one twice. It does not rely on the bytes either: they are compared with hashes.
public protocol BackupStore: AnyObject, Sendable {
    /// The names of the objects that begin with `prefix`, which is empty or ends with a slash, in any order.
    func list(_ prefix: String) throws -> [String]
    /// The length of an object in bytes; nil if there is none of that name.
    func byteCount(of name: String) throws -> Int?
    /// The bytes of an object; nil if there is none of that name.
    func get(_ name: String) throws -> [UInt8]?
    /// The bytes of a part of an object, fewer if it ends sooner; nil if there is none of that name.
    func get(_ name: String, range: Range<Int>) throws -> [UInt8]?
    /// Stores an object. Returns false, and changes nothing, if there is one of that name. Names consist of lower-case
    /// letters, digits, hyphens and slashes.
    func putIfAbsent(_ name: String, _ bytes: [UInt8]) throws -> Bool
    /// Removes an object. Does nothing if there is none of that name.
    func delete(_ name: String) throws
}
