// SPDX-License-Identifier: Apache-2.0
// Space by class, the processes that keep old versions, and the integrity check.

import { get, post } from "./api.js";
import { h, put } from "./dom.js";
import { bytes, count, plural, time } from "./format.js";
import { complain } from "./overlay.js";
import { state } from "./state.js";

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

export function drawMaintenance(main) {
  const { path, bytes: size, schemaVersion, version, isEncrypted, note } = state.database;
  const fact = (name, value) => [h("dt", { text: name }), h("dd", { text: value })];
  put(main, h("div", { class: "page" },
    h("h1", { text: "Space and health" }),
    h("section", { class: "card" }, h("header", {}, h("h2", { text: "File" })),
      h("dl", { class: "facts-list" }, fact("Path", path), fact("Size", `${bytes(size)} (${count(size)} bytes)`), fact("Version", count(version)),
        fact("Schema version", schemaVersion ?? "not set"), fact("Encrypted", isEncrypted ? "yes" : "no"), note && fact("Note", note))),
    job("space", "Space", "Reads the whole file once.", "Measure", showSpace),
    job("check", "Integrity check", "Reads the whole file once and proves that nothing is damaged.", "Check now", showCheck),
    pins()));
}

function job(name, title, text, label, show) {
  const result = h("div", { "aria-live": "polite" });
  const bar = h("progress", { max: 1, hidden: true, "aria-label": title });
  const button = h("button", { type: "button", class: "small", text: label, onclick: () => watch("POST") });
  const watch = async (method) => {
    try {
      let answer = method === "POST" ? await post("job", { name }) : await get("job", { name });
      while (answer.state === "running" && button.isConnected) {
        button.disabled = true;
        bar.hidden = false;
        if (answer.progress > 0) bar.value = answer.progress;
        await sleep(300);
        answer = await get("job", { name });
      }
      if (answer.state === "done") put(result, show(answer.result.report), h("p", { class: "hint", text: `Took ${time(answer.result.microseconds)}.` }));
      if (answer.state === "failed") put(result, h("p", { class: "problem", text: answer.message }));
    } catch (error) { complain(error); }
    button.disabled = false;
    bar.hidden = true;
  };
  queueMicrotask(() => watch("GET"));
  return h("section", { class: "card" }, h("header", {}, h("h2", { text: title }), button), h("p", { class: "hint", text }), bar, result);
}

const parts = [["rows", "values"], ["long", "long values"], ["indexes", "indexes"], ["backlinks", "backlinks"]];

function showSpace(report) {
  const page = report.pageBytes;
  const total = (each) => each.rows + each.long + each.indexes + each.backlinks;
  const classes = [...report.classes].sort((a, b) => total(b) - total(a));
  const greatest = Math.max(1, ...classes.map(total));
  const bar = (each) => h("div", { class: "bar", role: "img", "aria-label": parts.map(([key, word]) => `${word} ${bytes(each[key])}`).join(", ") },
    parts.map(([key], index) => h("span", { class: `part-${index}`, style: { width: `${(each[key] / greatest) * 100}%` } })));
  const property = (own) => h("tr", {}, h("td", { class: "code", text: own.name }), ["values", "long", "indexes", "backlinks"].map((key) => h("td", { class: "number", text: own[key] ? bytes(own[key]) : "" })));
  return [
    h("p", {}, `${bytes(report.fileBytes)}: ${bytes(report.reachablePages * page)} in use, ${bytes(report.pendingPages * page)} kept for older versions, ${bytes(report.freePages * page)} free for the next writes.`),
    h("p", { class: "legend" }, parts.map(([, word], index) => h("span", {}, h("span", { class: `dot part-${index}` }), word))),
    classes.map((each) => h("details", { class: "space" },
      h("summary", {}, h("span", { class: "name", text: each.name }), h("span", { class: "hint", text: plural(each.objects, "object") }), bar(each), h("span", { class: "number", text: bytes(total(each)) })),
      h("div", { class: "table-view" }, h("table", { class: "plain" }, h("thead", {}, h("tr", {}, h("th", { text: "Property" }), parts.map(([, word]) => h("th", { class: "number", text: word })))),
        h("tbody", {}, each.properties.map(property)))))),
  ];
}

function showCheck(report) {
  if (report.findings.length === 0) return h("p", { class: "good", text: `Version ${count(report.version)} is whole.` });
  return [h("p", { class: "problem", text: `${plural(report.findings.length, "finding")}. Keep a copy of the file, and save what can be read with: regnum salvage FILE NEW` }),
    h("ol", { class: "findings" }, report.findings.map((text) => h("li", { class: "code", text })))];
}

function pins() {
  const result = h("div", {});
  const load = async () => {
    try {
      const answer = await get("pins");
      const line = (process) => {
        const kept = process.versions.map((version) => `version ${count(version)} (${count(answer.newest - version)} older than the newest)`);
        if (process.everyVersionFrom !== null) kept.push(`every version from ${count(process.everyVersionFrom)} on`);
        const name = process.process === null ? "Processes that only read, this page perhaps among them" : process.process === answer.own ? `Process ${process.process}, where this page comes from` : `Process ${process.process}`;
        return h("li", {}, h("strong", { text: name }), process.isWriting && " is writing now and", kept.length > 0 ? " keeps " + kept.join(", ") : " keeps no version");
      };
      put(result, answer.processes.length === 0 ? h("p", { text: "No other process has the file open." }) : h("ul", {}, answer.processes.map(line)));
    } catch (error) { complain(error); }
  };
  load();
  return h("section", { class: "card" }, h("header", {}, h("h2", { text: "Processes" }), h("button", { type: "button", class: "small", text: "Look again", onclick: load })),
    h("p", { class: "hint", text: "The space of an old version is not reused while a process keeps it." }), result);
}
