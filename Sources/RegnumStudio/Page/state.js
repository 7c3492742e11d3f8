// SPDX-License-Identifier: Apache-2.0
// What is shown: the database as it was last described, the place in the address, and events between the modules.
//
//   #/c/CLASS?q=QUERY&s=PROPERTY&d=1&o=CLASS:KEY     a class, its query and order, and the object in the panel
//   #/schema    #/maintenance

import { get } from "./api.js";

const listeners = new Map();

export function on(event, listener) {
  if (!listeners.has(event)) listeners.set(event, []);
  listeners.get(event).push(listener);
}

export function emit(event, detail) {
  for (const listener of listeners.get(event) ?? []) listener(detail);
}

export const state = {
  database: null,
  route: { view: "none" },
};

export const classNamed = (name) => state.database?.classes.find((each) => each.name === name);

/** Reads the description of the database again. */
export async function reload() {
  state.database = await get("database");
  emit("database");
}

/** Takes the answer to a change: the mode, the changes that can be undone. */
export function takeState(answer) {
  state.database.isEditing = answer.isEditing;
  state.database.undo = answer.undo;
  state.database.undoNumber = answer.undoNumber;
  emit("mode");
}

export function parseRoute(hash) {
  const match = /^#\/(c|schema|maintenance)(?:\/([^?]*))?(?:\?(.*))?$/.exec(hash);
  if (!match) return { view: "none" };
  if (match[1] !== "c") return { view: match[1] };
  const query = new URLSearchParams(match[3] ?? "");
  const object = /^(.*):(\d+)$/.exec(query.get("o") ?? "");
  let name = "";
  try { name = decodeURIComponent(match[2] ?? ""); } catch { return { view: "none" }; }
  return {
    view: "class", name, query: query.get("q") ?? "", sort: query.get("s") ?? "", descending: query.get("d") === "1",
    object: object ? { class: object[1], key: Number(object[2]) } : null,
  };
}

export function routeText(route) {
  if (route.view !== "class") return "#/" + route.view;
  const query = new URLSearchParams();
  if (route.query) query.set("q", route.query);
  if (route.sort) query.set("s", route.sort);
  if (route.sort && route.descending) query.set("d", "1");
  if (route.object) query.set("o", `${route.object.class}:${route.object.key}`);
  const text = query.toString();
  return "#/c/" + encodeURIComponent(route.name) + (text ? "?" + text : "");
}

/** The objects that were followed to the one in the panel. */
export const trail = () => history.state?.trail ?? [];

const isShown = (object) => object && object.class === state.route.object?.class && object.key === state.route.object?.key;

/** Goes to a place; the browser's back and forward lead through the places. */
export function go(route, { replace = false, trail: steps = isShown(route.object) ? trail() : [] } = {}) {
  const text = routeText(route);
  if (text === location.hash && !replace) return;
  history[replace ? "replaceState" : "pushState"]({ trail: steps }, "", text);
  arrive();
}

/** Shows an object in the panel. `from` is the object whose link was followed. */
export function showObject(object, from) {
  const route = state.route.view === "class" ? state.route : { view: "class", name: object.class, query: "", sort: "" };
  const steps = from ? [...trail(), from].slice(-20) : [];
  go({ ...route, object: { class: object.class, key: object.key } }, { trail: steps });
}

export function closeObject() {
  if (state.route.object) go({ ...state.route, object: null });
}

export function arrive() {
  const before = state.route;
  state.route = parseRoute(location.hash);
  emit("route", { before, now: state.route });
}

/** Settings of a reader for this database, kept in this browser. */
export const settings = {
  key: (name) => `regnum-studio:${state.database?.path ?? ""}:${name}`,
  read(name, standard) {
    try { return JSON.parse(localStorage.getItem(this.key(name))) ?? standard; } catch { return standard; }
  },
  write(name, value) {
    try { localStorage.setItem(this.key(name), JSON.stringify(value)); } catch { /* the room is used up */ }
  },
};
