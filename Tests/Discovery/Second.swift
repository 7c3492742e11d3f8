// SPDX-License-Identifier: Apache-2.0
// Module Second of the discovery programs.

import RealmSwift

public class SecondModel: Object {
    @Persisted var value = 0
}

public class Twice: Object {
    @Persisted public var second = 0
}
