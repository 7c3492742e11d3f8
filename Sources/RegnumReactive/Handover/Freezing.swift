// SPDX-License-Identifier: Apache-2.0
// `freeze()` for publishers: each value becomes a snapshot that any thread may use.

#if canImport(Combine) || Publishers
    public import Regnum

    extension Publisher {
        /// Freezes each object, collection or projection.
        public func freeze() -> Publishers.Map<Self, Output> where Output: ThreadConfined { map { $0.freeze() } }

        /// Freezes the object of each change.
        public func freeze<T: ThreadConfined>() -> Publishers.Map<Self, ObjectChange<T>>
        where Output == ObjectChange<T> {
            map { change in
                guard case .change(let object, let properties) = change else { return change }
                return .change(object.freeze(), properties.map(\.frozen))
            }
        }

        /// Freezes the collection of each change.
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

        /// Freezes the map of each change.
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

        /// Freezes the sections of each change.
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
