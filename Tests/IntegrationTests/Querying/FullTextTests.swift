// SPDX-License-Identifier: Apache-2.0
// Full-text search for users: predicates, `where`, ranking, snippets, and programmer errors.

import Foundation
import RealmSwift
import Testing

enum FullTextModels {
    class Author: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var articles: List<Article>
        @Persisted var favourite: Article?
    }
    class Article: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted(indexed: .fullText) var body = ""
        @Persisted(indexed: .fullText) var subtitle: String?
        @Persisted(indexed: .fullText) var keywords: List<String>
        @Persisted var tags: List<String>
        @Persisted(indexed: true) var title = ""
        @Persisted(indexed: .values) var code = ""
        @Persisted(indexed: PropertyIndex.none) var text = ""
        @Persisted(originProperty: "articles") var authors: LinkingObjects<Author>
    }
    class Bad: Object {
        @Persisted(indexed: .values) var list: List<String>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }
    class BadSet: Object {
        @Persisted(indexed: .fullText) var set: MutableSet<String>
        override class func shouldIncludeInDefaultSchema() -> Bool { false }
    }

    static func realm() throws -> Realm {
        let realm = try memoryRealm(Article.self, Author.self)
        let bodies = [
            "The storm came from the North Sea", "A calm sea, no storm", "Überschwemmung im Norden",
            "snow storm storms",
            "", "東京タワー",
        ]
        try realm.write {
            for (id, body) in bodies.enumerated() {
                let article = realm.create(Article.self, value: ["id": id, "body": body])
                article.subtitle = id % 2 == 0 ? "Even storm \(id)" : nil
                article.keywords.append(objectsIn: ["weather report", "day \(id)"])
            }
            let articles = realm.objects(Article.self)
            realm.create(
                Author.self, value: ["id": 0, "articles": [articles[0], articles[1]], "favourite": articles[2]])
            realm.create(Author.self, value: ["id": 1, "articles": [articles[3]]])
            realm.create(Author.self, value: ["id": 2])
        }
        return realm
    }
}

@Suite("Full-text search") struct FullTextTests {
    typealias Article = FullTextModels.Article
    typealias Author = FullTextModels.Author

    static let searches: [(String, [Int])] = [
        ("storm", [0, 1, 3]), ("STORM", [0, 1, 3]), ("storm sea", [0, 1]), ("storm -calm", [0, 3]),
        ("storm NOT calm", [0, 3]), ("storm*", [0, 1, 3]), ("stor*", [0, 1, 3]), ("stor", []), ("nord*", [2]),
        ("uberschwemmung", [2]), ("ÜBERSCHWEMMUNG", [2]), ("\"north sea\"", [0]), ("\"sea north\"", []),
        ("\"north se\"*", [0]), ("\"north se*\"", [0]), ("calm OR snow", [1, 3]), ("calm OR snow sea", [1]),
        ("(calm OR snow) storm", [1, 3]), ("storm (calm OR snow)", [1, 3]), ("-storm", [2, 4, 5]), ("東京", [5]),
        ("京都", []), ("タワー", [5]), ("", [0, 1, 2, 3, 4, 5]), ("OR", [0, 1, 2, 3, 4, 5]), ("\"", [0, 1, 2, 3, 4, 5]),
        ("storm OR", [0, 1, 3]), ("((storm", [0, 1, 3]), ("storm)) sea", [0, 1]), ("-(storm OR im)", [4, 5]),
        ("- storm", [0, 1, 3]), ("--storm", [0, 1, 3]), ("north-sea", [0]), ("...", [0, 1, 2, 3, 4, 5]),
    ]

    @Test("A search finds words, prefixes, phrases and alternatives, and excludes words", arguments: searches)
    func finds(_ search: String, _ ids: [Int]) throws {
        let realm = try FullTextModels.realm()
        let all = realm.objects(Article.self)
        #expect(all.filter("body TEXT %@", search).map(\.id) == ids)
        #expect(all.filter("body text %@", search).count == ids.count)
        #expect(all.where { $0.body.fullTextSearch(search) }.map(\.id) == ids)
        #expect(all.filter("NOT (body TEXT %@)", search).map(\.id) == (0..<6).filter { !ids.contains($0) })
        #expect(all.filter("body TEXT %@ AND id > 0", search).map(\.id) == ids.filter { $0 > 0 })
        #expect(Set(all.search(search, in: \.body).map(\.element.id)) == Set(ids))
        // Also for a list of objects, whose rows are evaluated one by one.
        let author = try #require(realm.object(ofType: Author.self, forPrimaryKey: 0))
        #expect(author.articles.filter("body TEXT %@", search).map(\.id) == ids.filter { $0 < 2 })
    }

