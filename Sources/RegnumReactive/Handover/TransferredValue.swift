// SPDX-License-Identifier: Apache-2.0
// Values in transit to another thread: thread-confined values as references, all others unchanged.

#if canImport(Combine) || Publishers
    internal import Dispatch
    internal import Regnum

    /// A value packed on one thread, to be unpacked once on another.
    struct TransferredValue<Output> {
        /// Returns the value; nil if it was deleted in the meantime. `queue` is the one that runs the call; nil on
        /// other schedulers.
        let unpack: (_ queue: DispatchQueue?) -> Output?

        init(_ unpack: @escaping (_ queue: DispatchQueue?) -> Output?) { self.unpack = unpack }
    }

    /// Packs a value managed by a Realm; frozen and unmanaged values are passed unchanged.
    func packed<T: ThreadConfined>(_ value: T) -> TransferredValue<T> {
        guard let realm = value.realm, !value.isFrozen, !value.isInvalidated else {
            return TransferredValue { _ in value }
        }
        let reference = ThreadSafeReference(to: value)
        let configuration = realm.configuration
        return TransferredValue { queue in
            let realm: Realm
            do { realm = try Realm(configuration: configuration, queue: queue) } catch {
                misuse(
                    "The Realm cannot be opened on the queue or thread that a publisher's value was passed to: "
                        + "\(error)", becauseOf: error)
            }
            return realm.resolve(reference)
        }
    }

    extension TransferredValue {
        /// Packs objects as references; those deleted in the meantime are left out.
        static func elements<E>(_ elements: [E]) -> TransferredValue where Output == [E] {
            let parcels = elements.map { packedAny($0) }
            return TransferredValue { queue in parcels.compactMap { $0(queue) as? E } }
        }

        /// Adds a value that needs no packing.
        func with<Other>(_ other: Other) -> TransferredValue<(Output, Other)> {
            TransferredValue<(Output, Other)> { queue in unpack(queue).map { ($0, other) } }
        }
    }

    extension TransferredValue where Output: ThreadConfined {
        static func confined(_ value: Output) -> TransferredValue { packed(value) }
    }

    extension TransferredValue where Output == PropertyChange {
        static func change(_ change: PropertyChange) -> TransferredValue {
            let (old, new) = (packedAny(change.oldValue), packedAny(change.newValue))
            return TransferredValue { PropertyChange(name: change.name, oldValue: old($0), newValue: new($0)) }
        }
    }

    extension TransferredValue {
        static func change<C: ThreadConfined>(_ change: Output) -> TransferredValue
        where Output == RealmCollectionChange<C> {
            switch change {
            case .initial(let collection):
                let parcel = packed(collection)
                return TransferredValue { parcel.unpack($0).map { .initial($0) } }
            case .update(let collection, let deletions, let insertions, let modifications):
                let parcel = packed(collection)
                return TransferredValue {
                    parcel.unpack($0).map {
                        .update($0, deletions: deletions, insertions: insertions, modifications: modifications)
                    }
                }
            case .error: return TransferredValue { _ in change }
            }
        }

        static func change<M: RealmKeyedCollection>(_ change: Output) -> TransferredValue
        where Output == RealmMapChange<M> {
            switch change {
            case .initial(let map):
                let parcel = packed(map)
                return TransferredValue { parcel.unpack($0).map { .initial($0) } }
            case .update(let map, let deletions, let insertions, let modifications):
                let parcel = packed(map)
                return TransferredValue {
                    parcel.unpack($0).map {
                        .update($0, deletions: deletions, insertions: insertions, modifications: modifications)
                    }
                }
            case .error: return TransferredValue { _ in change }
            }
        }

        static func change<C: RealmSectionedResult>(_ change: Output) -> TransferredValue
        where Output == SectionedResultsChange<C> {
            switch change {
            case .initial(let sections):
                let parcel = packed(sections)
                return TransferredValue { parcel.unpack($0).map { .initial($0) } }
            case .update(let sections, let deletions, let insertions, let modifications, let came, let went):
                let parcel = packed(sections)
                return TransferredValue {
                    parcel.unpack($0).map {
                        .update(
                            $0, deletions: deletions, insertions: insertions, modifications: modifications,
                            sectionsToInsert: came, sectionsToDelete: went)
                    }
                }
            }
        }

        static func change<T: ThreadConfined>(_ change: Output) -> TransferredValue where Output == ObjectChange<T> {
            guard case .change(let object, let properties) = change else { return TransferredValue { _ in change } }
            let parcel = packed(object)
            let parcels = properties.map { TransferredValue<PropertyChange>.change($0) }
            return TransferredValue { queue in
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
