"use strict";

/* The ranked bars of each label, two labels face to face: drivers, the other terms, what speaks against it.
 * While a run goes on rows are moved, never made anew. */

const rowsOf = new Map(); // of each list: the terms in the order of their rows, for keepRows
const firstRanks = new Map(); // of each list: the ranks some seconds ago, for the arrows
const MOVES_SECONDS = 8;

function wordsView(main) {
  const k = shownTerms();
  const isOdd = explained().length > 2 && explained().length % 2 === 1; // then there is room beside the last label
  main.replaceChildren(
    wordsTools(k),
    el("p", { class: "lead quiet" }, whatIsListed()),
    el(
      "div",
      { class: explained().length === 2 ? "facing" : "panels", id: "panels" },
      explained().map((label, i) => panel(label, i === 0 && explained().length === 2)),
      isOdd ? legend() : null,
    ),
    ...(isOdd ? [] : [legend()]),
  );
  updateWords();
}

/** In a sentence or two what the lists are, once there are terms. */
function whatIsListed() {
  const { help } = aggregationNamed(aggregation()) ?? {};
  const { graded, help: effect } = page.data.about.score;
  if (!help || !hasRows()) return "";
  const isOfEffects = graded && aggregationNamed(aggregation()).sum;
  return `Terms by their score, ${help}.${isOfEffects ? ` An effect: ${effect}.` : ""} Choose a term to see what it does in documents.`;
}

const shownTerms = () => Math.max(1, Math.min(200, Number(state().k) || settings().top_k));

const allLists = () =>
  new Map(explained().map(({ number }) => [number, viewed(listsOf(aggregation(), number, shownTerms()))]));
const rowsIn = (lists) => PARTS.flatMap((part) => lists[part]);

const hasRows = () => [...allLists().values()].some((list) => rowsIn(list).length > 0);

const FAR_APART = 5;

/** Whether each label has a scale of its own: as the address says, or else where one scale would make the bars of a
 * label a fifth of another's, or less. */
function hasOwnScales(lists) {
  const { scale } = state();
  if (scale) return scale === "own";
  const longest = [...lists.values()]
    .map((list) => Math.max(0, ...rowsIn(list).map((entry) => Math.abs(entry.score))))
    .filter((score) => score > 0);
  return longest.length > 1 && Math.max(...longest) > FAR_APART * Math.min(...longest);
}

function wordsTools(k) {
  return el(
    "div",
    { class: "tools" },
    rankedBy(),
    el(
      "label",
      { class: "field" },
      el("span", {}, "Terms"),
      el("input", {
        type: "number",
        min: 1,
        max: 200,
        value: k,
        on: { change: (event) => adjust({ k: event.target.value }) },
      }),
    ),
    select(
      "Function words",
      state().hide ? "hidden" : "shown",
      [
        ["shown", "shown"],
        ["hidden", "hidden"],
      ],
      (how) => adjust({ hide: how === "hidden" ? 1 : null }),
    ),
    select(
      "Scale",
      hasOwnScales(allLists()) ? "own" : "same",
      [
        ["same", "the same"],
        ["own", "each its own"],
      ],
      (scale) => adjust({ scale }),
    ),
    el("span", { class: "grow" }),
    downloads("words", () =>
      explained().flatMap(({ name, number }) => {
        const lists = listsOf(aggregation(), number, shownTerms());
        return PARTS.flatMap((part) => lists[part].map((entry) => ({ label: name, list: part, ...entry })));
      }),
    ),
  );
}

const NAMES_OF_NO_LIST = ["effect", "driver", "settled", "limits"];

/** What each number is, by its name: no more than what there is. */
function legend() {
  const names = { ...page.data.about.names, ...(aggregation() === settings().aggregation ? {} : otherNames()) };
  const isBare = !isRunning() && !hasRows();
  const named = Object.entries(names).filter(([name, told]) => told && (!isBare || NAMES_OF_NO_LIST.includes(name)));
  return el(
    "dl",
    { class: "legend names" },
    named.map(([name, told]) => {
      const counts = name === countsName() ? "of-counts" : null; // goes where the column goes
      return [el("dt", { class: counts }, name), el("dd", { class: counts }, name === "member" ? told + ofTheRun() : told)];
    }),
    el("dt", { id: "scaled" }),
    el("dd", { id: "scales" }),
  );
}