    @Test("Parentheses beyond the depth limit, and those that close them, are ignored")
    func deepParentheses() throws {
        let realm = try FullTextModels.realm()
        let (open, close) = (String(repeating: "(", count: 99), String(repeating: ")", count: 99))
        let search = "storm \(open)NOT ((storm) calm)\(close)"
        #expect(realm.objects(Article.self).filter("body TEXT %@", search).map(\.id).sorted() == [0, 3])
    }

    // A list that is being changed is written back before the index is read, which moves rows. A condition that is
    // evaluated after the index must not read the old list.
    @Test("Conditions next to a search see elements that the current write has just added to a list")
    func openList() throws {
        let realm = try FullTextModels.realm()
        let articles = realm.objects(Article.self)
        var questions = ["keywords TEXT 'fresh'"]
        // The changed list is the searched one or another one, with an index or without.
        for searched in ["keywords", "body"] {
            for list in ["keywords", "tags"] {
                questions.append("NOT (\(searched) TEXT 'nothing') AND ANY \(list) == 'fresh'")
                questions.append("ANY \(list) == 'fresh' AND NOT (\(searched) TEXT 'nothing')")
            }
        }
        for question in questions {
            realm.beginWrite()
            let article = try #require(realm.object(ofType: Article.self, forPrimaryKey: 3))
            if question.contains("tags") { article.tags.append("fresh") } else { article.keywords.append("fresh") }
            #expect(articles.filter(question).map(\.id) == [3], "\(question)")
            realm.cancelWrite()
        }
    }

    @Test("Greek words match across case, accents and final sigma")
    func greek() throws {
        let realm = try FullTextModels.realm()
        try realm.write {
            realm.create(Article.self, value: ["id": 10, "body": "ΟΔΟΣ ΣΟΦΙΑΣ"])
            realm.create(Article.self, value: ["id": 11, "body": "οδός Σοφίας"])
        }
        for search in ["οδός", "ΟΔΌΣ", "οδοσ", "Σοφίας", "σοφιασ"] {
            #expect(realm.objects(Article.self).filter("body TEXT %@", search).map(\.id) == [10, 11], "\(search)")
        }
    }

