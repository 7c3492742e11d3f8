// SPDX-License-Identifier: Apache-2.0
// Object identity for lists in user interfaces.

internal import RegnumEngine

/// Makes model classes `Identifiable` by their identity in the Realm.
///
/// ```swift
/// class Dog: Object, ObjectKeyIdentifiable { @Persisted var name = "" }
/// ```
public protocol ObjectKeyIdentifiable: Identifiable {
    /// An identifier that is the same for every instance of the same object of a Realm; an unmanaged object has its
    /// own.
    var id: UInt64 { get }
}

extension ObjectKeyIdentifiable where Self: ObjectBase {
    /// An identifier that is the same for every instance of the same object of a Realm; an unmanaged object has its
    /// own.
    public var id: UInt64 { objectIdentity }
}

extension ObjectBase {
    /// For a managed object its table and key combined; for an unmanaged object its address.
    final var objectIdentity: UInt64 {
        guard let context = rowContext, context.pointee.kind != .traced else {
            return UInt64(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()))
        }
        return binding.identity(of: rowKey)
    }
}

extension ClassBinding {
    /// Returns the `ObjectKeyIdentifiable.id` of an object of the class.
    func identity(of key: ObjectKey) -> UInt64 {
        // Keys count from 1 and stay far below 2^40.
        UInt64(tableKey.rawValue) << 40 ^ key.rawValue
    }
}
