// SPDX-License-Identifier: Apache-2.0
// The panel of one object: the path that led to it, all its values, and the objects that link to it.

import { get } from "./api.js";
import { h, byId, icon, iconButton, put, redraw } from "./dom.js";
import { count, plural } from "./format.js";
import { complain, copy } from "./overlay.js";
import { editProperty, newObject, removeObjects } from "./editor.js";
import { classNamed, closeObject, go, showObject, state, trail } from "./state.js";
import { nodeElement } from "./values.js";

let shown = null;
let request = 0;
/** What is drawn, apart from the version. */
let drawn = "";

export function isPanelOpen() { return !byId("panel").hidden; }

/**
 * Shows the object of the route, or hides the panel. With `keepsPlace` the same object is shown again: nothing but the
 * lists of links is drawn again if it does not differ, and those only if objects of the given classes have changed.
 */
export async function drawPanel({ keepsPlace = false, classes } = {}) {
  const panel = byId("panel");
  const object = state.route.object;
  const number = ++request;
  if (!object) {
    if (panel.contains(document.activeElement)) (document.querySelector(".grid") ?? byId("main")).focus();
    panel.hidden = true;
    document.body.classList.remove("has-panel");
    shown = null;
    drawn = "";
    return;
  }
  try {
    const answer = await get("object", { class: object.class, key: object.key });
    if (number !== request) return;
    // What is being edited stays.
    if (keepsPlace && panel.querySelector(".editing")) return;
    const now = JSON.stringify([{ ...answer, version: 0 }, state.database.isEditing, classNamed(answer.class)?.properties]);
    if (keepsPlace && now === drawn) {
      shown = answer;
      if (!classes || answer.backlinks.some((link) => classes.includes(link.class))) redraw(panel, () => refillLinks(panel, answer));
      return;
    }
    drawn = now;
    const [top, open] = [panel.querySelector(".panel-body")?.scrollTop ?? 0, new Set()];
    if (keepsPlace) openLinks(panel).forEach((name) => open.add(name));
    const hadFocus = panel.contains(document.activeElement);
    const before = keepsPlace && shown?.key === answer.key ? new Map(shown.values.map((each) => [each.name, JSON.stringify(each.node)])) : null;
    shown = answer;
    redraw(panel, () => fill(panel, answer, before, open));
    panel.hidden = false;
    document.body.classList.add("has-panel");
    // After a link in the panel was followed.
    if (hadFocus && !panel.contains(document.activeElement)) panel.querySelector("h2").focus();
    if (keepsPlace) panel.querySelector(".panel-body").scrollTop = top;
  } catch (error) {
    if (number !== request) return;
    if (error.status !== 404) return complain(error);
    shown = null;
    drawn = "";
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
        h("h2", { tabindex: -1, text: label })),
      iconButton("close", "Close (Escape)", closeObject)));
}

const placeOf = (answer) => ({ class: answer.class, key: answer.key });
const following = (answer) => (target) => showObject(target, { ...placeOf(answer), label: answer.label });

function fill(panel, answer, before, open) {
  const description = classNamed(answer.class);
  const place = placeOf(answer);
  const follow = following(answer);
  const isEditing = state.database.isEditing && !description?.isEmbedded;
  const properties = new Map((description?.properties ?? []).map((property) => [property.name, property]));
  const values = answer.values.map((value) => {
    const property = properties.get(value.name);
    const cell = h("dd", { class: before && before.get(value.name) !== JSON.stringify(value.node) ? "changed" : null },
      nodeElement(value.node, {
        ...place, property: value.name, isTop: true, isCollection: property !== undefined && property.collection !== "none", follow, place: { ...place, property: value.name },
      }));
    const mayEdit = isEditing && property && !property.isPrimaryKey && value.json !== undefined;
    return [h("dt", {},
      h("span", { class: "name", text: value.name }), h("span", { class: "hint", text: property?.text ?? "" }),
      mayEdit && iconButton("pen", `Edit ${value.name}`, () => editProperty(cell, property, value, place))), cell];
  });
  put(panel, panelHead(answer, answer.label),
    h("div", { class: "panel-body" },
      h("dl", { class: "values top" }, values),
      linkSection(answer, open),
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

function linkSection(answer, open) {
  return h("section", { class: "links" }, h("h3", { text: classNamed(answer.class)?.isEmbedded ? "Belongs to" : "Linked from" }),
    answer.backlinks.length === 0 ? h("p", { class: "hint", text: "No object links to this one." })
      : answer.backlinks.map((link) => backlinks(link, placeOf(answer), following(answer), open)));
}

const openLinks = (panel) => new Set([...panel.querySelectorAll("details.backlinks[open]")].map((each) => each.dataset.name));

function refillLinks(panel, answer) {
  panel.querySelector("section.links").replaceWith(linkSection(answer, openLinks(panel)));
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
