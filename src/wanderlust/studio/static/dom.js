// Small helpers for elements. All text is set as text, never as HTML.

/** @param {string} id @returns {any} An element of the page; its kind is known where it is used. */
export function $(id) {
  return document.getElementById(id);
}

/** @param {string} tag @param {Record<string, any>} attributes @param {...any} children @returns {any} */
export function element(tag, attributes = {}, ...children) {
  /** @type {any} */
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** @typedef {{value: string, label: string}} Option */
/** @param {HTMLSelectElement} select @param {{value?: string, label: string, options?: Option[]}[]} options @param {string} [value] */
export function fillSelect(select, options, value) {
  const made = (/** @type {{value?: string, label: string}} */ option) => element("option", { value: option.value }, option.label);
  select.replaceChildren(...options.map((option) => (option.options ? element("optgroup", { label: option.label }, ...option.options.map(made)) : made(option))));
  if (value !== undefined) select.value = value;
}

// What follows γ_ and r_ is a subscript.
const SUBSCRIPT = /(?<=[γr])_(w|max)\b/;

/** @param {string} text @returns {(string | HTMLElement)[]} */
export function typeset(text) {
  return text.split(SUBSCRIPT).map((part, i) => (i % 2 ? element("sub", {}, part) : part));
}

/** @param {Element} node @param {string} text */
export function setText(node, text) {
  if (node.textContent !== text.split(SUBSCRIPT).join("")) node.replaceChildren(...typeset(text));
}

/** @param {string} name @param {Blob | string} data @param {string} [type] */
export function download(name, data, type) {
  const url = URL.createObjectURL(data instanceof Blob ? data : new Blob([data], { type }));
  element("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** @param {(...values: any[]) => void} action @param {number} milliseconds @returns {(...values: any[]) => void} */
export function debounce(action, milliseconds) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
}

// Calls the action at most once in a time, with the latest values.
/** @param {(...values: any[]) => void} action @param {number} milliseconds @returns {(...values: any[]) => void} */
export function throttle(action, milliseconds) {
  /** @type {any[] | null} */
  let latest = null;
  return (...values) => {
    if (latest === null) setTimeout(() => { const given = latest ?? []; latest = null; action(...given); }, milliseconds);
    latest = values;
  };
}
