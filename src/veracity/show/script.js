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

const searchBox = (name, words) => {
  const box = document.createElement("div");
  const label = document.createElement("label");
  const input = document.createElement("input");
  const count = document.createElement("output");
  box.className = "search";
  input.type = "search";
  input.id = name;
  input.autocomplete = "off";
  label.htmlFor = input.id;
  count.htmlFor = input.id;
  label.textContent = words;
  box.append(label, input, count);
  return { box, input, count };
};

const makeSearchable = (table, index) => {
  const words = `Search in “${table.parentElement.getAttribute("aria-label")}”`;
  const { box, input, count } = searchBox(`search-${index}`, words);
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

// Items are looked up in chunks that are unpacked one after the other, until enough are found.

const MOST_FOUND = 50;
const FIRST_SHOWN = 8;

const unpack = async (script) => {
  const bytes = Uint8Array.from(atob(script.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
};

const element = (tag, words, ...children) => {
  const made = document.createElement(tag);
  made.append(words, ...children);
  return made;
};

const sayers = (numbers, all, sources) => {
  const named = numbers.map((number) => sources[number]);
  const others = all - named.length;
  if (others > 0 && named.length) named.push(others === 1 ? "1 other" : `${others} others`);
  return named.length ? named.join(", ") : String(all);
};

const shownItem = ([names, settled, sure, values, more], sources, measured) => {
  const title = element("summary", "", element("b", names.join(" · ")));
  if (settled !== null) title.append(`: ${settled}${sure ? ` (${sure})` : ""}`);
  const head = element("tr", "");
  for (const name of ["value", measured, "who says so"]) head.append(element("th", name));
  for (const cell of head.cells) cell.scope = "col";
  const body = element("tbody", "");
  for (const [value, measure, all, numbers] of values) {
    const first = element("th", value ?? "");
    first.scope = "row";
    body.append(element("tr", "", first, element("td", measure), element("td", sayers(numbers, all, sources))));
  }
  const caption = element("caption", "Who says what");
  const table = element("table", "", caption, element("thead", "", head), body);
  const region = element("div", "", table);
  region.className = "table";
  const shown = element("details", "", title, region);
  if (more) shown.append(element("p", more));
  return shown;
};

const makeLookup = (place) => {
  const { box, input, count } = searchBox("look-up", `Look up among the ${place.dataset.things}`);
  const list = document.createElement("div");
  const chunks = Array.from(document.querySelectorAll("script.lookup-items"));
  let sources = null;
  let latest = 0;
  const find = async (wanted, mine) => {
    sources ??= await unpack(document.querySelector("script.lookup-sources"));
    const found = [];
    for (const chunk of chunks) {
      if (mine !== latest || found.length > MOST_FOUND) break;
      for (const item of await unpack(chunk)) {
        if (found.length <= MOST_FOUND && item[0].join(" ").toLowerCase().includes(wanted)) found.push(item);
      }
    }
    return found;
  };
  const show = async () => {
    const wanted = input.value.trim().toLowerCase();
    const mine = ++latest;
    count.textContent = "looking …";
    const found = await find(wanted, mine);
    if (mine !== latest) return;
    const some = found.slice(0, wanted ? MOST_FOUND : FIRST_SHOWN);
    list.replaceChildren(...some.map((item) => shownItem(item, sources, place.dataset.measure)));
    if (wanted && some.length === 1) list.firstChild.open = true;
    const all = found.length > MOST_FOUND ? `the first ${MOST_FOUND} are shown; type more` : `${some.length} found`;
    const first = `the first ${some.length} of ${place.dataset.count}`;
    count.textContent = !wanted ? first : some.length ? all : "none has this name";
  };
  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 150);
  });
  place.append(box, list);
  show();
};

if (window.DecompressionStream) document.querySelectorAll("#looked-up").forEach(makeLookup);

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
