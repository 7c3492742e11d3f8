// SPDX-License-Identifier: Apache-2.0
// Type-safe queries on values of any type: what they compare as texts or data.

extension Query where T == AnyRealmValue {
    /// True where `value` is a part of the text or data.
    public func contains(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.contains, value, options)
    }
    /// True where the text or data begins with `value`.
    public func starts(with value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.beginsWith, value, options)
    }
    /// True where the text or data ends with `value`.
    public func ends(with value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.endsWith, value, options)
    }
    /// True where both are equal under the options.
    public func equals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.equal, value, options)
    }
    /// True where both differ under the options.
    public func notEquals(_ value: T, options: StringOptions = []) -> Query<Bool> {
        comparison(.notEqual, value, options)
    }
    /// True where the whole text matches the pattern: `*` stands for any run, `?` for one character.
    public func like(_ pattern: T, caseInsensitive: Bool = false) -> Query<Bool> {
        comparison(.like, pattern, caseInsensitive ? .caseInsensitive : [])
    }
}
