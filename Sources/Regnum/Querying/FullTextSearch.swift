// SPDX-License-Identifier: Apache-2.0
// Full-text search with ranking and snippets. An addition to RealmSwift's API; `TEXT` in predicates and
// `fullTextSearch(_:)` in `where` find the same objects as live results, without ranks.

internal import RegnumEngine
internal import RegnumQuery

/// An object that a search has found.
public struct SearchHit<Element> {
    public let element: Element
    /// How well its text fits: Okapi BM25 over the texts of all objects of the class. Only good to compare the hits
    /// of one search; 0 where the search names no word that must be there.
    public let score: Double
    let terms: [TextTerm]
    let text: () -> [String]

    /// A part of the object's text as it is now, with the words that were looked for in it, of about `length`
    /// characters; of a list, of the element that has most of them. Call it where the object may be used.
    public func snippet(length: Int = 160) -> SearchSnippet {
        SearchSnippet.best(of: text(), terms, length: length)
    }
}

/// A part of a text with the places of the words that were looked for.
public struct SearchSnippet: Sendable, Hashable {
    /// Begins and ends with "…" where the text goes on.
    public let text: String
    /// Where the words stand in `text`, ascending.
    public let matches: [Range<String.Index>]

    /// The text with something put around each word, such as HTML's `<mark>` (escape the text yourself).
    public func marked(before: String, after: String) -> String {
        var marked = ""
        var place = text.startIndex
        for match in matches {
            marked += text[place..<match.lowerBound] + before + text[match] + after
            place = match.upperBound
        }
        return marked + text[place...]
    }
}

extension RealmCollection where Element: ObjectBase {
    /// The elements whose text fits best, the best first, equals by age.
    ///
    /// ```swift
    /// for hit in articles.search("storm -snow \"north sea\" flood*", in: \.body) {
    ///     print(hit.element.title, hit.snippet().marked(before: "[", after: "]"))
    /// }
    /// ```
    ///
    /// All words must be there; `-word` must not; `word*` stands for all words that begin so; `"some words"` for words
    /// one behind the other; OR in capitals for either; parentheses group. Case and accents do not matter. Every text
    /// is a search: this may be what a user types.
    ///
    /// The property must be declared `@Persisted(indexed: .fullText)`; misuse otherwise. The hits are those of now.
    /// O(texts with the words).
    @_disfavoredOverload
    public func search<Value: _Persistable>(
        _ text: String, in keyPath: KeyPath<Element, Value>, limit: Int = 100
    ) -> [SearchHit<Element>] {
        search(text, in: _name(for: keyPath), limit: limit)
    }

    /// As `search(_:in:limit:)` with the property's name.
    @_disfavoredOverload
    public func search(_ text: String, in property: String, limit: Int = 100) -> [SearchHit<Element>] {
        if limit < 0 { misuse("search(…, limit: \(limit)): a limit cannot be negative.") }
        let operand = Operand.keyPath(KeyPathOperand(property))
        let found = appending(.filter(.comparison(Comparison(operand, .text, .constant(.string(text))))))
        let terms = TextSearch(text).wantedTerms
        let state = found.state
        guard let binding = state.binding, let column = binding.column(ofProperty: property) else { return [] }
        return state.ranked(terms, column, limit).map { hit in
            SearchHit(element: binding.element(hit.key, as: Element.self), score: hit.score, terms: terms) {
                state.texts(of: hit.key, column)
            }
        }
    }
}

extension ClassBinding {
    fileprivate func column(ofProperty name: String) -> Int? {
        schema.properties.firstIndex { $0.name == name }.map { columns[$0] }
    }
}

extension ResultsState {
    /// The best of the objects.
    fileprivate func ranked(_ terms: [TextTerm], _ column: Int, _ limit: Int) -> [(key: ObjectKey, score: Double)] {
        let keys = allKeys().sorted()
        guard let binding, !keys.isEmpty else { return [] }
        let scores = realm.alone {
            engine { () throws(EngineError) in
                try binding.table.textScores(terms, of: keys, inTextIndexOf: column)
            }
        }
        let best = keys.indices.sorted { (-scores[$0], $0) < (-scores[$1], $1) }.prefix(limit)
        return best.map { (keys[$0], scores[$0]) }
    }

