// SPDX-License-Identifier: Apache-2.0
// Full-text search with ranking and snippets. An addition to RealmSwift's API; `TEXT` in predicates and
// `fullTextSearch(_:)` in `where` find the same objects as live results, without ranking.

internal import RegnumEngine
internal import RegnumQuery

/// An object found by a search.
public struct SearchHit<Element> {
    public let element: Element
    /// The relevance of the object's text: Okapi BM25 over the texts of all objects of the class. Only meaningful for
    /// comparing the hits of one search; 0 if the search has no required word.
    public let score: Double
    let terms: [TextTerm]
    let text: () -> [String]

    /// Returns an excerpt of about `length` characters of the object's current text, with the search terms found in it;
    /// for a list, of the element with the most terms. Call this on a thread on which the object can be used.
    public func snippet(length: Int = 160) -> SearchSnippet {
        SearchSnippet.best(of: text(), terms, length: length)
    }
}

/// An excerpt of a text with the ranges of the search terms.
public struct SearchSnippet: Sendable, Hashable {
    /// The excerpt. It begins or ends with "…" if the text continues there.
    public let text: String
    /// The ranges of the search terms in `text`, ascending.
    public let matches: [Range<String.Index>]

    /// Returns the text with markers around each search term, such as HTML's `<mark>` (escape the text yourself).
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
    /// Returns the elements with the most relevant text, the best first; equally relevant elements are ordered by age.
    ///
    /// ```swift
    /// for hit in articles.search("storm -snow \"north sea\" flood*", in: \.body) {
    ///     print(hit.element.title, hit.snippet().marked(before: "[", after: "]"))
    /// }
    /// ```
    ///
    /// All words must occur; `-word` must not. `word*` matches all words with that prefix, and `"some words"` matches
    /// consecutive words. OR in capitals matches either side, and parentheses group. Case and diacritics are ignored.
    /// Every text is a valid search, so it can be a user's input.
    ///
    /// The property must be declared `@Persisted(indexed: .fullText)`; anything else is a programmer error. The hits
    /// are not live. O(texts with the words).
    @_disfavoredOverload
    public func search<Value: _Persistable>(
        _ text: String, in keyPath: KeyPath<Element, Value>, limit: Int = 100
    ) -> [SearchHit<Element>] {
        search(text, in: _name(for: keyPath), limit: limit)
    }

    /// Like `search(_:in:limit:)`, with the property's name.
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
    /// Returns the most relevant objects.
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

    /// Returns the current text of an object; for a list, one text per element.
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
    /// Returns whether the term matches a folded word.
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
        // Start at the match with the most other matches within the length that follows it.
        var start = first.lowerBound
        var most = 0
        for (i, place) in found.enumerated() {
            let end =
                whole.index(place.lowerBound, offsetBy: length * 3 / 4, limitedBy: whole.endIndex) ?? whole.endIndex
            let count = found[i...].prefix { $0.upperBound <= end }.count
            if count > most { (start, most) = (place.lowerBound, count) }
        }
        let before = whole[..<start].suffix(length / 4)
        // Do not start in the middle of a word.
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
