"use strict";

/* The ranked bars of each class, two classes face to face. While a run goes on rows are moved, never made anew. */

const rowsOf = new Map(); // of each list: the terms in the order of their rows, for keepRows
const firstRanks = new Map(); // of each list: the ranks some seconds ago, for the arrows
const MOVES_SECONDS = 8;

function wordsView(main) {
  const { against, scale } = state();
  const k = shownTerms();
  main.replaceChildren(
    wordsTools(k),
    el(
      "div",
      { class: explained().length === 2 ? "facing" : "panels", id: "panels" },
      explained().map((label, i) => panel(label, i === 0 && explained().length === 2)),
    ),
    el("p", { class: "legend" }, legend(against, scale)),
  );
  updateWords();
}

const shownTerms = () => Math.max(1, Math.min(200, Number(state().k) || settings().top_k));

function wordsTools(k) {
  const { against } = state();
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
      "Words that push",
      against ? "against" : "for",
      [
        ["for", "for the class"],
        ["against", "against it"],
      ],
      (way) => adjust({ against: way === "against" ? 1 : null }),
    ),
    select(
      "Scale",
      state().scale ?? "same",
      [
        ["same", "the same"],
        ["own", "each its own"],
      ],
      (scale) => adjust({ scale: scale === "own" ? scale : null }),
    ),
    el("span", { class: "grow" }),
    downloads("words", () =>
      explained().flatMap((label) => currentList(label.number).map((entry) => ({ label: label.name, ...entry }))),
    ),
  );
}

function legend(against, scale) {
  const level = page.data.about.interval_level;
  const { help } = aggregationNamed(aggregation()) ?? { help: "a score of their own" };
  return [
    `Words by ${help}. `,
    against
      ? "These words lower the probability of the class where they stand. "
      : level < 1
        ? `Whiskers: where the final score is with ${percent(level)} probability; “sure”: the probability of being among the top ${settings().top_k}. `
        : "Whiskers: what the score can still become. ",
    scale === "own" ? "Each class has its own scale." : "",
  ];
}

function panel(label, mirrored) {
  const heading = el(
    "h2",
    {},
    el("a", { href: address("table", { label: label.name, by: state().by }) }, bdi(label.name)),
  );
  return el(
    "section",
    {
      class: `panel ${colour(label.number)}${mirrored ? " mirrored" : ""}`,
      "data-label": label.number,
      "aria-label": `Words for ${label.name}`,
    },
    el("header", {}, heading, el("p", { class: "standing" })),
    el(
      "p",
      { class: "row heads", "aria-hidden": "true" },
      el("span", { class: "rank" }, "#"),
      el("span", { class: "move" }),
      el("span", {}),
      el("span", {}),
      el("span", { class: "score" }),
      el("span", { class: "sure" }),
    ),
    el("ol", { class: "rows", on: { keydown: walk } }),
    el("p", { class: "empty", hidden: true }),
  );
}

function currentList(label) {
  const k = shownTerms();
  if (!state().against) return topEntries(aggregation(), label, k);
  return entries(aggregation(), label, { against: true })
    .slice(0, k)
    .filter((entry) => !aggregationNamed(aggregation())?.graded || entry.score < 0);
}

/** Bring the panels up to date. */
function updateWords() {
  const lists = new Map(explained().map((label) => [label.number, currentList(label.number)]));
  const all = [...lists.values()].flat();
  const [shared, units] = [widest(all), unitOf(all.map((entry) => entry.score))];
  const longest = Math.max(0, ...all.map((entry) => [...entry.term].length));
  for (const section of document.querySelectorAll(".panel")) {
    const label = Number(section.dataset.label);
    const list = lists.get(label);
    if (!list) continue;
    setText(section.querySelector(".standing"), standingText(label));
    const empty = section.querySelector(".empty");
    empty.hidden = list.length > 0;
    setText(empty, page.data.terms || page.live?.snapshot ? "No such word." : "The first words come in a moment.");
    const unit = state().scale === "own" ? unitOf(list.map((entry) => entry.score)) : units;
    const heads = section.querySelector(".heads");
    setText(heads.querySelector(".score"), unit ? `score ×10${superscript(unit)}` : "score");
    setText(heads.querySelector(".sure"), list.some((entry) => typeof entry.membership === "number") ? "sure" : "");
    heads.hidden = !list.length;
    section.classList.toggle("still", !isRunning());
    section.style.setProperty("--longest", Math.max(6, Math.min(17, longest)));
    updateRows(section.querySelector(".rows"), list, label, state().scale === "own" ? widest(list) : shared, unit);
  }
}

