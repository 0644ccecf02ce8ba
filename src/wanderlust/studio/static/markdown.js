// Shows the Markdown of a report: headings, paragraphs, lists and tables. Everything becomes text, never HTML.

import { element } from "./dom.js";

export function markdownParts(text) {
  const lines = text.split("\n");
  const parts = [];
  for (let at = 0; at < lines.length;) {
    const count = (test) => { let n = 0; while (at + n < lines.length && test(lines[at + n])) n++; return n; };
    const heading = lines[at].match(/^(#{1,6})\s+(.*)/);
    const isTable = (line) => /^\s*\|/.test(line);
    const isItem = (line) => /^\s*[*-]\s+/.test(line);
    let used = 1;
    if (heading) parts.push(element("h3", {}, ...inlineParts(heading[2])));
    else if (isTable(lines[at])) parts.push(tableOf(lines.slice(at, at + (used = count(isTable)))));
    else if (isItem(lines[at])) parts.push(element("ul", {}, ...lines.slice(at, at + (used = count(isItem))).map((line) => element("li", {}, ...inlineParts(line.replace(/^\s*[*-]\s+/, ""))))));
    else if (lines[at].trim()) {
      used = count((line) => line.trim() && !isTable(line) && !isItem(line) && !line.startsWith("#"));
      parts.push(element("p", {}, ...inlineParts(lines.slice(at, at + used).join(" "))));
    }
    at += used;
  }
  return parts;
}

function tableOf(lines) {
  const rows = lines.map(cellsOf).filter((cells) => !cells.every((cell) => /^:?-+:?$/.test(cell)));
  const [head, ...body] = rows;
  const table = element("table", { class: "report" },
    element("thead", {}, element("tr", {}, ...head.map((cell) => element("th", { scope: "col" }, ...inlineParts(cell))))),
    element("tbody", {}, ...body.map((cells) => element("tr", {}, ...cells.map((cell) => element("td", { class: "wrap" }, ...inlineParts(cell)))))));
  return element("div", { class: "table-box", tabindex: "0", role: "region", "aria-label": "Table" }, table);
}

// The cells of a line; a bar after a backslash is part of a cell.
function cellsOf(line) {
  return line.trim().replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

// Bold text, emphasis and code; a link or a picture is shown by its words.
function inlineParts(text) {
  const plain = text.replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\\([\\`*_{}[\]()#+\-.!<>&~])/g, "$1").replace(/<br>/g, " ");
  return plain.split(/(\*\*[^*]+\*\*|\*[^*\s][^*]*\*|`[^`]+`)/).filter(Boolean).map((part) => {
    if (part.startsWith("**") && part.length > 4) return element("strong", {}, part.slice(2, -2));
    if (part.startsWith("*") && part.endsWith("*") && part.length > 2) return element("em", {}, part.slice(1, -1));
    if (part.startsWith("`") && part.length > 2) return element("code", {}, part.slice(1, -1));
    return part;
  });
}
