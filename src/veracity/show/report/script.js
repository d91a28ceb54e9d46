"use strict";

// Tables can be sorted by their headings and searched; without this script they can be read.

const number = (cell) => {
  const found = cell.textContent.replace(/,/g, "").match(/-?\d+(\.\d+)?(e[+-]?\d+)?/i);
  return found ? Number(found[0]) : null;
};

const compare = (a, b) => (typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b);

const sortBy = (table, heading, column) => {
  const isNumber = heading.classList.contains("n");
  const usual = isNumber ? "descending" : "ascending";
  const other = isNumber ? "ascending" : "descending";
  const order = heading.getAttribute("aria-sort") === usual ? other : usual;
  for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const keyed = Array.from(table.tBodies[0].rows, (row) => {
    const cell = row.cells[column];
    return { row, key: isNumber ? number(cell) : cell.textContent };
  });
  const isEmpty = (key) => key === null || key === "";
  keyed.sort((a, b) => isEmpty(a.key) - isEmpty(b.key) || (isEmpty(a.key) ? 0 : sign * compare(a.key, b.key)));
  table.tBodies[0].append(...keyed.map(({ row }) => row));
};

const makeSortable = (table) => {
  Array.from(table.tHead.rows[0].cells).forEach((heading, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...heading.childNodes);
    heading.append(button);
    button.addEventListener("click", () => sortBy(table, heading, column));
  });
};

const makeSearchable = (table, index) => {
  const box = document.createElement("div");
  const label = document.createElement("label");
  const input = document.createElement("input");
  const count = document.createElement("output");
  box.className = "search";
  input.type = "search";
  input.id = `search-${index}`;
  input.autocomplete = "off";
  label.htmlFor = input.id;
  count.htmlFor = input.id;
  label.textContent = `Search in “${table.parentElement.getAttribute("aria-label")}”`;
  box.append(label, input, count);
  table.parentElement.before(box);
  const rows = Array.from(table.tBodies[0].rows, (row) => ({ row, text: row.textContent.toLowerCase() }));
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let found = 0;
    for (const { row, text } of rows) {
      row.hidden = !text.includes(wanted);
      found += !row.hidden;
    }
    count.textContent = wanted ? `${found} of ${rows.length} rows` : "";
  });
};

document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
document.querySelectorAll("table[data-searchable]").forEach(makeSearchable);

// A link to an explanation opens it; print shows them all.
const openTarget = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
};
addEventListener("hashchange", openTarget);
openTarget();

let closed = [];
addEventListener("beforeprint", () => {
  closed = Array.from(document.querySelectorAll("details:not([open])"));
  for (const each of closed) each.open = true;
});
addEventListener("afterprint", () => {
  for (const each of closed) each.open = false;
});