/** What is otherwise under another aggregation than the run's own; null for what its lists have not. */
function otherNames() {
  const { help, driver } = aggregationNamed(aggregation()) ?? {};
  const rows = [...allLists().values()].flatMap(rowsIn);
  const lacks = (isThere, names) => (isThere ? {} : Object.fromEntries(names.map((name) => [name, null])));
  return {
    ...(help ? { score: help } : {}),
    ...lacks(rows.some(isOpen), ["interval"]),
    ...lacks(rows.some((entry) => typeof entry.membership === "number"), ["member", "regret"]),
    driver: rows.some((entry) => entry.driver) ? driver : null,
    settled: null,
  };
}

/** Memberships are of the run's own list, however many terms are looked at. */
const ofTheRun = () =>
  shownTerms() === settings().top_k ? "" : `: the list that the run was made for; ${shownTerms()} are looked at here`;

function panel(label, mirrored) {
  const list = (part) => el("ol", { class: `rows ${part}`, on: { keydown: walk } });
  const { names } = page.data.about;
  return el(
    "section",
    {
      class: `panel ${colour(label.number)} ${otherColour(label.number)}${mirrored ? " mirrored" : ""}`,
      "data-label": label.number,
      "aria-label": `Terms for ${label.name}`,
    },
    el(
      "header",
      {},
      el("h2", {}, el("a", { href: address("table", { label: label.name, by: state().by }) }, bdi(label.name))),
      el("p", { class: "standing" }),
    ),
    el("p", { class: "note", hidden: true }),
    el(
      "p",
      { class: "row heads", "aria-hidden": "true" },
      el("span", { class: "rank", title: valueAt(names, "#") }, "# by score"),
      el("span", {}),
      el("span", { class: "score", title: valueAt(names, "score") }),
      el("span", { class: "member", title: valueAt(names, "member") }),
      el("span", { class: "counts", title: valueAt(names, countsName()) }, countsName()),
    ),
    list("drivers"),
    el("p", { class: "divider to-below", title: valueAt(names, "driver"), hidden: true }),
    list("below"),
    el("p", { class: "divider to-against", hidden: true }, "against ", bdi(label.name)),
    list("against"),
    el("p", { class: "hiding quiet", hidden: true }),
    el("p", { class: "empty", hidden: true }),
  );
}

/** Bring the panels up to date. */
function updateWords() {
  const lists = allLists();
  const isOwn = hasOwnScales(lists);
  const all = [...lists.values()].flatMap(rowsIn);
  const [shared, units] = [widest(all), unitOf(all.map((entry) => entry.score))];
  const hasWhiskers = all.some(isOpen);
  const told = [
    hasWhiskers ? "score and interval; a whisker without an end goes on, beyond 0 or beyond the scale" : "score",
    isOwn ? "each label has its own scale" : "",
    all.some((entry) => entry.score < 0) ? "bars from the far edge: lowers the label" : "",
  ];
  for (const id of ["scaled", "scales"]) document.getElementById(id).hidden = !all.length;
  setText(document.getElementById("scaled"), hasWhiskers ? "bar, whiskers" : "bar");
  setText(document.getElementById("scales"), told.filter(Boolean).join("; "));
  const longest = Math.max(0, ...all.map((entry) => [...entry.written].length));
  for (const section of document.querySelectorAll(".panel")) {
    const label = Number(section.dataset.label);
    const list = lists.get(label);
    if (!list) continue;
    const rows = rowsIn(list);
    const unit = isOwn ? unitOf(rows.map((entry) => entry.score)) : units;
    section.classList.toggle("still", !isRunning());
    section.style.setProperty("--longest", Math.max(6, Math.min(17, longest)));
    updateHeads(section, label, list, rows, unit);
    for (const part of PARTS) {
      const container = section.querySelector(`.rows.${part}`);
      updateRows(container, part, list[part], label, isOwn ? widest(rows) : shared, unit);
      const divider = section.querySelector(`.divider.to-${part}`);
      if (part === "below") setText(divider, list.line);
      if (divider) divider.hidden = !list[part].length || !divider.textContent;
    }
  }
}

