// SPDX-License-Identifier: Apache-2.0
// The version of the library, for programs and their logs.

internal import RegnumEngine

/// The version of this library.
public enum RegnumVersion {
    /// The semantic version, such as `1.2.0`. Between releases it is that of the next one, with `-dev` at its end.
    public static let current = "1.0.0-dev"

    /// The format of the files that this version creates. Files with a higher number are refused.
    public static let fileFormat = Int(FileHeader.formatVersion)
}
