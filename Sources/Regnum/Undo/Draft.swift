// SPDX-License-Identifier: Apache-2.0
// Drafts: an object is edited outside a transaction, and the differences are written later, unless somebody else has
// changed the same properties. Additions to RealmSwift's API, and therefore members of protocol extensions: a member of
// the same name in a user's class takes precedence.
//
// Laws
//  1. A draft writes a property only if its value in the draft differs from the value with which the draft began.
//  2. A property is in conflict if the draft and the object have both changed since then, to different values.
//  3. `apply` with `.fail` writes everything or, if there is a conflict, nothing.
//  4. `apply` does not change the draft: if the transaction is rolled back, it can be applied again, and if it is
//     committed, a second `apply` writes nothing. Only new objects that the draft links to become objects of the Realm;
//     a rollback makes them invalid.

public import Foundation
internal import RegnumEngine

/// How `Draft.apply` treats properties that are in conflict.
public enum DraftPolicy: Sendable {
    /// Throws, and writes nothing.
    case fail
    /// Leaves the object's value, and writes the other properties.
    case merge
    /// Writes the draft's value.
    case overwrite
}

/// A draft cannot be applied: properties are in conflict, or the object was deleted.
public struct DraftConflict: Error, Sendable, Equatable, CustomStringConvertible, LocalizedError {
    /// The name of the class in the file.
    public let className: String
    /// The primary key of the object; nil for classes without one.
    public let primaryKey: SnapshotValue?
    /// The properties in conflict, those of embedded objects with their path, such as "address.city". Empty if the
    /// object was deleted.
    public let properties: [String]
    let subject: Subject

    /// The kind of copy that cannot be applied.
    enum Subject: String { case draft, snapshot }

    /// True if the object was deleted.
    public var isDeleted: Bool { properties.isEmpty }

    public var description: String {
        let object = describedObject(className, primaryKey)
        let start = "The \(subject) of \(object) cannot be applied: "
        if isDeleted { return start + "the object was deleted." }
        let names = properties.map { "'\($0)'" }.joined(separator: ", ")
        return switch subject {
        case .draft:
            start + "since it began, others have changed \(names). Apply it with `.merge` or `.overwrite`, or begin "
                + "another draft."
        case .snapshot:
            start + "since it was taken, others have changed \(names). Apply it with `.merge` or `.overwrite`, or take "
                + "another snapshot."
        }
    }

    public var errorDescription: String? { description }
}

extension ThreadConfined where Self: ObjectBase {
    /// Begins a draft: a copy of the object that can be edited outside a transaction, and whose changes can then be
    /// written.
    ///
    /// ```swift
    /// let draft = person.draft()
    /// draft.name = "Ada"                     // no write transaction
    /// draft.address?.city = "London"
    /// try realm.write { try draft.apply() }  // writes `name` and `address.city` only
    /// ```
    ///
    /// The copy holds the values and the embedded objects. Links lead to the objects of the Realm themselves, which can
    /// be changed only in a write transaction, as always. Linking objects of the copy are empty.
    ///
    /// It is a programmer error to call this for an unmanaged, invalid, frozen or dynamic object. O(size of the
    /// object).
    @_disfavoredOverload
    public func draft() -> Draft<Self> { Draft(of: self) }
}

/// An edited copy of an object, with the values that the object had when the draft began; see `draft()` of an object.
///
/// Properties of the copy are read and set through the draft, `draft.name`, or through `draft.object`. A draft belongs
/// to the thread, queue or actor of its object.
@dynamicMemberLookup
public final class Draft<T: ObjectBase> {
    /// The unmanaged copy that is edited.
    public private(set) var object: T
    private let live: T
    /// The content of `live` and of `object` when the draft began. They may differ in values that the class cannot
    /// represent.
    private var base: ObjectSnapshot
    private var start: ObjectSnapshot

    fileprivate init(of live: T) {
        if live.rowContext == nil {
            misuse("Only an object of a Realm can be drafted: change an unmanaged object directly.")
        }
        live.requireValid()
        if live.isFrozen { misuse("Cannot draft a frozen object - call thaw on the Object instance first.") }
        self.live = live
        let copy = unsafeDowncast(Detaching.shell(of: live), to: T.self)
        object = copy
        base = content(of: live)
        start = content(of: copy)
    }

    public subscript<Value>(dynamicMember keyPath: ReferenceWritableKeyPath<T, Value>) -> Value {
        get { object[keyPath: keyPath] }
        set { object[keyPath: keyPath] = newValue }
    }

    public subscript<Value>(dynamicMember keyPath: KeyPath<T, Value>) -> Value { object[keyPath: keyPath] }

    /// The names of the properties whose values in the draft differ from those with which it began, in the order of the
    /// schema. O(size of the object).
    public var changedProperties: [String] {
        let now = content(of: object)
        return now.names.filter { !SnapshotValue.areIdentical(start[$0], now[$0]) }
    }

    /// The properties that are in conflict at present, those of embedded objects with their path; empty if the object
    /// was deleted. O(size of the object).
    public var conflicts: [String] {
        live.core.check()
        return live.isInvalidated ? [] : edits().filter(\.isConflict).map(\.path)
    }

