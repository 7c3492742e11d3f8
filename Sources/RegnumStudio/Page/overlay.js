// SPDX-License-Identifier: Apache-2.0
// Dialogs, menus and short messages.

import { h, byId, put, iconButton } from "./dom.js";

/** Shows a message for a while. */
export function toast(text, { isError = false, action } = {}) {
  const element = h("div", { class: isError ? "toast error" : "toast" }, h("span", { text }),
    action && h("button", { type: "button", text: action.label, onclick: () => { element.remove(); action.run(); } }),
    iconButton("close", "Close", () => element.remove()));
  byId("toasts").append(element);
  setTimeout(() => element.remove(), isError ? 12_000 : 5_000);
}

/** Shows an error, unless this page itself has given the request up. */
export const complain = (error) => {
  if (error.name !== "AbortError" && error.reason !== "superseded") toast(error.message, { isError: true });
};

/** A dialog; `buttons` are made of {label, run, isPrimary, isDanger}. `run` keeps it open by returning false. */
export function dialog(title, content, buttons = []) {
  const status = h("p", { class: "problem", role: "alert", hidden: true });
  const element = h("dialog", { class: "sheet", "aria-label": title });
  const close = () => { element.close(); };
  const row = buttons.map((button) => h("button", {
    type: "button", text: button.label, class: button.isDanger ? "danger" : button.isPrimary ? "primary" : "",
    onclick: async (event) => {
      const target = event.currentTarget;
      target.disabled = true;
      status.hidden = true;
      try { if ((await button.run?.()) !== false) close(); } catch (error) {
        status.hidden = false;
        status.textContent = error.message;
      }
      target.disabled = false;
    },
  }));
  put(element,
    h("header", {}, h("h2", { text: title }), iconButton("close", "Close", close)),
    h("div", { class: "sheet-body" }, content, status),
    row.length > 0 && h("footer", {}, row));
  element.addEventListener("close", () => element.remove());
  // A click beside the dialog closes it, but not the end of a selection that began within it.
  let pressed = null;
  element.addEventListener("pointerdown", (event) => { pressed = event.target; });
  element.addEventListener("click", (event) => { if (event.target === element && pressed === element) close(); });
  document.body.append(element);
  element.showModal();
  return { element, close };
}

/** A menu below a button. `items` are elements. */
export function menu(button, label, items) {
  const open = document.querySelector(".menu");
  if (open) {
    const isOwn = open.owner === button;
    open.remove();
    if (isOwn) return;
  }
  const element = h("div", { class: "menu", role: "dialog", "aria-label": label }, items);
  element.owner = button;
  document.body.append(element);
  const box = button.getBoundingClientRect();
  const width = element.offsetWidth;
  element.style.setProperty("top", `${box.bottom + 4}px`);
  element.style.setProperty("left", `${Math.max(8, Math.min(box.left, innerWidth - width - 8))}px`);
  element.querySelector("button, input")?.focus();
  const close = (event) => {
    if (event.type === "keydown" && event.key !== "Escape" && element.isConnected) return;
    if (event.type === "pointerdown" && (element.contains(event.target) || button.contains(event.target))) return;
    const isOpen = element.isConnected;
    element.remove();
    document.removeEventListener("pointerdown", close, true);
    document.removeEventListener("keydown", close, true);
    // A menu that its own item has closed has no more say.
    if (!isOpen) return;
    if (event.type === "keydown") { event.stopPropagation(); button.focus(); }
  };
  document.addEventListener("pointerdown", close, true);
  document.addEventListener("keydown", close, true);
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied ${what}`);
  } catch { toast("The browser does not allow to copy.", { isError: true }); }
}
