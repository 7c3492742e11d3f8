// SPDX-License-Identifier: Apache-2.0
// `freeze()` of publishers: each value as it is at that moment, for any thread.

#if canImport(Combine) || Publishers
    public import Regnum

    extension Publisher {
        /// Each object, collection or projection frozen.
        public func freeze() -> Publishers.Map<Self, Output> where Output: ThreadConfined { map { $0.freeze() } }

        /// Each change with a frozen object.
        public func freeze<T: ThreadConfined>() -> Publishers.Map<Self, ObjectChange<T>>
        where Output == ObjectChange<T> {
            map { change in
                guard case .change(let object, let properties) = change else { return change }
                return .change(object.freeze(), properties.map(\.frozen))
            }
        }

        /// Each change with a frozen collection.
        public func freeze<T: ThreadConfined>() -> Publishers.Map<Self, RealmCollectionChange<T>>
        where Output == RealmCollectionChange<T> {
            map { change in
                switch change {
                case .initial(let collection): .initial(collection.freeze())
                case .update(let collection, let deletions, let insertions, let modifications):
                    .update(
                        collection.freeze(), deletions: deletions, insertions: insertions,
                        modifications: modifications)
                case .error: change
                }
            }
        }

        /// Each change with a frozen map.
        public func freeze<T: RealmKeyedCollection>() -> Publishers.Map<Self, RealmMapChange<T>>
        where Output == RealmMapChange<T> {
            map { change in
                switch change {
                case .initial(let map): .initial(map.freeze())
                case .update(let map, let deletions, let insertions, let modifications):
                    .update(
                        map.freeze(), deletions: deletions, insertions: insertions, modifications: modifications)
                case .error: change
                }
            }
        }

        /// Each change with frozen sections.
        public func freeze<T: RealmSectionedResult>() -> Publishers.Map<Self, SectionedResultsChange<T>>
        where Output == SectionedResultsChange<T> {
            map { change in
                switch change {
                case .initial(let sections): .initial(sections.freeze())
                case .update(let sections, let deletions, let insertions, let modifications, let came, let went):
                    .update(
                        sections.freeze(), deletions: deletions, insertions: insertions,
                        modifications: modifications, sectionsToInsert: came, sectionsToDelete: went)
                }
            }
        }
    }
#endif
