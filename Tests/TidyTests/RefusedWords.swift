// SPDX-License-Identifier: Apache-2.0
// The words and phrases that comments, display names of tests and documents must not contain, each with the word to use
// instead and the reason. Documentation/STYLE.md has the vocabulary.

struct RefusedWords {
    let phrases: [String]
    let instead: String
    let reason: String
    /// Refused only as the first words of a sentence in a comment, unless the sentence is a question.
    var startsSentence = false

    static let all: [RefusedWords] = notEnglish + notTheFieldsWord + pronouns

    /// Words that are archaic, or that another language puts together in this way.
    private static let notEnglish: [RefusedWords] = [
        .init(phrases: ["anew"], instead: "again", reason: "archaic"),
        .init(
            phrases: ["whence", "thereof", "wherein", "hitherto", "henceforth"], instead: "a plain preposition",
            reason: "archaic"),
        .init(phrases: ["of now"], instead: "current", reason: "not English"),
        .init(phrases: ["in the making"], instead: "unfinished", reason: "an idiom for plans, not for files"),
        .init(phrases: ["without a word"], instead: "silently", reason: "a program does not speak"),
        .init(phrases: ["a look at"], instead: "a read or a check of", reason: "name the operation"),
        .init(
            phrases: ["is at it", "are at it", "was at it", "be at it"], instead: "is doing so",
            reason: "an idiom that hides the operation"),
        .init(
            phrases: ["let go of", "lets go of", "letting go of"], instead: "release or close",
            reason: "name the operation"),
        .init(
            phrases: ["come free", "comes free", "came free", "coming free"], instead: "is freed",
            reason: "name the operation"),
        .init(
            phrases: ["put right", "puts right", "putting right"], instead: "repair or recompute",
            reason: "name the operation"),
        .init(
            phrases: ["goes another way", "go another way", "gone another way"], instead: "diverge",
            reason: "the field's word"),
        .init(
            phrases: ["one a line", "two a line", "a line each"], instead: "one on each line",
            reason: "an article is not a rate"),
        .init(
            phrases: [
                "nil where", "true where", "false where", "zero where", "throws where", "fails where", "traps where",
                "where nobody",
            ], instead: "if", reason: "\"where\" is a place, not a condition"),
        .init(
            phrases: [
                "behind checksums", "behind fresh checksums", "behind valid checksums", "behind good checksums",
                "behind the checksum", "behind the end", "behind the commit", "behind the commits",
            ], instead: "after, or with", reason: "\"behind\" is a place, not an order"),
    ]

    /// Home-made names for things that have a standard name.
    private static let notTheFieldsWord: [RefusedWords] = [
        .init(phrases: ["mend", "mends", "mended", "mending"], instead: "fix or repair", reason: "the field's word"),
        .init(phrases: ["barred"], instead: "quarantined", reason: "one word for one thing"),
        .init(phrases: ["latched"], instead: "failed", reason: "a latch is a short lock"),
        .init(
            phrases: ["settled slot", "settled slots"], instead: "clean-shutdown record",
            reason: "one word for one thing"),
        .init(phrases: ["the shared file"], instead: "the lock file", reason: "one word for one thing"),
        .init(phrases: ["the medium"], instead: "stable storage", reason: "the field's word"),
        .init(
            phrases: ["write ahead", "writes ahead", "wrote ahead", "written ahead", "writing ahead"],
            instead: "spill", reason: "write-ahead means a log"),
        .init(
            phrases: ["write over", "writes over", "wrote over", "written over", "writing over"],
            instead: "overwrite", reason: "the field's word"),
        .init(phrases: ["commit line"], instead: "commit queue", reason: "the field's word"),
        .init(
            phrases: [
                "stand in line", "stands in line", "stood in line", "standing in line", "wait in line", "waits in line",
            ], instead: "is queued", reason: "the field's word"),
        .init(
            phrases: ["turn to write", "turns to write", "writer's turn"], instead: "writer lock",
            reason: "the field's word"),
        .init(
            phrases: ["meet others", "meets others", "met others"], instead: "catch up with the newest commit",
            reason: "the field's word"),
        .init(phrases: ["passed over"], instead: "skipped", reason: "the field's word"),
        .init(phrases: ["roll-back", "roll-backs"], instead: "rollback", reason: "the field's spelling"),
        .init(phrases: ["look-up", "look-ups"], instead: "lookup", reason: "the field's spelling"),
        .init(
            phrases: ["tell of", "tells of", "told of", "telling of"], instead: "report, or notify of",
            reason: "the field's word"),
        .init(
            phrases: ["tell apart", "tells apart", "told apart", "tell them apart", "tells them apart"],
            instead: "distinguish", reason: "the field's word"),
        .init(phrases: ["tells whether"], instead: "returns whether", reason: "the field's word"),
    ]

    /// Pronouns in place of the noun that a reader needs.
    private static let pronouns: [RefusedWords] = [
        .init(phrases: ["whoever"], instead: "the thread, process or user that", reason: "name the actor"),
        .init(phrases: ["nobody who"], instead: "no thread or process that", reason: "name the actor"),
        .init(
            phrases: [
                "who reads", "who writes", "who waits", "who holds", "who opens", "who closes", "who commits",
                "who asks", "who looks",
            ], instead: "the thread or process that", reason: "name the actor", startsSentence: true),
        .init(
            phrases: [
                "what it", "what they", "what comes", "what goes", "what lies", "what stands",
            ], instead: "the noun", reason: "name the thing", startsSentence: true),
    ]
}

extension Rules {
    /// Documents that are not checked: STYLE.md names the refused words, and the notes are dated logs that are not
    /// rewritten.
    private static let uncheckedDocuments = ["Documentation/STYLE.md", "Documentation/notes/"]

    private struct Phrase {
        let words: [String]
        let entry: RefusedWords
    }

    /// The phrases by their first word.
    private static let refusedPhrases: [String: [Phrase]] = {
        var phrases: [String: [Phrase]] = [:]
        for entry in RefusedWords.all {
            for text in entry.phrases {
                let words = text.split(separator: " ").map { String($0) }
                phrases[words[0], default: []].append(Phrase(words: words, entry: entry))
            }
        }
        return phrases
    }()

    /// Comments and display names use the words of Documentation/STYLE.md.
    static func refusedWords(_ source: SourceText) -> [Finding] {
        refused(in: Prose(commentsOf: source), source.path, isDocument: false)
            + refused(in: Prose(displayNamesOf: source), source.path, isDocument: false)
    }

    /// Documents use them too.
    static func refusedWords(inDocument path: String, text: String) -> [Finding] {
        if uncheckedDocuments.contains(where: { path.hasPrefix($0) }) { return [] }
        return refused(in: Prose(document: text), path, isDocument: true)
    }

    private static func refused(in prose: Prose, _ path: String, isDocument: Bool) -> [Finding] {
        prose.words.indices.flatMap { start -> [Finding] in
            (refusedPhrases[prose.words[start].text] ?? []).filter { phrase in
                guard prose.contains(phrase.words, at: start) else { return false }
                if !phrase.entry.startsSentence { return true }
                return !isDocument && prose.words[start].startsSentence && !prose.isQuestion(from: start)
            }.map { phrase in
                let (words, entry) = (phrase.words.joined(separator: " "), phrase.entry)
                return Finding(
                    "refused-words", path, prose.words[start].line,
                    "instead of \"\(words)\" write \"\(entry.instead)\": \(entry.reason)")
            }
        }
    }
}
