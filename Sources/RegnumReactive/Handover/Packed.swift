// SPDX-License-Identifier: Apache-2.0
// Values in transit to another thread: thread-confined values as references, all others unchanged.

#if canImport(Combine) || Publishers
    internal import Dispatch
    internal import Regnum

    /// A value packed on one thread, to be unpacked once on another.
    struct Packed<Output> {
        /// Returns the value; nil if it was deleted in the meantime. `queue` is the one that runs the call; nil on
        /// other schedulers.
        let unpack: (_ queue: DispatchQueue?) -> Output?

        init(_ unpack: @escaping (_ queue: DispatchQueue?) -> Output?) { self.unpack = unpack }
    }

    /// Packs a value managed by a Realm; frozen and unmanaged values are passed unchanged.
    func packed<T: ThreadConfined>(_ value: T) -> Packed<T> {
        guard let realm = value.realm, !value.isFrozen, !value.isInvalidated else { return Packed { _ in value } }
        let reference = ThreadSafeReference(to: value)
        let configuration = realm.configuration
        return Packed { queue in
            let realm: Realm
            do { realm = try Realm(configuration: configuration, queue: queue) } catch {
                misuse("The Realm cannot be opened where a publisher's value was handed to: \(error)", becauseOf: error)
            }
            return realm.resolve(reference)
        }
    }

    extension Packed {
        /// Packs objects as references; those deleted in the meantime are left out.
        static func elements<E>(_ elements: [E]) -> Packed where Output == [E] {
            let parcels = elements.map { packedAny($0) }
            return Packed { queue in parcels.compactMap { $0(queue) as? E } }
        }

        /// Adds a value that needs no packing.
        func with<Other>(_ other: Other) -> Packed<(Output, Other)> {
            Packed<(Output, Other)> { queue in unpack(queue).map { ($0, other) } }
        }
    }

    extension Packed where Output: ThreadConfined {
        static func confined(_ value: Output) -> Packed { packed(value) }
    }

    extension Packed where Output == PropertyChange {
        static func change(_ change: PropertyChange) -> Packed {
            let (old, new) = (packedAny(change.oldValue), packedAny(change.newValue))
            return Packed { PropertyChange(name: change.name, oldValue: old($0), newValue: new($0)) }
        }
    }

    extension Packed {
        static func change<C: ThreadConfined>(_ change: Output) -> Packed
        where Output == RealmCollectionChange<C> {
            switch change {
            case .initial(let collection):
                let parcel = packed(collection)
                return Packed { parcel.unpack($0).map { .initial($0) } }
            case .update(let collection, let deletions, let insertions, let modifications):
                let parcel = packed(collection)
                return Packed {
                    parcel.unpack($0).map {
                        .update($0, deletions: deletions, insertions: insertions, modifications: modifications)
                    }
                }
            case .error: return Packed { _ in change }
            }
        }

        static func change<M: RealmKeyedCollection>(_ change: Output) -> Packed where Output == RealmMapChange<M> {
            switch change {
            case .initial(let map):
                let parcel = packed(map)
                return Packed { parcel.unpack($0).map { .initial($0) } }
            case .update(let map, let deletions, let insertions, let modifications):
                let parcel = packed(map)
                return Packed {
                    parcel.unpack($0).map {
                        .update($0, deletions: deletions, insertions: insertions, modifications: modifications)
                    }
                }
            case .error: return Packed { _ in change }
            }
        }

        static func change<C: RealmSectionedResult>(_ change: Output) -> Packed
        where Output == SectionedResultsChange<C> {
            switch change {
            case .initial(let sections):
                let parcel = packed(sections)
                return Packed { parcel.unpack($0).map { .initial($0) } }
            case .update(let sections, let deletions, let insertions, let modifications, let came, let went):
                let parcel = packed(sections)
                return Packed {
                    parcel.unpack($0).map {
                        .update(
                            $0, deletions: deletions, insertions: insertions, modifications: modifications,
                            sectionsToInsert: came, sectionsToDelete: went)
                    }
                }
            }
        }

        static func change<T: ThreadConfined>(_ change: Output) -> Packed where Output == ObjectChange<T> {
            guard case .change(let object, let properties) = change else { return Packed { _ in change } }
            let parcel = packed(object)
            let parcels = properties.map { Packed<PropertyChange>.change($0) }
            return Packed { queue in
                guard let object = parcel.unpack(queue) else { return nil }
                return .change(object, parcels.compactMap { $0.unpack(queue) })
            }
        }
    }

    /// Packs the value of a property; objects are packed as references.
    private func packedAny(_ value: Any?) -> (DispatchQueue?) -> Any? {
        guard let confined = value as? any ThreadConfined else { return { _ in value } }
        func open<T: ThreadConfined>(_ value: T) -> (DispatchQueue?) -> Any? {
            let parcel = packed(value)
            return { parcel.unpack($0) }
        }
        return open(confined)
    }

    extension PropertyChange {
        /// The same change with frozen objects.
        var frozen: PropertyChange {
            func freeze(_ value: Any?) -> Any? {
                guard let confined = value as? any ThreadConfined, confined.realm != nil, !confined.isInvalidated
                else { return value }
                return confined.freeze()
            }
            return PropertyChange(name: name, oldValue: freeze(oldValue), newValue: freeze(newValue))
        }
    }
#endif
