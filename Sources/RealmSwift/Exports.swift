// SPDX-License-Identifier: Apache-2.0
// The drop-in name: `import RealmSwift` and `RealmSwift.List` mean what is in Regnum, and Date, Data, UUID and all of
// Foundation come along, as they do on Apple's systems, where models are written without another import.

@_exported public import Foundation
@_exported public import Regnum

/// Foundation has another type of this name. `RealmSwift.SortDescriptor` is Realm's always, the name alone in files to
/// which nothing but RealmSwift brings Foundation: XCTest does, too.
public typealias SortDescriptor = Regnum.SortDescriptor

/// `Realm.NotificationBlock` under the name that RealmSwift gives it outside of `Realm`.
public typealias NotificationBlock = Realm.NotificationBlock