/** Documents, robust ones, and how sure the list is: of another aggregation than the run's own, its regret alone. */
function standingText(number) {
  const label = page.data.about.labels[number];
  const own = aggregation() === settings().aggregation;
  const regret = own ? label.regret : valueAt(page.data.standings, aggregation())?.[number]?.regret;
  const said = [plural(label.documents, "document")];
  if (label.robust) said.push(`${whole(label.robust)} robust`);
  if (typeof regret === "number" && !state().against) said.push(`regret ${(Math.max(0, regret) * 100).toFixed(1)}%`);
  if (own && !state().against) said.push(label.settled ? "settled" : "not settled");
  return said.join(" · ");
}

/** The end of the scale: the farthest whisker, unless it is far behind the longest bar. */
function widest(list) {
  const bar = Math.max(...list.map((entry) => Math.abs(entry.score)), 1e-12);
  return Math.min(Math.max(bar, ...list.map((entry) => Math.abs(entry.high ?? 0))), 2 * bar);
}

const isRunning = () => Boolean(page.live && !page.live.done);
const superscript = (n) => [...String(n)].map((sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "⁻").join("");

function updateRows(container, list, label, scale, unit) {
  const key = `${label} ${aggregation()} ${state().against ?? ""}`;
  const ordered = isRunning() ? keepRows(rowsOf.get(key) ?? [], list) : list;
  rowsOf.set(
    key,
    ordered.map((entry) => entry.term),
  );
  const moves = rankMoves(key, list);
  const present = new Map([...container.children].map((row) => [row.dataset.term, row]));
  const before = new Map([...present].map(([term, row]) => [term, row.offsetTop]));
  const rows = ordered.map((entry) => {
    const row = present.get(entry.term) ?? emptyRow(entry.term, label);
    present.delete(entry.term);
    updateRow(row, entry, label, scale, unit, moves.get(entry.term));
    return row;
  });
  for (const gone of present.values()) gone.remove();
  rows.forEach((row, i) => {
    if (container.children[i] !== row) container.insertBefore(row, container.children[i] ?? null);
  });
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches)
    for (const row of rows) glide(row, before.get(row.dataset.term));
}

function emptyRow(term, label) {
  return el(
    "li",
    { class: "row", "data-term": term },
    el("span", { class: "rank" }),
    el("span", { class: "move" }),
    el("a", { class: "term", href: "#" }, bdi(term)),
    el(
      "span",
      { class: "track", "aria-hidden": "true" },
      el("span", { class: "bar" }),
      el("span", { class: "whisker" }),
    ),
    el("span", { class: "score" }),
    el("span", { class: "sure" }),
  );
}

function updateRow(row, entry, label, scale, unit, move) {
  const name = page.data.about.labels[label].name;
  const part = (selector) => row.querySelector(selector);
  const share = (value) => `${Math.max(0, Math.min(1, value / scale)) * 100}%`;
  const sign = state().against ? -1 : 1;
  const spans = entry.low !== null && entry.high !== null && entry.high > entry.low;
  setText(part(".rank"), String(entry.rank));
  setText(part(".score"), inUnit(entry.score, unit));
  setText(part(".sure"), entry.membership === null || entry.membership === undefined ? "" : percent(entry.membership));
  const arrow = part(".move");
  arrow.className = `move ${move === undefined ? "" : move === null ? "new" : move > 0 ? "up" : "down"}`;
  setText(arrow, move === undefined ? "" : move === null ? "new" : `${move > 0 ? "▲" : "▼"}${Math.abs(move)}`);
  part(".bar").style.setProperty("width", share(sign * entry.score));
  const whisker = part(".whisker");
  whisker.hidden = !spans || sign < 0;
  whisker.style.setProperty("--low", share(entry.low ?? 0));
  whisker.style.setProperty("--high", share(entry.high ?? 0));
  const link = part(".term");
  link.setAttribute("href", termAddress(name, entry.term));
  const tested = entry.tested ?? entry.anchors + entry.non_anchors;
  const told = `score ${number(entry.score)}${spans ? `, between ${number(entry.low)} and ${number(entry.high)}` : ""}; anchor in ${whole(entry.anchors)} of ${whole(tested)} tested of ${plural(entry.occurrences, "occurrence")}`;
  link.title = told;
  link.setAttribute("aria-label", `${entry.rank}. ${visible(entry.term)}: ${told}`);
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

/** Arrow keys go from term to term, and across to the other class. */
function walk(event) {
  const links = [...event.currentTarget.querySelectorAll(".term")];
  const at = links.indexOf(event.target);
  if (at < 0) return;
  const lists = [...document.querySelectorAll(".rows")];
  const other = (step) => lists[lists.indexOf(event.currentTarget) + step]?.querySelectorAll(".term")[at];
  const goal = { ArrowDown: links[at + 1], ArrowUp: links[at - 1], ArrowRight: other(1), ArrowLeft: other(-1) }[
    event.key
  ];
  if (!goal) return;
  event.preventDefault();
  goal.focus();
}
