// SPDX-License-Identifier: Apache-2.0
// The drop-in module: `import RealmSwift` and `RealmSwift.List` refer to Regnum. All of Foundation (Date, Data, UUID
// and so on) is also exported, as on Apple's systems, where models need no other import.

@_exported public import Foundation
@_exported public import Regnum

/// Foundation has another type of this name. `RealmSwift.SortDescriptor` is always Realm's. `SortDescriptor` alone is
/// Realm's only in files that import Foundation through RealmSwift alone; XCTest, for example, also imports Foundation.
public typealias SortDescriptor = Regnum.SortDescriptor

/// `Realm.NotificationBlock` under the name that RealmSwift gives it outside `Realm`.
public typealias NotificationBlock = Realm.NotificationBlock
