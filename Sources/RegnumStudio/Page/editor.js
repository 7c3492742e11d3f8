// SPDX-License-Identifier: Apache-2.0
// Editing: a field for each type of property, new objects, deletes with a preview, and undo. Each change is one
// transaction; the server checks every value again.

import { get, newTurn, post } from "./api.js";
import { h, iconButton, put } from "./dom.js";
import { count, dateField, plural } from "./format.js";
import { complain, dialog, toast } from "./overlay.js";
import { classNamed, emit, reload, showObject, state, takeState } from "./state.js";

/** Sends a change; afterwards the page shows the new version. */
async function send(name, body) {
  let answer;
  try { answer = await post(name, body); } catch (error) {
    // Another page has changed something, or has switched to reading.
    if (error.status === 409 || error.status === 403) reload().then(() => emit("mode")).catch(complain);
    throw error;
  }
  const now = answer.state ?? answer;
  takeState(now);
  sayForgotten(now);
  emit("refresh", { version: (answer.state ?? answer).version });
  return answer;
}

/** Says so if a change has made the studio forget changes. */
export function sayForgotten(now) {
  if (now.hasForgotten) toast(now.undo.length === 0 ? "This change, and older ones, cannot be undone: their values take too much memory."
    : "The oldest changes can no longer be undone: their values take too much memory.");
}

/** A button that undoes the change that was just made, and no later one. */
export function undoAction() {
  const number = state.database.undoNumber;
  return { label: "Undo", run: () => undo(number) };
}

/** Undoes a change, which has to be the last one: it is refused if another page has made a later one. */
export async function undo(number = state.database.undoNumber) {
  try {
    const title = state.database.undo[0];
    await send("undo", { number });
    toast(`Undone: ${title}`);
  } catch (error) { complain(error); }
}

export async function setEditing(isOn) {
  try {
    takeState(await post("editing", { on: isOn }));
    emit("refresh", {});
    toast(isOn ? "Editing: each change is stored at once" : "Read-only");
  } catch (error) { complain(error); }
}

// Fields

const isJSON = (text) => { try { JSON.parse(text); return true; } catch { return false; } };

/** A field for a property: its element, and `json()`, which is the value as JSON text or throws an `Error` for people. */
export function fieldFor(property, json) {
  const isSingle = property.collection === "none";
  const isEmbedded = property.isLink && classNamed(property.type)?.isEmbedded;
  let field;
  if (!isSingle || isEmbedded || property.type === "AnyRealmValue") field = jsonField(property, json);
  else if (property.isLink) field = linkField(property, json);
  else field = (fields[property.type] ?? textField)(property, json);
  if (!isSingle || property.isLink || property.type === "AnyRealmValue" || !property.isOptional) return field;
  return nullable(field, json === undefined || json === "null");
}

/** A field with a box for null. */
function nullable(field, isNull) {
  const box = h("input", { type: "checkbox", checked: isNull, onchange: () => { field.element.classList.toggle("off", box.checked); } });
  field.element.classList.toggle("off", isNull);
  field.element.addEventListener("input", (event) => {
    if (event.target === box) return;
    box.checked = false;
    field.element.classList.remove("off");
  });
  return {
    element: h("div", { class: "nullable" }, field.element, h("label", { class: "check" }, box, "null")),
    json: () => (box.checked ? "null" : field.json()),
  };
}

const parsed = (json, standard) => { try { return JSON.parse(json) ?? standard; } catch { return standard; } };

function input(property, value, more = {}) {
  return h("input", { type: "text", class: "code", "aria-label": property.name, value, spellcheck: "false", autocomplete: "off", ...more });
}

function textField(property, json) {
  const element = input(property, String(parsed(json, "")));
  return { element: h("div", { class: "field" }, element), json: () => JSON.stringify(element.value.trim()) };
}

