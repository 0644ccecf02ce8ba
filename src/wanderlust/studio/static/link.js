// The setup as part of an address, and what is kept over a reload.

const KEY = "wanderlust-studio";

/** @param {unknown} value */
export function encodeLink(value) {
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** @param {string} text @returns {any} */
export function decodeLink(text) {
  try {
    const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(plain, (c) => c.charCodeAt(0))));
  } catch {
    return null;
  }
}

export function readLink() {
  const match = location.hash.match(/^#s=([\w-]+)$/);
  return match ? decodeLink(match[1]) : null;
}

/** @param {unknown} value */
export function makeLink(value) {
  return `${location.origin}${location.pathname}#s=${encodeLink(value)}`;
}

/** @param {unknown} value */
export function writeAddress(value) {
  history.replaceState(null, "", `${location.pathname}#s=${encodeLink(value)}`);
}

// Storage may be forbidden; the page works without it.
/** @typedef {"localStorage" | "sessionStorage"} Kept */
/** @param {Kept} storage @param {unknown} value */
export function keep(storage, value) {
  try {
    globalThis[storage].setItem(KEY, JSON.stringify(value));
  } catch { /* not kept */ }
}

/** @param {Kept} storage @returns {any} */
export function kept(storage) {
  try {
    return JSON.parse(globalThis[storage].getItem(KEY) ?? "null") ?? {};
  } catch {
    return {};
  }
}
