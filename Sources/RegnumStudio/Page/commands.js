// SPDX-License-Identifier: Apache-2.0
// The keys of the page, and the list of them.

import { h, byId } from "./dom.js";
import { dialog } from "./overlay.js";

const list = [
  ["/", "Go to the query"],
  ["g", "Go to the grid"],
  ["p", "Go to the panel of the object"],
  ["[ and ]", "Back and forward"],
  ["c", "Go to the classes"],
  ["s", "Schema"],
  ["m", "Space and health"],
  ["e", "Switch between reading and editing"],
  ["n", "New object, while editing"],
  ["u", "Undo the last change, while editing"],
  ["?", "This list"],
  ["Escape", "Close the panel"],
];

const inGrid = [
  ["Arrow keys, Page Up, Page Down, Home, End", "Move; with Control to the ends; with Shift select"],
  ["Enter", "Open the object"],
  ["Alt Enter", "Follow the link in the cell"],
  ["o", "Sort by the column of the cell"],
  ["< and >", "Make the column narrower or wider"],
  ["Control C", "Copy the selected cells, as spreadsheets take them"],
  ["Control A", "Select all"],
  ["Delete", "Delete the selected objects, while editing"],
];

const inQuery = [
  ["Arrow keys, Tab", "Choose and insert a completion"],
  ["Enter", "Show the results"],
];

export function showKeys() {
  const table = (title, rows) => [h("h3", { text: title }), h("dl", { class: "keys" }, rows.map(([keys, text]) => [h("dt", {}, h("kbd", { text: keys })), h("dd", { text })]))];
  dialog("Keys", [table("Everywhere", list), table("In the grid", inGrid), table("In the query", inQuery)]);
}

/** `actions` has a function for each key. */
export function listenToKeys(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (document.querySelector("dialog[open]")) return;
    const isText = event.target.matches?.("input, textarea, select");
    if (isText) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

export const focus = (id) => byId(id)?.focus();
