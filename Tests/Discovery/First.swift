// SPDX-License-Identifier: Apache-2.0
// Module First of the discovery programs: classes without references, and a name that Second has too.

import RealmSwift

public class FirstModel: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var related: RelatedModel?
}

class RelatedModel: Object {
    @Persisted(originProperty: "related") var owners: LinkingObjects<FirstModel>
}

class DerivedModel: FirstModel {
    @Persisted var note = ""

    class Nested: Object {
        @Persisted var value = 0
    }
}

private class PrivateModel: Object {
    @Persisted var value = 0
}

class GenericBase<Value>: Object {
    @Persisted var value = 0
}

class FromGeneric: GenericBase<Int> {}

enum Space {
    class Inside: Object {
        @Persisted var value = 0
    }
}

func neverCalled() {
    class LocalModel: Object {
        @Persisted var value = 0
    }
    _ = LocalModel()
}

public class Twice: Object {
    @Persisted public var first = 0
}
