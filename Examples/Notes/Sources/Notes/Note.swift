// SPDX-License-Identifier: Apache-2.0
// The stored class: a note.

import Foundation
import RealmSwift

/// A note, by its id.
public class Note: Object {
    @Persisted(primaryKey: true) public var id = UUID().uuidString
    @Persisted public var title = ""
    @Persisted public var content = ""
    @Persisted public var followUp = false
    /// A colour as six hexadecimal digits.
    @Persisted public var categoryColor: String?
    /// The name of the picture's file in the manager's folder.
    @Persisted public var image: String?
    @Persisted public var created = Date()
    @Persisted public var tags: List<String?>

    public convenience init(id: String, title: String, content: String, image: String? = nil, tag: String? = nil) {
        self.init()
        self.id = id
        self.title = title
        self.content = content
        self.image = image
        tags.append(tag)
    }
}
