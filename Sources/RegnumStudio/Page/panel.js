// SPDX-License-Identifier: Apache-2.0
// The panel of one object: the path that led to it, all its values, and the objects that link to it.

import { get } from "./api.js";
import { h, byId, icon, iconButton, put } from "./dom.js";
import { count, plural } from "./format.js";
import { complain, copy } from "./overlay.js";
import { editProperty, newObject, removeObjects } from "./editor.js";
import { classNamed, closeObject, go, showObject, state, trail } from "./state.js";
import { nodeElement } from "./values.js";

let shown = null;
let request = 0;

export function isPanelOpen() { return !byId("panel").hidden; }

/** Shows the object of the route, or hides the panel. */
export async function drawPanel({ keepsPlace = false } = {}) {
  const panel = byId("panel");
  const object = state.route.object;
  const number = ++request;
  if (!object) {
    panel.hidden = true;
    document.body.classList.remove("has-panel");
    shown = null;
    return;
  }
  try {
    const answer = await get("object", { class: object.class, key: object.key });
    if (number !== request) return;
    // What is being edited stays.
    if (keepsPlace && panel.querySelector(".editing")) return;
    const [top, open] = [panel.querySelector(".panel-body")?.scrollTop ?? 0, new Set()];
    if (keepsPlace) panel.querySelectorAll("details.backlinks[open]").forEach((each) => open.add(each.dataset.name));
    const before = keepsPlace && shown?.key === answer.key ? new Map(shown.values.map((each) => [each.name, JSON.stringify(each.node)])) : null;
    shown = answer;
    fill(panel, answer, before, open);
    panel.hidden = false;
    document.body.classList.add("has-panel");
    if (keepsPlace) panel.querySelector(".panel-body").scrollTop = top;
  } catch (error) {
    if (number !== request) return;
    if (error.status !== 404) return complain(error);
    put(panel, panelHead(object, `#${object.key}`), h("div", { class: "panel-body" },
      h("p", { class: "empty", text: keepsPlace ? "This object was deleted." : "There is no object with this number." })));
    panel.hidden = false;
    document.body.classList.add("has-panel");
  }
}

function panelHead(object, label) {
  const steps = trail();
  return h("header", {},
    steps.length > 0 && h("nav", { class: "trail", "aria-label": "Path" }, steps.map((step, index) => [
      h("button", {
        type: "button", class: "link", title: `${step.class} #${step.key}`, text: step.label,
        onclick: () => go({ ...state.route, object: { class: step.class, key: step.key } }, { trail: steps.slice(0, index) }),
      }), h("span", { class: "hint", text: "›", "aria-hidden": "true" })])),
    h("div", { class: "panel-title" },
      h("div", {}, h("span", { class: "tag", text: object.class }), h("span", { class: "hint code", text: ` #${object.key}` }),
        h("h2", { text: label })),
      iconButton("close", "Close (Escape)", closeObject)));
}

function fill(panel, answer, before, open) {
  const description = classNamed(answer.class);
  const place = { class: answer.class, key: answer.key };
  const follow = (target) => showObject(target, { ...place, label: answer.label });
  const isEditing = state.database.isEditing && !description?.isEmbedded;
  const properties = new Map((description?.properties ?? []).map((property) => [property.name, property]));
  const values = answer.values.map((value) => {
    const property = properties.get(value.name);
    const cell = h("dd", { class: before && before.get(value.name) !== JSON.stringify(value.node) ? "changed" : null },
      nodeElement(value.node, { ...place, property: value.name, isTop: true, follow, place: { ...place, property: value.name } }));
    const mayEdit = isEditing && property && !property.isPrimaryKey && value.json !== undefined;
    return [h("dt", {},
      h("span", { class: "name", text: value.name }), h("span", { class: "hint", text: property?.text ?? "" }),
      mayEdit && iconButton("pen", `Edit ${value.name}`, () => editProperty(cell, property, value, place))), cell];
  });
  put(panel, panelHead(answer, answer.label),
    h("div", { class: "panel-body" },
      h("dl", { class: "values top" }, values),
      h("section", {}, h("h3", { text: description?.isEmbedded ? "Belongs to" : "Linked from" }),
        answer.backlinks.length === 0 ? h("p", { class: "hint", text: "No object links to this one." })
          : answer.backlinks.map((link) => backlinks(link, place, follow, open))),
      h("div", { class: "panel-actions" },
        h("button", { type: "button", class: "small", onclick: () => copy(JSON.stringify(plain(answer), null, 2), "the object as JSON") }, "Copy as JSON"),
        isEditing && h("button", { type: "button", class: "small", onclick: () => newObject(answer.class, answer) }, icon("plus"), "Duplicate"),
        isEditing && h("button", { type: "button", class: "small danger", onclick: () => removeObjects(answer.class, [answer.key]) }, icon("trash"), "Delete"))));
}

/** The values as JSON for people, as far as they are shown. */
function plain(answer) {
  const text = (node) => {
    switch (node.t) {
      case "null": case "deep": return null;
      case "Bool": return node.v === "true";
      case "Int": return Number.isSafeInteger(Number(node.v)) ? Number(node.v) : node.v;
      case "link": return { class: node.class, key: node.key };
      case "embedded": return Object.fromEntries(node.properties.map(([name, value]) => [name, text(value)]));
      case "list": case "set": return node.items.map(text);
      case "map": return Object.fromEntries(node.entries.map(([name, value]) => [name, text(value)]));
      default: return node.v;
    }
  };
  return Object.fromEntries(answer.values.map((value) => [value.name, text(value.node)]));
}

function backlinks(link, place, follow, open) {
  const list = h("ul", { class: "linked" });
  let offset = 0;
  const load = async (more) => {
    try {
      const answer = await get("backlinks", { ...place, from: link.class, property: link.property, offset, limit: 50 });
      answer.objects.forEach((object) => list.append(h("li", {}, h("button", {
        type: "button", class: "link", title: `${link.class} #${object.key}`,
        onclick: () => follow({ class: link.class, key: object.key }),
      }, object.label, h("span", { class: "hint", text: `#${object.key}` })))));
      offset += answer.objects.length;
      more.hidden = offset >= answer.count;
      more.textContent = `${count(answer.count - offset)} more`;
    } catch (error) { complain(error); }
  };
  const more = h("button", { type: "button", class: "small", hidden: true, onclick: () => load(more) });
  const name = `${link.class}.${link.property}`;
  const element = h("details", {
    class: "backlinks", "data-name": name,
    ontoggle: () => { if (element.open && offset === 0) load(more); },
  }, h("summary", {}, h("span", { class: "code", text: name }), " ", h("span", { class: "hint", text: plural(link.count, "link") })), list, more);
  if (open.has(name) || link.count <= 5) element.open = true;
  return element;
}
