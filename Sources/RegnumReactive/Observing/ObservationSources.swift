// SPDX-License-Identifier: Apache-2.0
// Observes objects, collections, maps, sections and Realms for publishers.

#if canImport(Combine) || Publishers
    internal import Dispatch
    internal import Regnum

    extension ObservationSource {
        /// Changes to a collection.
        static func changes<C: RealmCollection>(of collection: C, _ keyPaths: [String]?) -> ObservationSource
        where Output == RealmCollectionChange<C> {
            ObservationSource(realm: { collection.realm }, waiting: .all, pack: { .change($0) }) { queue, take in
                collection.observe(keyPaths: keyPaths, on: queue) { take(.value($0)) }
            }
        }

    }

    extension ObservationSource where Output: RealmCollection {
        /// The collection at the start, and after each change.
        static func values(of collection: Output, _ keyPaths: [String]?) -> ObservationSource {
            ObservationSource(realm: { collection.realm }, waiting: .latest, pack: { .confined($0) }) { queue, take in
                collection.observe(keyPaths: keyPaths, on: queue) { change in
                    switch change {
                    case .initial(let collection), .update(let collection, _, _, _): take(.value(collection))
                    case .error: break
                    }
                }
            }
        }
    }

    extension ObservationSource {
        static func changes<M: RealmKeyedCollection>(of map: M, _ keyPaths: [String]?) -> ObservationSource
        where Output == RealmMapChange<M> {
            ObservationSource(realm: { map.realm }, waiting: .all, pack: { .change($0) }) { queue, take in
                map.observe(keyPaths: keyPaths, on: queue) { take(.value($0)) }
            }
        }

        static func changes<C: RealmSectionedResult>(of sections: C, _ keyPaths: [String]?) -> ObservationSource
        where Output == SectionedResultsChange<C> {
            ObservationSource(realm: { sections.realm }, waiting: .all, pack: { .change($0) }) { queue, take in
                sections.observe(keyPaths: keyPaths, on: queue) { take(.value($0)) }
            }
        }
    }

    extension ObservationSource where Output: RealmKeyedCollection {
        /// The map at the start, and after each change.
        static func values(of map: Output, _ keyPaths: [String]?) -> ObservationSource {
            ObservationSource(realm: { map.realm }, waiting: .latest, pack: { .confined($0) }) { queue, take in
                map.observe(keyPaths: keyPaths, on: queue) { change in
                    switch change {
                    case .initial(let map), .update(let map, _, _, _): take(.value(map))
                    case .error: break
                    }
                }
            }
        }
    }

    extension ObservationSource where Output: RealmSectionedResult {
        static func values(of sections: Output, _ keyPaths: [String]?) -> ObservationSource {
            ObservationSource(realm: { sections.realm }, waiting: .latest, pack: { .confined($0) }) { queue, take in
                sections.observe(keyPaths: keyPaths, on: queue) { change in
                    switch change {
                    case .initial(let sections), .update(let sections, _, _, _, _, _): take(.value(sections))
                    }
                }
            }
        }
    }

    extension ObservationSource {
        /// Changes to an object's properties; finishes when the object is deleted.
        static func changes<T: ObjectBase>(of object: T, _ keyPaths: [String]?) -> ObservationSource
        where Output == ObjectChange<T> {
            ObservationSource(realm: { object.realm }, waiting: .all, pack: { .change($0) }) { queue, take in
                object.observe(keyPaths: keyPaths, on: queue) { change in
                    // RealmSwift's publishers finish without sending `.deleted` first.
                    if case .deleted = change { take(.finished) } else { take(.value(change)) }
                }
            }
        }
    }

    extension ObservationSource where Output: ObjectBase {
        /// The object after each change; finishes when the object is deleted.
        static func values(of object: Output, _ keyPaths: [String]?) -> ObservationSource {
            ObservationSource(realm: { object.realm }, waiting: .latest, pack: { .confined($0) }) { queue, take in
                object.observe(keyPaths: keyPaths, on: queue) { change in
                    switch change {
                    case .change(let object, _): take(.value(object))
                    case .deleted: take(.finished)
                    case .error: break
                    }
                }
            }
        }
    }

    extension ObservationSource {
        /// Changes to the projected properties; finishes when the underlying object is deleted.
        static func changes<P: ProjectionObservable>(projectedBy projection: P, _ keyPaths: [String]?)
            -> ObservationSource
        where Output == ObjectChange<P> {
            ObservationSource(realm: { projection.realm }, waiting: .all, pack: { .change($0) }) { queue, take in
                projection.observe(keyPaths: keyPaths, on: queue) { change in
                    // RealmSwift's publishers finish without sending `.deleted` first.
                    if case .deleted = change { take(.finished) } else { take(.value(change)) }
                }
            }
        }

        /// Changes to the values of a projected collection.
        static func changes<V>(of values: ProjectedCollection<V>, _ keyPaths: [String]?) -> ObservationSource
        where Output == RealmCollectionChange<ProjectedCollection<V>> {
            ObservationSource(realm: { values.realm }, waiting: .all, pack: { .change($0) }) { queue, take in
                values.observe(keyPaths: keyPaths, on: queue) { take(.value($0)) }
            }
        }

        /// The projected collection at the start, and after each change.
        static func values<V>(of values: ProjectedCollection<V>, _ keyPaths: [String]?) -> ObservationSource
        where Output == ProjectedCollection<V> {
            ObservationSource(realm: { values.realm }, waiting: .latest, pack: { .confined($0) }) { queue, take in
                values.observe(keyPaths: keyPaths, on: queue) { change in
                    switch change {
                    case .initial(let values), .update(let values, _, _, _): take(.value(values))
                    case .error: break
                    }
                }
            }
        }
    }

    extension ObservationSource where Output: ProjectionObservable {
        /// The projection after each change to its properties; finishes when the underlying object is deleted.
        static func values(projectedBy projection: Output, _ keyPaths: [String]?) -> ObservationSource {
            ObservationSource(realm: { projection.realm }, waiting: .latest, pack: { .confined($0) }) { queue, take in
                projection.observe(keyPaths: keyPaths, on: queue) { change in
                    switch change {
                    case .change(let projection, _): take(.value(projection))
                    case .deleted: take(.finished)
                    case .error: break
                    }
                }
            }
        }
    }

    extension ObservationSource where Output == Void {
        init<P: ProjectionObservable>(changingWhatIsShownBy projection: P) {
            self.init({ projection.realm }) { queue, take in
                projection.observe(on: queue) { change in
                    switch change {
                    case .change: take(.value(()))
                    case .deleted: take(.finished)
                    case .error: break
                    }
                }
            }
        }

        init<C: RealmCollection>(changing collection: C) {
            self.init({ collection.realm }) { queue, take in
                collection.observe(on: queue) { if case .update = $0 { take(.value(())) } }
            }
        }

        init<K, V>(changing map: Map<K, V>) {
            self.init({ map.realm }) { queue, take in
                map.observe(on: queue) { if case .update = $0 { take(.value(())) } }
            }
        }

        init<C: RealmSectionedResult>(changing sections: C) {
            self.init({ sections.realm }) { queue, take in
                sections.observe(on: queue) { if case .update = $0 { take(.value(())) } }
            }
        }

        init<T: ObjectBase>(changing object: T) {
            self.init({ object.realm }) { queue, take in
                object.observe(on: queue) { change in
                    switch change {
                    case .change: take(.value(()))
                    case .deleted: take(.finished)
                    case .error: break
                    }
                }
            }
        }

        init(changing realm: Realm) {
            self.init({ realm }) { queue, take in
                if queue != nil {
                    misuse(
                        "A Realm is observed on its own thread. Open the Realm on the queue and observe that "
                            + "instance.")
                }
                return realm.observe { _, _ in take(.value(())) }
            }
        }
    }

    extension ObservationSource where Output == (Realm, Realm.Notification) {
        init(events realm: Realm) {
            self.init(realm: { realm }, waiting: .all, pack: { event in TransferredValue { _ in event } }) {
                queue, take in
                if queue != nil {
                    misuse(
                        "A Realm is observed on its own thread. Open the Realm on the queue and observe that "
                            + "instance.")
                }
                return realm.observe { notification, realm in take(.value((realm, notification))) }
            }
        }
    }
#endif
