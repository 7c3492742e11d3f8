// SPDX-License-Identifier: Apache-2.0
// An identity of objects for lists on screens.

internal import RegnumEngine

/// Makes model classes `Identifiable` by their place in the Realm.
///
/// ```swift
/// class Dog: Object, ObjectKeyIdentifiable { @Persisted var name = "" }
/// ```
public protocol ObjectKeyIdentifiable: Identifiable {
    /// The same for the same object of a Realm, whichever instance shows it; of an unmanaged object its own.
    var id: UInt64 { get }
}

extension ObjectKeyIdentifiable where Self: ObjectBase {
    /// The same for the same object of a Realm, whichever instance shows it; of an unmanaged object its own.
    public var id: UInt64 { objectIdentity }
}

extension ObjectBase {
    /// Of a managed object its table and key; of an unmanaged one its address.
    final var objectIdentity: UInt64 {
        guard let context = rowContext, context.pointee.kind != .traced else {
            return UInt64(UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()))
        }
        return binding.identity(of: rowKey)
    }
}

extension ClassBinding {
    /// What `ObjectKeyIdentifiable.id` is for an object of the class.
    func identity(of key: ObjectKey) -> UInt64 {
        // Keys count from 1 and stay far below 2^40.
        UInt64(tableKey.rawValue) << 40 ^ key.rawValue
    }
}
