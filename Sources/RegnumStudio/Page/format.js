// SPDX-License-Identifier: Apache-2.0
// Numbers, sizes, dates and bytes as text for people.

const counts = new Intl.NumberFormat("en");

export const count = (number) => counts.format(number);

export const plural = (number, one, many = one + "s") => `${count(number)} ${number === 1 ? one : many}`;

/** A count in little room: 1,234 or 5.2 M. */
export function shortCount(number) {
  if (number < 100_000) return count(number);
  const [size, unit] = number < 1e6 ? [1e3, "k"] : number < 1e9 ? [1e6, "M"] : [1e9, "G"];
  return (number / size).toFixed(number / size < 100 ? 1 : 0) + " " + unit;
}

export function bytes(number) {
  let unit = 0;
  while (number >= 1024 && unit < 4) { number /= 1024; unit += 1; }
  return (unit === 0 ? number : number.toFixed(number < 10 ? 1 : 0)) + " " + ["bytes", "KB", "MB", "GB", "TB"][unit];
}

export function time(microseconds) {
  if (microseconds < 1000) return `${microseconds} µs`;
  if (microseconds < 1e6) return `${(microseconds / 1000).toFixed(microseconds < 10_000 ? 1 : 0)} ms`;
  return `${(microseconds / 1e6).toFixed(1)} s`;
}

/** A time in the zone of the reader; nothing if a calendar cannot show it. */
export function localDate(text) {
  const date = new Date(text);
  if (isNaN(date)) return "";
  return date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
}

/** The value of a date field of this zone; nothing if a calendar cannot show it. */
export function dateField(text) {
  const date = new Date(text);
  if (isNaN(date) || date.getFullYear() < 1 || date.getFullYear() > 9999) return "";
  const two = (number) => String(number).padStart(2, "0");
  return `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
    + `T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function decodeBase64(text) {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** Lines of 16 bytes: offset, hexadecimal digits, characters. */
export function hexLines(data) {
  const lines = [];
  for (let start = 0; start < data.length; start += 16) {
    const part = [...data.subarray(start, start + 16)];
    const digits = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(47);
    const characters = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${start.toString(16).padStart(6, "0")}  ${digits}  ${characters}`);
  }
  return lines.join("\n");
}

/** A field of text between tabs. As in spreadsheets, one with tabs, line ends or a first quotation mark is in such marks. */
export const field = (text) => (/^"|[\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
