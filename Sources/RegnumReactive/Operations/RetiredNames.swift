// SPDX-License-Identifier: Apache-2.0
// Names that RxRealm has deprecated since 2017, for code that still has them.

#if canImport(Combine) || Publishers
    public import Regnum

    extension RealmPublishers {
        /// As `collection(from:)`.
        @available(*, deprecated, renamed: "collection(from:)")
        public static func from<C: RealmCollection>(_ collection: C) -> Observation<C, Never> {
            self.collection(from: collection)
        }

        /// As `array(from:)`.
        @available(*, deprecated, renamed: "array(from:)")
        public static func arrayFrom<C: RealmCollection>(_ collection: C) -> Observation<[C.Element], Never> {
            array(from: collection)
        }

        /// As `changeset(from:)`.
        @available(*, deprecated, renamed: "changeset(from:)")
        public static func changesetFrom<C: RealmCollection>(
            _ collection: C
        ) -> Observation<(C, RealmChangeset?), Never> {
            changeset(from: collection)
        }

        /// As `arrayWithChangeset(from:)`.
        @available(*, deprecated, renamed: "arrayWithChangeset(from:)")
        public static func changesetArrayFrom<C: RealmCollection>(
            _ collection: C
        ) -> Observation<([C.Element], RealmChangeset?), Never> {
            arrayWithChangeset(from: collection)
        }

        /// As `from(object:)`.
        @available(*, deprecated, renamed: "from(object:)")
        public static func from<O: Object>(_ object: O) -> Observation<O, ReactiveRealmError> {
            from(object: object)
        }
    }
#endif
