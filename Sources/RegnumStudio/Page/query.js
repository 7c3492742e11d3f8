// SPDX-License-Identifier: Apache-2.0
// The query box: completion of properties through links and of keywords, errors at their position, the query as Swift
// and as a predicate, how it runs, aggregates, and saved queries.

import { get, newTurn } from "./api.js";
import { h, icon, iconButton, put } from "./dom.js";
import { count, plural, time } from "./format.js";
import { complain, copy, menu, toast } from "./overlay.js";
import { classNamed, settings, state } from "./state.js";
import { isNumber } from "./values.js";

const keywords = [
  "AND", "OR", "NOT", "IN", "BETWEEN", "BEGINSWITH", "CONTAINS", "CONTAINS[c]", "ENDSWITH", "LIKE", "ANY", "ALL", "NONE",
  "SUBQUERY", "SORT(", "DISTINCT(", "LIMIT(", "ASC", "DESC", "NULL", "TRUE", "FALSE", "@count", "@min", "@max", "@sum", "@avg",
];

/** The words that may follow, and the number of characters before the cursor that they replace. */
export function completions(before, className) {
  const word = /[\p{L}\p{N}_.@[\]]*$/u.exec(before)[0];
  const parts = word.split(".");
  let current = classNamed(className);
  for (const part of parts.slice(0, -1)) {
    const property = current?.properties.find((each) => each.name === part);
    current = property?.isLink ? classNamed(property.type) : undefined;
  }
  const start = parts.at(-1).toLowerCase();
  // Within a text in quotation marks nothing is completed.
  const quotes = before.replace(/\\./g, "").match(/["']/g)?.length ?? 0;
  if (quotes % 2 === 1) return { length: 0, words: [] };
  const names = (current?.properties ?? []).map((property) => ({ word: property.name, hint: property.text }));
  const words = parts.length > 1 ? names : [...names, ...keywords.map((each) => ({ word: each, hint: "" }))];
  const found = words.filter((each) => each.word.toLowerCase().startsWith(start) && each.word !== parts.at(-1));
  return { length: parts.at(-1).length, words: start === "" && parts.length === 1 ? found.slice(0, names.length) : found };
}

export class QueryBox {
  /** `run(text, isTyping)` shows the results of a query; `cost()` is the time of the last one in microseconds. */
  constructor(run, cost) {
    this.run = run;
    this.cost = cost;
    this.input = h("input", {
      type: "text", id: "query", spellcheck: "false", autocomplete: "off", autocapitalize: "off",
      placeholder: "Filter, e.g. age > 30 AND name BEGINSWITH 'A'", "aria-label": "Query", role: "combobox",
      "aria-expanded": "false", "aria-controls": "completions", "aria-autocomplete": "list",
      oninput: () => this.typed(), onkeydown: (event) => this.pressed(event), onblur: () => setTimeout(() => this.close(), 150),
      onfocus: () => this.complete(),
    });
    this.list = h("ul", { id: "completions", class: "completions", role: "listbox", hidden: true });
    this.problem = h("div", { class: "query-problem", role: "alert", hidden: true });
    this.facts = h("div", { class: "facts", hidden: true });
    this.chosen = -1;
    this.found = { length: 0, words: [] };
    this.element = h("div", { class: "query" },
      h("div", { class: "query-line" },
        h("div", { class: "query-field" }, icon("search"), this.input,
          iconButton("close", "Clear the query", () => { this.input.value = ""; this.submit(); this.input.focus(); }), this.list),
        iconButton("star", "Saved queries", (event) => this.showSaved(event.currentTarget)),
        h("button", { type: "button", class: "quiet", text: "Explain", title: "How the query runs, and as Swift", onclick: () => this.explain() })),
      this.problem, this.facts);
  }

  show(name, text) {
    // The facts about a query stay while an object is opened.
    if (this.name !== name || this.submitted !== text) this.facts.hidden = true;
    this.name = name;
    if (document.activeElement !== this.input || this.submitted !== text) this.input.value = text;
    this.submitted = text;
    this.fail(null);
  }

  typed() {
    this.complete();
    clearTimeout(this.waiting);
    // Results follow the typing as soon as the text is a query; after a slow one they wait for a pause.
    this.waiting = setTimeout(() => this.submit(true), this.cost() < 50_000 ? 40 : 400);
  }

  async submit(isTyping = false) {
    clearTimeout(this.waiting);
    const text = this.input.value.trim();
    if (text === this.submitted) return this.fail(null);
    try {
      await get("query", { class: this.name, query: text });
    } catch (error) {
      if (this.input.value.trim() !== text) return;
      // An unfinished text is not complained about while it is typed.
      if (!isTyping || error.reason !== "query") this.fail(error);
      else setTimeout(() => { if (this.input.value.trim() === text && text !== this.submitted) this.fail(error); }, 900);
      return;
    }
    if (this.input.value.trim() !== text) return;
    this.submitted = text;
    this.fail(null);
    this.facts.hidden = true;
    this.run(text, isTyping);
  }

  /** Shows an error below the text, with its position marked. */
  fail(error) {
    this.input.classList.toggle("invalid", Boolean(error));
    this.input.setAttribute("aria-invalid", Boolean(error));
    this.problem.hidden = !error;
    if (!error) return;
    const text = this.input.value.trim();
    const parts = [h("span", { text: error.message })];
    if (error.position !== undefined) {
      // Positions count bytes of UTF-8.
      const bytes = new TextEncoder().encode(text);
      const decoder = new TextDecoder();
      const before = decoder.decode(bytes.slice(0, error.position));
      const after = decoder.decode(bytes.slice(error.position));
      const word = /^\S*/.exec(after)[0] || " ";
      parts.unshift(h("code", { class: "marked" }, before, h("mark", { text: word }), after.slice(word.length)));
    }
    if (error.expected?.length) parts.push(h("span", { class: "hint", text: `Expected: ${error.expected.slice(0, 8).join(", ")}` }));
    put(this.problem, parts);
  }

  // Completion

  complete() {
    const end = this.input.selectionStart ?? this.input.value.length;
    this.found = completions(this.input.value.slice(0, end), this.name);
    this.chosen = -1;
    this.input.removeAttribute("aria-activedescendant");
    const words = this.found.words.slice(0, 12);
    put(this.list, words.map((each, index) => h("li", {
      role: "option", id: `completion-${index}`, "aria-selected": "false",
      onpointerdown: (event) => { event.preventDefault(); this.insert(each.word); },
    }, h("span", { class: "code", text: each.word }), h("span", { class: "hint", text: each.hint }))));
    this.list.hidden = words.length === 0 || document.activeElement !== this.input;
    this.input.setAttribute("aria-expanded", !this.list.hidden);
  }

  choose(index) {
    const items = [...this.list.children];
    this.chosen = items.length === 0 ? -1 : (index + items.length) % items.length;
    items.forEach((item, number) => item.setAttribute("aria-selected", number === this.chosen));
    if (this.chosen >= 0) this.input.setAttribute("aria-activedescendant", `completion-${this.chosen}`);
  }

  insert(word) {
    const end = this.input.selectionStart;
    const start = end - this.found.length;
    const space = word.endsWith("(") ? "" : " ";
    this.input.setRangeText(word + space, start, end, "end");
    this.typed();
  }

  close() {
    this.list.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  pressed(event) {
    const isOpen = !this.list.hidden;
    if (event.key === "ArrowDown" && isOpen) this.choose(this.chosen + 1);
    else if (event.key === "ArrowUp" && isOpen) this.choose(this.chosen - 1);
    else if (event.key === "Tab" && isOpen && !event.shiftKey && this.found.length > 0) this.insert(this.found.words[Math.max(0, this.chosen)].word);
    else if (event.key === "Enter") {
      if (isOpen && this.chosen >= 0) this.insert(this.found.words[this.chosen].word);
      else {
        this.close();
        this.submit();
      }
    } else if (event.key === "Escape" && isOpen) this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Facts

  async explain() {
    const query = { class: this.name, query: this.submitted, sort: state.route.sort, descending: state.route.descending ? "1" : "" };
    try {
      const [forms, run] = await Promise.all([get("query", query), get("explain", { ...query, ...newTurn() })]);
      const way = run.indexes.length === 0 ? `a scan of ${plural(run.objects, "object")}`
        : `${run.isByIndexAlone ? "only the index on " : "the index on "}${run.indexes.join(", ")}`;
      const line = (name, value) => [h("dt", { text: name }), h("dd", {}, value)];
      put(this.facts,
        h("dl", {},
          line("Found by", way),
          line("Read", `${count(run.read)} of ${plural(run.objects, "object")}, ${count(run.skipped)} skipped by the ranges of their groups`),
          line("Found", `${plural(run.found, "object")} in ${time(run.microseconds)}`),
          run.advice.map((name) => line("Advice", h("span", { class: "advice" }, `An index on ${name} would save reading most objects: `,
            h("code", { text: `@Persisted(indexed: true) var ${name}` })))),
          line("Swift", this.code(forms.swift ?? "Swift's where { } has no form for this query.", forms.swift)),
          line("NSPredicate", this.code(forms.predicate, forms.predicate))),
        this.aggregates(query),
        iconButton("close", "Close", () => { this.facts.hidden = true; }));
      this.facts.hidden = false;
    } catch (error) { complain(error); }
  }

  code(text, copied) {
    return [h("code", { text }), copied && h("button", { type: "button", class: "small", text: "Copy", onclick: () => copy(copied, "the code") })];
  }

  aggregates(query) {
    const properties = classNamed(this.name).properties.filter((each) => isNumber(each) || each.type === "Date" && each.collection === "none");
    if (properties.length === 0) return null;
    const result = h("span", { class: "aggregates", "aria-live": "polite" });
    const choice = h("select", {
      "aria-label": "Property to aggregate",
      onchange: async () => {
        try {
          const found = await get("aggregates", { ...query, ...newTurn(), property: choice.value });
          const names = { min: "least", max: "greatest", sum: "sum", avg: "average" };
          put(result, Object.entries(names).filter(([key]) => found[key] !== undefined)
            .map(([key, word]) => h("span", {}, h("span", { class: "hint", text: word }), " ", h("span", { class: "code", text: found[key] ?? "none" }))));
        } catch (error) { complain(error); }
      },
    }, h("option", { value: "", text: "Aggregate a property", disabled: true, selected: true }),
    properties.map((property) => h("option", { value: property.name, text: property.name })));
    return h("div", { class: "aggregate" }, choice, result);
  }

  // Saved queries

  showSaved(button) {
    const saved = settings.read("queries", []);
    const own = saved.filter((each) => each.class === this.name);
    const items = own.map((each) => h("div", { class: "menu-row" },
      h("button", { type: "button", class: "item code", text: each.query, onclick: () => { document.querySelector(".menu")?.remove(); this.input.value = each.query; this.submit(); } }),
      iconButton("trash", `Forget ${each.query}`, (event) => {
        settings.write("queries", settings.read("queries", []).filter((other) => other.class !== each.class || other.query !== each.query));
        event.currentTarget.parentElement.remove();
      })));
    menu(button, "Saved queries", [
      own.length === 0 && h("p", { class: "hint", text: `No query of ${this.name} is saved.` }), items,
      this.submitted && h("button", {
        type: "button", class: "item", onclick: () => {
          document.querySelector(".menu")?.remove();
          const rest = saved.filter((each) => each.class !== this.name || each.query !== this.submitted);
          settings.write("queries", [{ class: this.name, query: this.submitted }, ...rest].slice(0, 100));
          toast("Saved in this browser");
        },
      }, icon("plus"), "Save this query")]);
  }
}
