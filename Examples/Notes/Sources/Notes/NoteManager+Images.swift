// SPDX-License-Identifier: Apache-2.0
// The pictures of notes: PNG files in a folder; a note stores the name of its file.

import Foundation
import RealmSwift

extension NoteManager {
    /// The folder of the pictures, created if it is missing. Throws if it cannot be created.
    public func imageDirectory() throws -> URL {
        let folder = documentsURL.appendingPathComponent("NoteImages", isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// The path of the folder of the pictures; "badpath" if it cannot be created.
    public func checkImageDirectoryPath() -> String { (try? imageDirectory().path) ?? "badpath" }

    /// True if there is a file or folder at this path.
    public func checkIfDirectoryExistFor(fullPath: String) -> Bool {
        FileManager.default.fileExists(atPath: fullPath)
    }

    /// The picture in that file; nil if there is none.
    public func loadImageFrom(fileName: String) -> Picture? {
        guard let file = imageFile(named: fileName) else { return nil }
        return (try? Data(contentsOf: file)).flatMap { Picture(data: $0) }
    }

    /// The name of the picture's file of the note with that id; nil without a note or a picture.
    func imageName(of id: String) throws -> String? {
        try requireRealm().object(ofType: Note.self, forPrimaryKey: id)?.image
    }

    /// The bytes of that file; nil if there is none.
    func imageData(fileName: String) -> Data? { imageFile(named: fileName).flatMap { try? Data(contentsOf: $0) } }

    /// Writes a file that was removed.
    func restoreImage(_ data: Data, fileName: String) throws {
        guard let file = imageFile(named: fileName) else { return }
        try data.write(to: file, options: .atomic)
    }

    /// Removes the pictures of these notes.
    public func removeAnyImagePaths(from notes: Results<Note>) {
        for image in notes.compactMap(\.image) { removeImage(named: image) }
    }

    func removeImage(named name: String) {
        guard let file = imageFile(named: name) else { return }
        // It may have been removed already.
        try? FileManager.default.removeItem(at: file)
    }

    /// Nil for names that lead out of the folder.
    private func imageFile(named name: String) -> URL? {
        guard !name.isEmpty, !name.contains("/"), name != "..", name != "." else { return nil }
        return try? imageDirectory().appendingPathComponent(name)
    }
}
