"use strict";

/* Small helpers. Text reaches the page as text nodes only: nothing here parses markup. */

const SVG = "http://www.w3.org/2000/svg";

/** An element. Of the attributes, `on` holds listeners and `css` custom properties; children are nodes or texts. */
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, { on = {}, css = {}, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  for (const [name, listener] of Object.entries(on)) element.addEventListener(name, listener);
  for (const [name, value] of Object.entries(css)) element.style.setProperty(name, value);
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Names, each with what it means; those without a meaning are left out. */
const legendOf = (meanings) =>
  el(
    "dl",
    { class: "legend names" },
    Object.entries(meanings)
      .filter(([, told]) => told)
      .map(([name, told]) => [el("dt", {}, name), el("dd", {}, told)]),
  );

/** A text of unknown direction, kept apart from what stands around it. */
const bdi = (text) => el("bdi", { dir: "auto" }, visible(text));

/** Controls that turn the direction of writing are shown, not obeyed. */
const visible = (text) =>
  String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");

const setText = (element, text) => {
  if (element.textContent !== text) element.textContent = text;
};

const whole = (n) => Math.round(n).toLocaleString("en");
const percent = (share, places = 0) =>
  share === null || share === undefined ? "–" : `${fixed(share * 100, places)}%`;
const plural = (n, word) => `${whole(n)} ${word}${n === 1 ? "" : "s"}`;

/* Numbers are shown as in the terminal (report/figures.py): halves go away from zero, and what is rounded is the decimal
 * value to nine digits. */

const minus = (text) => text.replace(/^-/, "−");

/** The power of ten of the first digit of a number. */
const powerOf = (x) => Number(x.toExponential(8).split("e")[1]);

/** A number rounded to so many places behind the point. */
function rounded(x, places) {
  const [digits, power] = Math.abs(x).toExponential(8).split("e");
  return Math.sign(x) * Number(`${Math.round(Number(`${digits}e${Number(power) + places}`))}e${-places}`);
}

/** A number with so many places behind the point. */
const fixed = (x, places) => minus(rounded(x, places).toFixed(places));

/** The same with a plus before what is more than 0. */
const signed = (x, places = 2) => (rounded(x, places) > 0 ? "+" : "") + fixed(x, places);

/** A number with three digits that count, the whole part always in full. */
function number(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size < 0.001 || size >= 1e6) return minus(rounded(x, 1 - powerOf(x)).toExponential(1).replace("e+", "e"));
  const shown = rounded(x, Math.max(0, 2 - powerOf(x)));
  const places = Math.max(0, 2 - powerOf(shown)); // 9.996 has become 10.00: a digit less
  return minus(shown.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places }));
}

/** The power of a thousand in which the greatest of some numbers is at least 1, and at most 0. */
function unitOf(values) {
  const most = Math.max(...values.map(Math.abs), 0);
  return most > 0 && most < 0.1 ? 3 * Math.floor(Math.log10(most) / 3) : 0;
}

const inUnit = (x, unit) => number(x === null || x === undefined ? x : x / 10 ** unit);

function clock(seconds) {
  const s = Math.round(seconds);
  const two = (n) => String(n).padStart(2, "0");
  return s >= 3600
    ? `${Math.floor(s / 3600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`
    : `${Math.floor(s / 60)}:${two(s % 60)}`;
}

/** Links that save rows as JSON and as CSV; the rows are made when a link is clicked. */
function downloads(name, rows) {
  const save = (type, write) => (event) => {
    const url = URL.createObjectURL(new Blob([write(rows())], { type }));
    event.currentTarget.href = url;
    setTimeout(() => URL.revokeObjectURL(url), 60000);
  };
  const link = (ending, type, write) =>
    el(
      "a",
      {
        href: "#",
        class: "download",
        download: `${name}.${ending}`,
        "aria-label": `This view as ${ending.toUpperCase()}`,
        on: { click: save(type, write) },
      },
      ending.toUpperCase(),
    );
  return el(
    "span",
    { class: "downloads" },
    link("json", "application/json", (all) => JSON.stringify(all, null, 2)),
    link("csv", "text/csv", csv),
  );
}

/** Comma-separated values; a text that a spreadsheet would run as a formula has an apostrophe before it. */
function csv(rows) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const cell = (value) => {
    const text =
      value === null || value === undefined
        ? ""
        : typeof value === "string" && /^[=+\-@\t\r\n＝＋－＠]/.test(value)
          ? `'${value}`
          : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return (
    [names, ...rows.map((row) => names.map((name) => row[name]))].map((line) => line.map(cell).join(",")).join("\n") +
    "\n"
  );
}

/** A text with some of its spans as elements; `make` gets the span and its text. */
function marked(text, spans, make) {
  const pieces = [];
  let done = 0;
  for (const span of spans) {
    if (span.start < done) continue;
    pieces.push(visible(text.slice(done, span.start)), make(span, visible(text.slice(span.start, span.end))));
    done = span.end;
  }
  return [...pieces, visible(text.slice(done))];
}

function select(label, value, options, change) {
  const control = el(
    "select",
    { on: { change: (event) => change(event.target.value) } },
    options.map(([key, text, title]) => el("option", { value: key, selected: key === value, title }, text)),
  );
  return el("label", { class: "field" }, el("span", {}, label), control);
}

function debounced(milliseconds, action) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), milliseconds);
  };
}

const say = (text) => setText(document.getElementById("status"), text);