const fields = {
  Bool(property, json) {
    const element = h("select", { "aria-label": property.name }, ["true", "false"].map((each) => h("option", { value: each, text: each })));
    element.value = json === "true" ? "true" : "false";
    return { element: h("div", { class: "field" }, element), json: () => element.value };
  },
  Int(property, json) {
    const list = suggestions(property);
    const element = input(property, json === undefined || json === "null" ? "" : json, { inputmode: "numeric", list: list.id });
    return {
      element: h("div", { class: "field" }, element, list), json: () => {
        const text = element.value.trim();
        if (!/^[-+]?\d+$/.test(text)) throw new Error(`${property.name} has to be a whole number.`);
        return text.replace(/^\+/, "").replace(/^(-?)0+(?=\d)/, "$1");
      },
    };
  },
  Float: (property, json) => decimal(property, json),
  Double: (property, json) => decimal(property, json),
  Decimal128: (property, json) => decimal(property, json),
  String(property, json) {
    const text = parsed(json, "");
    // A field of text makes all line ends the same.
    if (text.includes("\r")) return jsonField(property, json);
    const element = h("textarea", { "aria-label": property.name, rows: Math.min(12, Math.max(1, Math.ceil(text.length / 40))), value: text });
    return { element: h("div", { class: "field" }, element, usedValues(property, element)), json: () => JSON.stringify(element.value) };
  },
  Date(property, json) {
    const text = parsed(json, "");
    const element = input(property, text, { placeholder: "2026-01-31T12:00:00Z" });
    const picker = h("input", {
      type: "datetime-local", step: 1, "aria-label": `${property.name}, in your time zone`, value: text ? dateField(text) : "",
      oninput: () => { if (picker.value) element.value = new Date(picker.value).toISOString().replace(".000Z", "Z"); },
    });
    return {
      element: h("div", { class: "field" }, element, picker,
        h("button", { type: "button", class: "small", text: "Now", onclick: () => {
          element.value = new Date().toISOString();
          picker.value = dateField(element.value);
          element.dispatchEvent(new Event("input", { bubbles: true }));
        } })),
      json: () => JSON.stringify(element.value.trim()),
    };
  },
  Data(property, json) {
    let value = parsed(json, "");
    const hint = h("span", { class: "hint", text: `${Math.floor(value.length * 3 / 4)} bytes` });
    const file = h("input", {
      type: "file", "aria-label": property.name, onchange: async () => {
        const chosen = file.files[0];
        if (!chosen) return;
        if (chosen.size > 15_000_000) return complain(new Error("Data is at most 15 MB here."));
        const bytes = new Uint8Array(await chosen.arrayBuffer());
        let text = "";
        for (let start = 0; start < bytes.length; start += 32_768) text += String.fromCharCode(...bytes.subarray(start, start + 32_768));
        value = btoa(text);
        hint.textContent = `${bytes.length} bytes`;
      },
    });
    return { element: h("div", { class: "field" }, file, hint), json: () => JSON.stringify(value) };
  },
};

function decimal(property, json) {
  const element = input(property, String(json === undefined || json === "null" ? "" : isJSON(json) && json.startsWith('"') ? JSON.parse(json) : json), { inputmode: "decimal" });
  return {
    element: h("div", { class: "field" }, element), json: () => {
      const text = element.value.trim();
      if (text === "") throw new Error(`${property.name} has to be a number.`);
      return JSON.stringify(text);
    },
  };
}

let lists = 0;

/** The values that the property has already, as suggestions: enums are stored as numbers or texts. */
function suggestions(property) {
  const list = h("datalist", { id: `values-${lists += 1}` });
  if (property.class) get("values", { class: property.class, property: property.name })
    .then((answer) => put(list, answer.values.map((value) => h("option", { value })))).catch(() => {});
  return list;
}

/** A choice of the values that other objects have, if there are few: those of an enum. */
function usedValues(property, field) {
  const choice = h("select", {
    hidden: true, "aria-label": `Values of ${property.name} in use`, onchange: () => {
      field.value = choice.value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
    },
  });
  if (property.class) get("values", { class: property.class, property: property.name }).then((answer) => {
    if (answer.values.length < 2 || answer.values.length > 20) return;
    put(choice, h("option", { value: "", text: "Values in use", disabled: true, selected: true }),
      answer.values.map((value) => h("option", { value, text: value === "" ? "empty" : value })));
    choice.hidden = false;
  }).catch(() => {});
  return choice;
}

function jsonField(property, json) {
  const standard = { none: "null", list: "[]", set: "[]", map: "{}" }[property.collection];
  const text = json ?? standard;
  const element = h("textarea", { class: "code", "aria-label": property.name, spellcheck: "false", rows: Math.min(16, Math.max(2, Math.ceil(text.length / 36))), value: text });
  return {
    element: h("div", { class: "field" }, element, h("span", { class: "hint", text: `${property.text} as JSON` })),
    json: () => {
      if (!isJSON(element.value)) throw new Error(`${property.name} is not JSON.`);
      return element.value;
    },
  };
}