    /// The text of an object as it is now, that of a list by elements.
    fileprivate func texts(of key: ObjectKey, _ column: Int) -> [String] {
        check()
        guard let table = binding?.table else { return [] }
        return realm.alone {
            engine { () throws(EngineError) in
                guard let location = try table.locate(key) else { return [] }
                let isList = table.definition.columns[column].collection == .list
                let values =
                    isList ? try table.listValues(column, at: location) : [try table.value(column, at: location)]
                return values.compactMap { if case .string(let text) = $0 { text } else { nil } }
            }
        }
    }
}

extension TextTerm {
    /// Whether a folded word is one that the term looks for.
    fileprivate func names(_ word: UnsafeRawBufferPointer) -> Bool {
        switch self {
        case .word(let own): word.elementsEqual(own)
        case .prefix(let prefix): word.starts(with: prefix)
        case .phrase(let words, let isOpen):
            words.contains { word.elementsEqual($0) }
                || isOpen && words.last.map { word.starts(with: $0) } ?? false
        }
    }
}

extension SearchSnippet {
    fileprivate static func best(of texts: [String], _ terms: [TextTerm], length: Int) -> SearchSnippet {
        var best = SearchSnippet(text: "", matches: [])
        for text in texts {
            let snippet = made(of: text, terms, max(length, 8))
            if best.text.isEmpty || snippet.matches.count > best.matches.count { best = snippet }
        }
        return best
    }

    private static func made(of whole: String, _ terms: [TextTerm], _ length: Int) -> SearchSnippet {
        let found = places(in: whole, terms)
        let isLong = whole.count > length
        guard isLong, let first = found.first else {
            let end = isLong ? whole.index(whole.startIndex, offsetBy: length) : whole.endIndex
            return cut(whole, whole.startIndex..<end, found)
        }
        // From the word that has the most others within the length behind it.
        var start = first.lowerBound
        var most = 0
        for (i, place) in found.enumerated() {
            let end =
                whole.index(place.lowerBound, offsetBy: length * 3 / 4, limitedBy: whole.endIndex) ?? whole.endIndex
            let count = found[i...].prefix { $0.upperBound <= end }.count
            if count > most { (start, most) = (place.lowerBound, count) }
        }
        let before = whole[..<start].suffix(length / 4)
        // Not from the middle of a word.
        var begin = before.startIndex
        if begin > whole.startIndex, let space = before.firstIndex(where: \.isWhitespace) {
            begin = whole.index(after: space)
        }
        var end = whole.index(begin, offsetBy: length, limitedBy: whole.endIndex) ?? whole.endIndex
        if end < whole.endIndex, let space = whole[start..<end].lastIndex(where: \.isWhitespace), space > start {
            end = space
        }
        return cut(whole, begin..<end, found)
    }

    private static func cut(
        _ whole: String, _ range: Range<String.Index>, _ found: [Range<String.Index>]
    ) -> SearchSnippet {
        let head = range.lowerBound > whole.startIndex ? "…" : ""
        let tail = range.upperBound < whole.endIndex ? "…" : ""
        let text = head + whole[range] + tail
        let matches = found.filter { $0.lowerBound >= range.lowerBound && $0.upperBound <= range.upperBound }
        let utf8 = text.utf8
        func place(_ index: String.Index) -> String.Index {
            utf8.index(
                utf8.startIndex, offsetBy: head.utf8.count + whole.utf8.distance(from: range.lowerBound, to: index))
        }
        return SearchSnippet(text: text, matches: matches.map { place($0.lowerBound)..<place($0.upperBound) })
    }

    private static func places(in text: String, _ terms: [TextTerm]) -> [Range<String.Index>] {
        var places: [Range<Int>] = []
        var copy = text
        copy.withUTF8 { bytes in
            do throws(EngineError) {
                try TextWords.forEach(in: UnsafeRawBufferPointer(bytes)) { word, place in
                    if terms.contains(where: { $0.names(word) }) { places.append(place) }
                    return true
                }
            } catch {
                preconditionFailure("nothing throws here: \(error)")
            }
        }
        let utf8 = text.utf8
        var index = utf8.startIndex
        var offset = 0
        return places.map { place in
            let lower = utf8.index(index, offsetBy: place.lowerBound - offset)
            let upper = utf8.index(lower, offsetBy: place.count)
            (index, offset) = (upper, place.upperBound)
            return lower..<upper
        }
    }
}
