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

async function send(method, name, query, body, signal) {
  // A space is sent as %20: not every server takes + for one.
  const fields = Object.entries(query ?? {})
    .filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([key, value]) => encodeURIComponent(key) + "=" + encodeURIComponent(value));
  const address = new URL("api/" + name + (fields.length ? "?" + fields.join("&") : ""), document.baseURI);
  let response;
  try {
    response = await fetch(address, { method, body, signal, headers: { "X-Regnum-Token": token }, cache: "no-store" });
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
export const post = async (name, body, query) => (await send("POST", name, query, JSON.stringify(body ?? {}))).json();

/** Sends bytes, reads JSON. */
export const upload = async (name, query, bytes) => (await send("POST", name, query, bytes)).json();

/** Reads bytes. */
export const blob = async (name, query, signal) => (await send("GET", name, query, undefined, signal)).blob();