    /// Writes the changes of the draft to the object, in the running write transaction.
    ///
    /// Only properties that the draft has changed are written; those that only others have changed keep their values.
    /// A list, a set, a map, and a list or map of embedded objects count as one value. An embedded object is compared
    /// property by property if both the object and the draft have one. Links of the draft to objects that were deleted
    /// since are left out.
    ///
    /// The draft itself stays as it is. Release it after the transaction is committed, or call `reset()` to go on. New
    /// objects that the draft links to are added to the Realm. If the transaction is rolled back, they are invalid, and
    /// a second `apply` leaves the links to them out: set these properties again before.
    ///
    /// - Parameter policy: what happens to properties that the draft and others have changed to different values.
    /// - Returns: the properties that were in conflict, for `.merge` and `.overwrite`.
    ///
    /// Throws `DraftConflict`, with nothing written, if the object was deleted or, for `.fail`, if properties are in
    /// conflict. It is a programmer error to call this outside a write transaction, or to have changed the primary key.
    /// O(size of the object).
    @discardableResult
    public func apply(_ policy: DraftPolicy = .fail) throws -> [String] {
        live.core.requireWrite(
            "Cannot apply a draft outside of a write transaction. Put it into `realm.write { }`.")
        if live.isInvalidated { throw conflict([]) }
        return try DraftEdit.write(edits(), policy) { conflict($0) }
    }

    /// Discards the changes of the draft, which begins again with the present values of the object. `object` is another
    /// copy afterwards. Throws `DraftConflict` if the object was deleted. O(size of the object).
    public func reset() throws {
        live.core.check()
        if live.isInvalidated { throw conflict([]) }
        object = unsafeDowncast(Detaching.shell(of: live), to: T.self)
        base = content(of: live)
        start = content(of: object)
    }

    private func conflict(_ properties: [String]) -> DraftConflict {
        DraftConflict(className: base.className, primaryKey: base.primaryKey, properties: properties, subject: .draft)
    }

    private func edits() -> [DraftEdit] {
        var edits: [DraftEdit] = []
        DraftEdit.collect(
            live, object, before: (base, start), now: (content(of: live), content(of: object)), path: "", into: &edits)
        return edits
    }
}

/// A property that a draft has changed.
struct DraftEdit {
    let path: String
    let property: ClassProperty
    /// The object of the Realm and the one of the draft, or objects embedded in them.
    let live: ObjectBase
    let copy: ObjectBase
    let isConflict: Bool

    /// The contents of an object of the Realm and of its copy.
    typealias Contents = (live: ObjectSnapshot, copy: ObjectSnapshot)

    /// Writes an edited copy of an object to it. `start` is the copy before it was edited; nil to compare the edited one
    /// with the object itself, so that nothing is in conflict. Throws `DraftConflict`, with nothing written.
    static func apply(
        _ copy: ObjectBase, to live: ObjectBase, since start: ObjectBase?, _ policy: DraftPolicy,
        subject: DraftConflict.Subject
    ) throws -> [String] {
        let now = (live: content(of: live), copy: content(of: copy))
        let before = start.map { content(of: $0) } ?? now.live
        var edits: [DraftEdit] = []
        collect(live, copy, before: (before, before), now: now, path: "", into: &edits)
        return try write(edits, policy) { conflicts in
            DraftConflict(
                className: now.live.className, primaryKey: now.live.primaryKey, properties: conflicts,
                subject: subject)
        }
    }

    /// Writes edits as the policy says, and returns the paths of those in conflict.
    static func write(
        _ edits: [DraftEdit], _ policy: DraftPolicy, _ error: ([String]) -> DraftConflict
    ) throws -> [String] {
        let conflicts = edits.filter(\.isConflict).map(\.path)
        if policy == .fail, !conflicts.isEmpty { throw error(conflicts) }
        for edit in edits where !edit.isConflict || policy == .overwrite { edit.write() }
        return conflicts
    }

    static func collect(
        _ live: ObjectBase, _ copy: ObjectBase, before: Contents, now: Contents, path: String,
        into edits: inout [DraftEdit]
    ) {
        for property in copy.classSchema.properties where !property.isComputed {
            let name = property.name
            if SnapshotValue.areIdentical(before.copy[name], now.copy[name]) { continue }
            if property.embedsOneObject, let liveChild = property.get(live) as? ObjectBase,
                let copyChild = property.get(copy) as? ObjectBase, case .object(let liveBefore)? = before.live[name],
                case .object(let copyBefore)? = before.copy[name], case .object(let liveNow)? = now.live[name],
                case .object(let copyNow)? = now.copy[name]
            {
                collect(
                    liveChild, copyChild, before: (liveBefore, copyBefore), now: (liveNow, copyNow),
                    path: path + name + ".", into: &edits)
                continue
            }
            // The object has the draft's value already.
            if SnapshotValue.areIdentical(now.live[name], now.copy[name]) { continue }
            edits.append(
                DraftEdit(
                    path: path + name, property: property, live: live, copy: copy,
                    isConflict: !SnapshotValue.areIdentical(before.live[name], now.live[name])))
        }
    }

    func write() { ObjectFilling.set(Detaching.value(of: property, in: copy), property, live) }
}

extension ClassProperty {
    /// True for a link to an embedded object that is read as that object.
    fileprivate var embedsOneObject: Bool {
        !isOwnedCollection && !shape.isCustom && shape.target?.isEmbedded() == true
    }
}

/// The content of an object, with links represented by the identities of their targets.
private func content(of object: ObjectBase) -> ObjectSnapshot {
    var taking = TakingSnapshot()
    taking.identifiesTargets = true
    return taking.object(object, 0)
}

/// An object in the message of an error.
func describedObject(_ className: String, _ primaryKey: SnapshotValue?) -> String {
    guard let primaryKey else { return "an object of class '\(className)'" }
    return "the object of class '\(className)' with the primary key '\(describe(primaryKey.any as Any))'"
}
