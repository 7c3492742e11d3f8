// SPDX-License-Identifier: Apache-2.0
// The drop-in name: `import RealmSwift` and `RealmSwift.List` mean what is in Regnum.

@_exported public import Regnum
