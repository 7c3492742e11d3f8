// SPDX-License-Identifier: Apache-2.0
// A library that a discovery program loads while it runs.

import RealmSwift

class PluginModel: Object {
    @Persisted var value = 0
}
