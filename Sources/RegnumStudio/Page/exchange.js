// SPDX-License-Identifier: Apache-2.0
// Export of the filtered rows, and import with a preview.

import { blob, upload } from "./api.js";
import { h, put } from "./dom.js";
import { sayForgotten, undoAction } from "./editor.js";
import { bytes, count, plural } from "./format.js";
import { dialog, toast } from "./overlay.js";
import { emit, state, takeState } from "./state.js";
import { save } from "./values.js";

/** `rows` has the source and the count of the grid, `columns` the names of the shown properties. */
export function exportRows(name, rows, columns) {
  const format = h("select", { "aria-label": "Format" }, h("option", { value: "csv", text: "CSV" }), h("option", { value: "json", text: "JSON, one array" }));
  const all = h("input", { type: "checkbox", checked: true });
  dialog(`Export ${plural(rows.count, "object")}`, h("div", { class: "form" },
    h("label", { class: "form-row" }, h("span", { text: "Format" }), format),
    h("label", { class: "check" }, all, "All properties, so that `regnum import` restores the objects"),
    rows.source.query && h("p", { class: "hint" }, "Filter: ", h("code", { text: rows.source.query }))),
  [{ label: "Cancel" }, {
    label: "Export", isPrimary: true, run: async () => {
      const found = await blob("export", { ...rows.source, format: format.value, columns: all.checked ? "" : JSON.stringify(columns) });
      save(found, `${name}.${format.value}`);
      toast(`Exported ${plural(rows.count, "object")}, ${bytes(found.size)}`);
    },
  }]);
}

export function importRows(name) {
  const report = h("div", { "aria-live": "polite" });
  let file = null;
  const format = () => (/\.(json|jsonl|ndjson)$/i.test(file.name) ? "json" : /\.(tsv|tab)$/i.test(file.name) ? "tsv" : "csv");
  const show = (answer) => {
    put(report, h("p", {}, h("strong", { text: count(answer.inserted) }), " new, ", h("strong", { text: count(answer.updated) }), " updated, ",
      h("strong", { text: count(answer.unchanged) }), " unchanged, ", h("strong", { text: count(answer.refused) }), " refused"),
    answer.refusals.length > 0 && h("table", { class: "plain" }, h("thead", {}, h("tr", {}, h("th", { text: "Line" }), h("th", { text: "Reason" }))),
      h("tbody", {}, answer.refusals.map((each) => h("tr", {}, h("td", { class: "number", text: each.line }), h("td", { text: each.reason }))))),
    h("p", { class: "hint", text: answer.written ? "Everything was stored." : answer.refused > 0 ? "Nothing is stored while lines are refused: correct them and choose the file again."
      : "Nothing is stored yet." }));
    store.hidden = answer.written || answer.refused > 0;
  };
  const run = async (commit) => {
    const answer = await upload("import", { class: name, format: format(), commit: commit ? "1" : "" }, file);
    show(answer);
    const before = state.database.undoNumber;
    takeState(answer.state);
    if (answer.written) {
      sayForgotten(answer.state);
      emit("refresh", { version: answer.state.version });
      const isUndoable = state.database.undoNumber !== null && state.database.undoNumber !== before;
      toast(`Imported ${plural(answer.inserted + answer.updated, "object")}`, { action: isUndoable ? undoAction() : undefined });
    }
    return answer.written;
  };
  const chooser = h("input", {
    type: "file", accept: ".csv,.tsv,.tab,.json,.jsonl,.ndjson,text/csv,application/json", "aria-label": "File to import", onchange: async () => {
      [file] = chooser.files;
      store.hidden = true;
      if (!file) return;
      put(report, h("p", { class: "hint", text: "Reading the file…" }));
      try { await run(false); } catch (error) { put(report, h("p", { class: "problem", text: error.message })); }
    },
  });
  const opened = dialog(`Import into ${name}`, h("div", { class: "form" },
    h("p", { class: "hint", text: "CSV or TSV with a first line that names properties, or JSON as the export writes it. An object with the primary key of an existing one updates it." }),
    chooser, report), [{ label: "Cancel" }, { label: "Import", isPrimary: true, run: () => (file ? run(true) : false) }]);
  const store = opened.element.querySelector("footer .primary");
  store.hidden = true;
}
