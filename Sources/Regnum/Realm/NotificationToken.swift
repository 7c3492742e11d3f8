// SPDX-License-Identifier: Apache-2.0
// The name under which an observation is kept alive and ended.

/// Keeps an observation alive; ends it with its last reference or by `invalidate`.
public class NotificationToken {
    init() {}

    /// Ends the observation; false where it had ended.
    @discardableResult
    public func invalidate() -> Bool { false }
}
