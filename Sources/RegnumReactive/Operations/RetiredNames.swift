// SPDX-License-Identifier: Apache-2.0
// Names that RxRealm deprecated in 2017, for code that still uses them.

#if canImport(Combine) || Publishers
    public import Regnum

    extension RealmPublishers {
        /// Like `collection(from:)`.
        @available(*, deprecated, renamed: "collection(from:)")
        public static func from<C: RealmCollection>(_ collection: C) -> Observation<C, Never> {
            self.collection(from: collection)
        }

        /// Like `array(from:)`.
        @available(*, deprecated, renamed: "array(from:)")
        public static func arrayFrom<C: RealmCollection>(_ collection: C) -> Observation<[C.Element], Never> {
            array(from: collection)
        }

        /// Like `changeset(from:)`.
        @available(*, deprecated, renamed: "changeset(from:)")
        public static func changesetFrom<C: RealmCollection>(
            _ collection: C
        ) -> Observation<(C, RealmChangeset?), Never> {
            changeset(from: collection)
        }

        /// Like `arrayWithChangeset(from:)`.
        @available(*, deprecated, renamed: "arrayWithChangeset(from:)")
        public static func changesetArrayFrom<C: RealmCollection>(
            _ collection: C
        ) -> Observation<([C.Element], RealmChangeset?), Never> {
            arrayWithChangeset(from: collection)
        }

        /// Like `from(object:)`.
        @available(*, deprecated, renamed: "from(object:)")
        public static func from<O: Object>(_ object: O) -> Observation<O, ReactiveRealmError> {
            from(object: object)
        }
    }
#endif
