// SPDX-License-Identifier: Apache-2.0
// Requests for data. The token comes with the address of the first load, is kept for this tab, and goes in a header.

const storageName = "regnum-studio-token";

function takeToken() {
  const match = /^#token=([0-9A-Za-z_-]+)$/.exec(location.hash);
  if (match) {
    try { sessionStorage.setItem(storageName, match[1]); } catch { /* known until the page is loaded again */ }
    // The token stays neither in the address nor in the history.
    history.replaceState(null, "", location.pathname + location.search);
  }
  if (match) return match[1];
  try { return sessionStorage.getItem(storageName) ?? ""; } catch { return ""; }
}

const token = takeToken();

export class ApiError extends Error {
  constructor(status, error) {
    super(error.message ?? "The request has failed.");
    this.status = status;
    this.reason = error.reason ?? "unknown";
    this.position = error.position;
    this.expected = error.expected ?? [];
  }
}

/** The random name of this page. */
const page = [...crypto.getRandomValues(new Uint8Array(12))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
let turns = 0;

/** Arguments of a request that ends the older requests of its kind: their answers are not waited for any more. */
export const newTurn = () => ({ page, turn: turns += 1 });

async function send(method, name, query, body, signal, type) {
  // A space is sent as %20: not every server takes + for one.
  const fields = Object.entries(query ?? {})
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([key, value]) => encodeURIComponent(key) + "=" + encodeURIComponent(value));
  const address = new URL("api/" + name + (fields.length ? "?" + fields.join("&") : ""), document.baseURI);
  let response;
  try {
    const headers = { "X-Regnum-Token": token, ...(type && { "Content-Type": type }) };
    response = await fetch(address, { method, body, signal, headers, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { reason: "offline", message: "The studio does not answer: is `regnum studio` still running?" });
  }
  if (response.ok) return response;
  let error = {};
  try { error = (await response.json()).error ?? {}; } catch { /* the status says it */ }
  throw new ApiError(response.status, error);
}

/** Reads JSON. */
export const get = async (name, query, signal) => (await send("GET", name, query, undefined, signal)).json();

/** Sends JSON, reads JSON. */
export const post = async (name, body, query) => (await send("POST", name, query, JSON.stringify(body ?? {}), undefined, "application/json")).json();

/** Sends bytes, reads JSON. */
export const upload = async (name, query, bytes) => (await send("POST", name, query, bytes, undefined, "application/octet-stream")).json();

/** Reads bytes. */
export const blob = async (name, query, signal) => (await send("GET", name, query, undefined, signal)).blob();
