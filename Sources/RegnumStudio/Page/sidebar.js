// SPDX-License-Identifier: Apache-2.0
// The list of classes with their counts.

import { h, byId, icon, put, redraw } from "./dom.js";
import { count, shortCount } from "./format.js";
import { go, settings, state } from "./state.js";

let filter = "";
/** The names that are drawn. */
let drawn = "";

/** Draws the classes. Of those that are drawn already only the counts are set, so that focus and clicks are not lost. */
export function drawSidebar() {
  const side = byId("sidebar");
  const now = JSON.stringify([filter, state.route.view, state.route.name, state.database.classes.map((each) => [each.name, each.isEmbedded])]);
  if (now === drawn) return setCounts(side);
  drawn = now;
  const had = document.activeElement?.id === "class-filter";
  const classes = state.database.classes.filter((each) => each.name.toLowerCase().includes(filter.toLowerCase()));
  const part = (title, list) => list.length > 0 && [h("h2", { text: title }), h("ul", {}, list.map(entry))];
  redraw(side, () => put(side,
    state.database.classes.length > 8 && h("input", {
      type: "search", id: "class-filter", placeholder: "Find a class", "aria-label": "Find a class", value: filter,
      oninput: (event) => { filter = event.target.value; drawSidebar(); },
    }),
    part("Classes", classes.filter((each) => !each.isEmbedded)),
    part("Embedded", classes.filter((each) => each.isEmbedded)),
    classes.length === 0 && h("p", { class: "hint", text: filter ? "No class has this in its name." : "The file has no classes yet." }),
    h("div", { class: "views" }, view("schema", "graph", "Schema"), view("maintenance", "gauge", "Space and health"))));
  if (had) {
    const input = byId("class-filter");
    input?.focus();
    input?.setSelectionRange(filter.length, filter.length);
  }
}

const countTitle = (each) => `${each.name}: ${count(each.objects)}`;

function setCounts(side) {
  const byName = new Map(state.database.classes.map((each) => [each.name, each]));
  for (const button of side.querySelectorAll("li button")) {
    const each = byName.get(button.dataset.name);
    button.title = countTitle(each);
    button.querySelector(".count").textContent = shortCount(each.objects);
  }
}

function entry(each) {
  const isCurrent = state.route.view === "class" && state.route.name === each.name;
  return h("li", {}, h("button", {
    type: "button", class: "item", "aria-current": isCurrent ? "page" : null, title: countTitle(each), "data-name": each.name,
    onclick: () => { closeDrawer(); go({ view: "class", name: each.name, ...settings.read(`place:${each.name}`, { query: "", sort: "" }) }); },
  }, h("span", { class: "name", text: each.name }), h("span", { class: "count", text: shortCount(each.objects) })));
}

function view(name, drawing, title) {
  return h("button", {
    type: "button", class: "item", "aria-current": state.route.view === name ? "page" : null,
    onclick: () => { closeDrawer(); go({ view: name }); },
  }, icon(drawing), h("span", { class: "name", text: title }));
}

export const isDrawerOpen = () => document.body.classList.contains("drawer");
export function closeDrawer() { document.body.classList.remove("drawer"); }

export function toggleDrawer() {
  if (isDrawerOpen()) closeDrawer();
  else focusClasses();
}

/** Moves the focus to the classes. In a narrow window they are opened for it. */
export function focusClasses() {
  const side = byId("sidebar");
  if (getComputedStyle(side).visibility === "hidden") document.body.classList.add("drawer");
  side.querySelector("input, button")?.focus();
}
