// SPDX-License-Identifier: Apache-2.0
// The list of classes with their counts.

import { h, byId, icon, put } from "./dom.js";
import { count, shortCount } from "./format.js";
import { go, settings, state } from "./state.js";

let filter = "";

export function drawSidebar() {
  const side = byId("sidebar");
  const had = document.activeElement?.id === "class-filter";
  const classes = state.database.classes.filter((each) => each.name.toLowerCase().includes(filter.toLowerCase()));
  const part = (title, list) => list.length > 0 && [h("h2", { text: title }), h("ul", {}, list.map(entry))];
  put(side,
    state.database.classes.length > 8 && h("input", {
      type: "search", id: "class-filter", placeholder: "Find a class", "aria-label": "Find a class", value: filter,
      oninput: (event) => { filter = event.target.value; drawSidebar(); },
    }),
    part("Classes", classes.filter((each) => !each.isEmbedded)),
    part("Embedded", classes.filter((each) => each.isEmbedded)),
    classes.length === 0 && h("p", { class: "hint", text: filter ? "No class has this in its name." : "The file has no classes yet." }),
    h("div", { class: "views" }, view("schema", "graph", "Schema"), view("maintenance", "gauge", "Space and health")));
  if (had) {
    const input = byId("class-filter");
    input?.focus();
    input?.setSelectionRange(filter.length, filter.length);
  }
}

function entry(each) {
  const isCurrent = state.route.view === "class" && state.route.name === each.name;
  return h("li", {}, h("button", {
    type: "button", class: "item", "aria-current": isCurrent ? "page" : null, title: `${each.name}: ${count(each.objects)}`,
    onclick: () => { closeDrawer(); go({ view: "class", name: each.name, ...settings.read(`place:${each.name}`, { query: "", sort: "" }) }); },
  }, h("span", { class: "name", text: each.name }), h("span", { class: "count", text: shortCount(each.objects) })));
}

function view(name, drawing, title) {
  return h("button", {
    type: "button", class: "item", "aria-current": state.route.view === name ? "page" : null,
    onclick: () => { closeDrawer(); go({ view: name }); },
  }, icon(drawing), h("span", { class: "name", text: title }));
}

export function toggleDrawer() { document.body.classList.toggle("drawer"); }
export function closeDrawer() { document.body.classList.remove("drawer"); }