/** A field that finds objects by their names, keys or numbers. */
function linkField(property, json) {
  let chosen = json && json !== "null" ? json : null;
  const shown = h("span", { class: "code", text: chosen ?? "null" });
  const results = h("ul", { class: "linked" });
  let request = 0;
  const find = async () => {
    const number = ++request;
    try {
      const answer = await get("find", { class: property.type, text: search.value, ...newTurn() });
      if (number !== request) return;
      put(results, answer.objects.map((object) => h("li", {}, h("button", {
        type: "button", class: "link", onclick: () => {
          request += 1;
          chosen = `{"key": ${object.key}}`;
          shown.textContent = `${object.label} #${object.key}`;
          put(results);
        },
      }, object.label, h("span", { class: "hint", text: `#${object.key}` })))), answer.objects.length === 0 && h("li", { class: "hint", text: "No object is named so." }));
    } catch (error) { complain(error); }
  };
  let waiting;
  const search = h("input", {
    type: "search", placeholder: `Find a ${property.type}`, "aria-label": `Find a ${property.type}`,
    oninput: (event) => { event.stopPropagation(); clearTimeout(waiting); waiting = setTimeout(find, 200); }, onfocus: find,
    // Enter chooses the first object that was found, and does not store the old one.
    onkeydown: (event) => {
      if (event.key !== "Enter" || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      results.querySelector("button")?.click();
    },
  });
  return {
    element: h("div", { class: "field" }, h("div", { class: "chosen" }, shown,
      iconButton("close", "No object", () => { chosen = null; shown.textContent = "null"; })), search, results),
    json: () => chosen ?? "null",
  };
}

// Changes

/** Edits a property in its place in the panel. */
export function editProperty(cell, property, value, place) {
  const old = [...cell.childNodes];
  const field = fieldFor({ ...property, class: place.class }, value.json);
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const close = () => {
    cell.classList.remove("editing");
    put(cell, old);
    cell.previousElementSibling?.querySelector("button")?.focus();
    // The object may have changed while it was edited.
    emit("object");
  };
  const store = async () => {
    problem.hidden = true;
    const before = state.database.undoNumber;
    try {
      await send("change", { ...place, values: { [property.name]: field.json() }, expected: { [property.name]: value.json } });
      close();
      if (state.database.undoNumber === before) toast(`${property.name} had this value already`);
      else toast(`Stored ${property.name}`, { action: undoAction() });
    } catch (error) {
      problem.hidden = false;
      problem.textContent = error.message;
    }
  };
  cell.classList.add("editing");
  put(cell, h("form", {
    onsubmit: (event) => { event.preventDefault(); store(); },
    onkeydown: (event) => {
      if (event.key === "Escape") { event.stopPropagation(); close(); }
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); store(); }
    },
  }, field.element, problem, h("div", { class: "buttons" },
    h("button", { type: "submit", class: "primary small", text: "Store" }), h("button", { type: "button", class: "small", text: "Cancel", onclick: close }))));
  cell.querySelector("input, textarea, select")?.focus();
}

/** A dialog for a new object, with the values of another one as a start. */
export function newObject(name, copied) {
  const description = classNamed(name);
  const values = new Map((copied?.values ?? []).map((value) => [value.name, value.json]));
  const rows = description.properties.map((property) => {
    const isKey = property.isPrimaryKey;
    const field = fieldFor({ ...property, class: name }, isKey ? undefined : values.get(property.name));
    return { property, field };
  });
  dialog(copied ? `Duplicate ${copied.label}` : `New ${name}`, h("form", { class: "form", onsubmit: (event) => event.preventDefault() },
    rows.map(({ property, field }) => h("div", { class: "form-row" },
      h("div", { class: "form-label" }, h("span", { class: "name", text: property.name }), h("span", { class: "hint", text: property.text })), field.element))),
  [{ label: "Cancel" }, {
    label: "Create", isPrimary: true, run: async () => {
      // Without a prototype, as a property may be named `__proto__`.
      const given = Object.create(null);
      for (const { property, field } of rows) {
        let json;
        try { json = field.json(); } catch (error) {
          // A number that is left empty is 0 in a new object, but not if it is the primary key.
          if (property.isPrimaryKey || [...field.element.querySelectorAll("input")].some((each) => each.value.trim() !== "")) throw error;
          continue;
        }
        if (json === '""' && ["UUID", "ObjectId", "Date"].includes(property.type)) continue;
        given[property.name] = json;
      }
      const answer = await send("create", { class: name, values: given });
      toast(`Created ${name} #${answer.key}`, { action: undoAction() });
      showObject({ class: name, key: answer.key });
    },
  }]);
}

/** Asks with a preview of what the delete rules take along, then deletes. */
export async function removeObjects(name, keys) {
  if (keys.length === 0) return;
  if (!state.database.isEditing) return toast("Switch to editing to delete objects.");
  try {
    const preview = await post("preview-delete", { class: name, keys });
    const line = ([title, number]) => h("li", {}, h("span", { class: "code", text: title }), " ", count(number));
    const isDenied = preview.denials.length > 0;
    dialog(keys.length === 1 ? `Delete ${name} #${keys[0]}?` : `Delete ${plural(keys.length, "object")} of ${name}?`, h("div", { class: "prose" },
      isDenied && [h("p", { class: "problem", text: "A delete rule forbids it:" }), h("ul", {}, preview.denials.map((text) => h("li", { text })))],
      h("p", { text: "Deleted, with what the delete rules and embedded objects take along:" }), h("ul", {}, Object.entries(preview.objects).map(line)),
      Object.keys(preview.clearedLinks).length > 0 && [h("p", { text: "Objects whose links are cleared:" }), h("ul", {}, Object.entries(preview.clearedLinks).map(line))],
      !preview.isUndoable && h("p", { class: "problem", text: "This is too much to be undone." })),
    [{ label: "Cancel" }, !isDenied && {
      label: "Delete", isDanger: true, run: async () => {
        const before = state.database.undoNumber;
        await send("delete", { class: name, keys });
        emit("object");
        const isUndoable = state.database.undoNumber !== null && state.database.undoNumber !== before;
        toast(`Deleted ${plural(keys.length, "object")}`, { action: isUndoable ? undoAction() : undefined });
      },
    }].filter(Boolean));
  } catch (error) { complain(error); }
}