    @Test("Optional texts, lists, links and linking objects can be searched")
    func paths() throws {
        let realm = try FullTextModels.realm()
        let all = realm.objects(Article.self)
        #expect(all.filter("subtitle TEXT 'storm'").map(\.id) == [0, 2, 4])
        #expect(all.filter("subtitle TEXT '-storm'").map(\.id) == [1, 3, 5])
        #expect(all.filter("keywords TEXT 'report 3'").map(\.id) == [3])
        #expect(all.filter("ANY keywords TEXT '\"day 3\"'").map(\.id) == [3])
        #expect(all.filter("keywords TEXT '\"report day\"'").isEmpty)
        #expect(all.filter("NONE keywords TEXT '3'").count == 5)
        #expect(all.where { $0.keywords.fullTextSearch("day 2") }.map(\.id) == [2])
        #expect(all.where { $0.subtitle.fullTextSearch("even 2") }.map(\.id) == [2])
        #expect(all.filter("body TEXT 'storm' AND subtitle TEXT 'storm'").map(\.id) == [0])
        #expect(all.filter("text == '' AND body TEXT 'calm'").map(\.id) == [1])
        let authors = realm.objects(Author.self)
        #expect(authors.filter("ANY articles.body TEXT 'storm -calm'").map(\.id) == [0, 1])
        #expect(authors.filter("ANY articles.body TEXT 'north calm'").isEmpty)
        #expect(authors.where { $0.articles.body.fullTextSearch("calm") }.map(\.id) == [0])
        #expect(authors.filter("NONE articles.body TEXT 'storm'").map(\.id) == [2])
        #expect(authors.filter("favourite.body TEXT 'norden'").map(\.id) == [0])
        #expect(authors.filter("favourite.body TEXT '-norden'").map(\.id) == [1, 2])
        #expect(authors.filter("SUBQUERY(articles, $a, $a.body TEXT 'storm').@count == 2").map(\.id) == [0])
        let query = Query<Author>._constructForTesting()
        #expect(query.articles.body.fullTextSearch("x")._constructPredicate().0 == "(ANY articles.body TEXT %@)")
        #expect(
            Query<Article>._constructForTesting().body.fullTextSearch("x")._constructPredicate().0 == "(body TEXT %@)")
        #expect(all.filter("body TEXT 'storm'").explain().usesIndex(on: "body"))
    }

    @Test("Results of a search follow writes and rollbacks")
    func live() throws {
        let realm = try FullTextModels.realm()
        let found = realm.objects(Article.self).filter("body TEXT 'storm' OR keywords TEXT 'gale'")
        #expect(found.map(\.id) == [0, 1, 3])
        try realm.write {
            let article = realm.objects(Article.self)[4]
            article.keywords.append("gale warning")
            #expect(found.map(\.id) == [0, 1, 3, 4])
            realm.objects(Article.self)[0].body = "sun"
            #expect(found.map(\.id) == [1, 3, 4])
            realm.delete(realm.objects(Article.self)[1])
            article.keywords.removeAll()
            #expect(found.map(\.id) == [3])
            realm.cancelWrite()
        }
        #expect(found.map(\.id) == [0, 1, 3])
    }

    @Test("Hits are ranked, and snippets are cut around the matches")
    func ranking() throws {
        let realm = try FullTextModels.realm()
        let all = realm.objects(Article.self)
        let hits = all.search("storm", in: \.body)
        #expect(hits.map(\.element.id) == [3, 1, 0])
        #expect(zip(hits, hits.dropFirst()).allSatisfy { $0.score >= $1.score })
        #expect(all.search("storm", in: "body", limit: 1).map(\.element.id) == [3])
        #expect(all.filter("id < 2").search("storm", in: \.body).map(\.element.id) == [1, 0])
        #expect(hits[0].snippet().marked(before: "[", after: "]") == "snow [storm] storms")
        #expect(all.search("Stör*", in: \.body)[0].snippet().marked(before: "[", after: "]") == "snow [storm] [storms]")
        #expect(all.search("day 3", in: \.keywords)[0].snippet().text == "day 3")
        let long =
            String(repeating: "lorem ipsum ", count: 100) + "the nördlich needle here "
            + String(repeating: "dolor ", count: 100)
        try realm.write { all[4].body = long }
        let snippet = try #require(all.search("NORDLICH needle", in: \.body).first).snippet(length: 60)
        #expect(snippet.text.count <= 62 && snippet.text.hasPrefix("…") && snippet.text.hasSuffix("…"))
        #expect(snippet.matches.map { String(snippet.text[$0]) } == ["nördlich", "needle"])
    }

    @Test("The full-text index follows the declaration, and survives reopening")
    func schema() throws {
        try withFile([Article.self, Author.self]) { configuration in
            try autoreleasepool {
                let realm = try Realm(configuration: configuration)
                try realm.write { realm.create(Article.self, value: ["id": 1, "body": "storm", "keywords": ["a b"]]) }
            }
            let realm = try Realm(configuration: configuration)
            #expect(realm.objects(Article.self).filter("body TEXT 'storm' AND keywords TEXT 'b'").count == 1)
            #expect(realm.schema["FullTextModels_Article"]?["title"]?.isIndexed == true)
            #expect(realm.schema["FullTextModels_Article"]?["code"]?.isIndexed == true)
            #expect(realm.schema["FullTextModels_Article"]?["text"]?.isIndexed == false)
            #expect(realm.schema["FullTextModels_Article"]?["body"]?.isIndexed == false)
            #expect(realm.schema.goldenText.contains("body: string full-text"))
        }
    }

    static let refusals: [MisuseCase] = [
        .onArticles("Column has no fulltext index", "title TEXT 'a'"),
        .onArticles("Operator 'TEXT' not supported for type 'int'", "id TEXT 'a'"),
        .onArticles("takes no modifiers", "body TEXT[c] 'a'"),
        .onArticles("Cannot compare value", "body TEXT 5"), .onArticles("Cannot compare value", "body TEXT NULL"),
        .onArticles("Operator 'TEXT' requires a keypath on the left side", "'a' TEXT body"),
        .onArticles("Operator 'TEXT' not supported for type 'string'", "body TEXT title"),
        .onArticles("Aggregate operations can only be used", "ANY body TEXT 'a'"),
        .onArticles("Key paths that include a collection property must", "authors.favourite.body TEXT 'a'"),
        MisuseCase("cannot be indexed") { _ = try memoryRealm(FullTextModels.Bad.self) },
        MisuseCase("cannot have that index") { _ = try memoryRealm(FullTextModels.BadSet.self) },
        MisuseCase("a limit cannot be negative") {
            _ = try FullTextModels.realm().objects(Article.self).search("a", in: \.body, limit: -1)
        },
        MisuseCase("Column has no fulltext index") {
            _ = try FullTextModels.realm().objects(Article.self).search("a", in: \.title)
        },
    ]

    @Test("A search of a property without a full-text index is refused", arguments: refusals)
    func refuses(_ misuse: MisuseCase) throws {
        let message = try misuse.message()
        #expect(message.contains(misuse.words), "\(message)")
    }
}

extension MisuseCase {
    fileprivate static func onArticles(_ words: String, _ format: String) -> MisuseCase {
        MisuseCase(words) { _ = try FullTextModels.realm().objects(FullTextModels.Article.self).filter(format) }
    }
}