/** What stands around the rows of a label: where it stands, its note, the names of the columns, what is hidden. */
function updateHeads(section, label, list, rows, unit) {
  const put = (selector, text) => {
    const place = section.querySelector(selector);
    place.hidden = !text;
    setText(place, text ?? "");
  };
  setText(section.querySelector(".standing"), standingText(label, list.isList));
  put(".note", list.note);
  put(".hiding", list.hidden);
  const nothing = page.data.terms || page.live?.snapshot ? "No such term." : "The first terms come in a moment.";
  put(".empty", rows.length || list.note || list.hidden ? "" : nothing);
  const heads = section.querySelector(".heads");
  setText(heads.querySelector(".score"), unit ? `score ×10${superscript(unit)}` : "score");
  setText(heads.querySelector(".member"), rows.some((entry) => typeof entry.membership === "number") ? "member" : "");
  heads.hidden = !rows.length;
  const first = PARTS.find((part) => list[part].length) ?? "drivers";
  section.querySelector(`.rows.${first}`).before(heads); // right above the first row
}

/** Documents, robust ones, and how sure the list is, if there is one: of another aggregation than the run's own, its regret
 * alone. */
function standingText(number, isList) {
  const label = page.data.about.labels[number];
  const isOwn = aggregation() === settings().aggregation;
  const regret = isOwn ? label.regret : standingOf(aggregation(), number)?.regret;
  if (!label.asked) return page.data.terms ? "no document that was asked about" : ""; // so nothing that could be sure
  const documents = plural(label.documents, "document");
  const within = label.documents_range ? `${label.documents_range.map(whole).join("…")}; ` : "";
  const said = [label.asked < label.documents ? `≈ ${documents} (${within}asked: ${whole(label.asked)})` : documents];
  if (label.robust !== null && label.robust_of) said.push(robustText(label));
  if (isList && typeof regret === "number") said.push(`regret ${regret > 1 ? "over 100%" : percent(Math.max(0, regret), 1)}`);
  if (isOwn) said.push(howSettled(label));
  if (isOwn && label.measured_again) said.push(`${plural(label.measured_again, "document")} measured again`);
  return said.join(" · ");
}

function howSettled({ settled, spent, asked, documents }) {
  if (settled || !spent) return settled ? "settled" : "not settled";
  return asked < documents ? "all tested that was drawn, not settled" : "all tested, the noise of measuring remains";
}

function robustText({ documents, robust, robust_of: tested }) {
  const counts = `${whole(robust)} of ${whole(documents)}`;
  return tested < documents ? `robust ≈ ${counts} (tested: ${whole(tested)})` : `robust ${counts}`;
}

/** The end of the scale: the farthest whisker, unless it is far behind the longest bar. */
function widest(list) {
  const bar = Math.max(...list.map((entry) => Math.abs(entry.score)), 1e-12);
  return Math.min(Math.max(bar, ...list.map((entry) => Math.max(...ends(entry).map(Math.abs)))), 2 * bar);
}

const ends = (entry) => [entry.low ?? 0, entry.high ?? 0];
const isRunning = () => Boolean(page.live && !page.live.done);
const superscript = (n) => [...String(n)].map((sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "⁻").join("");

function updateRows(container, part, list, label, scale, unit) {
  const key = `${label} ${aggregation()} ${part}`;
  const ordered = isRunning() ? inPlace(part, rowsOf.get(key) ?? [], list) : list;
  rowsOf.set(
    key,
    ordered.map((entry) => entry.term),
  );
  const moves = rankMoves(key, list);
  const present = new Map([...container.children].map((row) => [row.dataset.term, row]));
  const before = new Map([...present].map(([term, row]) => [term, row.offsetTop]));
  const rows = ordered.map((entry) => {
    const row = present.get(entry.term) ?? emptyRow(entry);
    present.delete(entry.term);
    updateRow(row, entry, part, label, scale, unit, moves.get(entry.term));
    return row;
  });
  for (const gone of present.values()) gone.remove();
  rows.forEach((row, i) => {
    if (container.children[i] !== row) container.insertBefore(row, container.children[i] ?? null);
  });
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches)
    for (const row of rows) glide(row, before.get(row.dataset.term));
}

/** A list with its rows kept in place where that is not surely wrong; against a label, the least score is the best. */
function inPlace(part, previous, list) {
  if (part !== "against") return keepRows(previous, list);
  const negated = (end) => (end === null ? null : -end);
  const mirrored = list.map((entry) => ({
    ...entry,
    score: -entry.score,
    low: negated(entry.high),
    high: negated(entry.low),
  }));
  const entryOf = new Map(list.map((entry) => [entry.term, entry]));
  return keepRows(previous, mirrored).map((entry) => entryOf.get(entry.term));
}

function emptyRow({ term, written }) {
  return el(
    "li",
    { class: "row", "data-term": term },
    el("span", { class: "rank" }),
    el("span", { class: "move" }),
    el("a", { class: "term", href: "#" }, bdi(written)),
    el(
      "span",
      { class: "track", "aria-hidden": "true" },
      el("span", { class: "bar" }),
      el("span", { class: "whisker" }),
    ),
    el("span", { class: "score" }),
    el("span", { class: "member" }),
    el("span", { class: "counts" }),
  );
}

const countsName = () => (page.data.about.score.anchors ? "anchors/tested" : "tested/of");
const countsOf = ({ anchors, tested, occurrences }) =>
  anchors === null ? `${whole(tested)}/${whole(occurrences)}` : `${whole(anchors)}/${whole(tested)}`;

function updateRow(row, entry, part, label, scale, unit, move) {
  const name = page.data.about.labels[label].name;
  const piece = (selector) => row.querySelector(selector);
  const share = (value) => `${Math.max(0, Math.min(1, value / scale)) * 100}%`;
  const sign = part === "against" ? -1 : 1;
  setText(piece(".rank"), String(entry.rank));
  setText(piece(".score"), inUnit(entry.score, unit));
  setText(piece(".member"), typeof entry.membership === "number" && sign > 0 ? percent(entry.membership) : "");
  setText(piece(".counts"), countsOf(entry));
  const arrow = piece(".move");
  arrow.className = `move ${move === undefined ? "" : move === null ? "new" : move > 0 ? "up" : "down"}`;
  setText(arrow, move === undefined ? "" : move === null ? "new" : `${move > 0 ? "▲" : "▼"}${Math.abs(move)}`);
  piece(".bar").style.setProperty("width", share(sign * entry.score));
  const whisker = piece(".whisker");
  const [low, high] = ends(entry).map((end) => sign * end);
  whisker.hidden = !isOpen(entry);
  whisker.classList.toggle("below-zero", Math.min(low, high) < 0);
  whisker.classList.toggle("beyond-scale", Math.max(low, high) > scale);
  whisker.style.setProperty("--low", share(Math.min(low, high)));
  whisker.style.setProperty("--high", share(Math.max(low, high)));
  const link = piece(".term");
  link.setAttribute("href", termAddress(name, entry.term));
  const told = [
    `score ${number(entry.score)}${isOpen(entry) ? `, interval ${number(entry.low)} to ${number(entry.high)}` : ""}`,
    `tested in ${whole(entry.tested)} of ${holders(entry.occurrences)}`,
    entry.anchors === null ? "" : `an anchor in ${whole(entry.anchors)}`,
  ];
  link.title = told.filter(Boolean).join("; ");
  link.setAttribute("aria-label", `${entry.rank}. ${visible(entry.written)}: ${link.title}`);
}

/** Ranks risen within the last seconds: a number, null for a term that is new, undefined for no change. */
function rankMoves(key, list) {
  if (!isRunning()) return new Map();
  const now = performance.now() / 1000;
  const past = firstRanks.get(key) ?? [];
  past.push({ time: now, ranks: new Map(list.map((entry) => [entry.term, entry.rank])) });
  while (past.length > 1 && past[1].time <= now - MOVES_SECONDS) past.shift();
  firstRanks.set(key, past);
  const first = past[0].ranks;
  return new Map(
    list.map(({ term, rank }) => {
      const move = first.has(term) ? first.get(term) - rank : null;
      return [term, move === 0 ? undefined : move];
    }),
  );
}

function glide(row, top) {
  const way = top === undefined ? 0 : top - row.offsetTop;
  if (way)
    row.animate([{ transform: `translateY(${way}px)` }, { transform: "none" }], { duration: 350, easing: "ease-out" });
}

/** Arrow keys go from term to term, and across to the other label. */
function walk(event) {
  const panel = event.currentTarget.closest(".panel");
  const links = [...panel.querySelectorAll(".term")];
  const at = links.indexOf(event.target);
  if (at < 0) return;
  const panels = [...document.querySelectorAll(".panel")];
  const other = (step) => panels[panels.indexOf(panel) + step]?.querySelectorAll(".term")[at];
  const goal = { ArrowDown: links[at + 1], ArrowUp: links[at - 1], ArrowRight: other(1), ArrowLeft: other(-1) }[
    event.key
  ];
  if (!goal) return;
  event.preventDefault();
  goal.focus();
}
