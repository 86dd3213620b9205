"use strict";

/* What is looked at: kept in the fragment, so that every view has a URL of its own. #words?by=pr&k=30 */

const page = { data: null, live: null, history: [] };

function state() {
  const [view, query] = location.hash.slice(1).split("?");
  return { view: view || "words", ...Object.fromEntries(new URLSearchParams(query ?? "")) };
}

/** The address of a view; what is undefined, null or empty is left out. */
function address(view, values = {}) {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(given).toString();
  return `#${view}${query ? `?${query}` : ""}`;
}

/** Change some values of the address in place: the same view, no new step in the browser's history. */
function adjust(values) {
  const { view, ...rest } = state();
  history.replaceState(null, "", address(view, { ...rest, ...values }));
  draw();
}

const settings = () => page.data.about.settings;
const aggregation = () => (aggregationNamed(state().by) ? state().by : settings().aggregation);
const aggregations = () => page.data.terms?.aggregations.map((one) => one.name) ?? [settings().aggregation];
const rankedBy = () =>
  select(
    "Ranked by",
    aggregation(),
    aggregations().map((name) => [name, name, aggregationNamed(name)?.help]),
    (by) => adjust({ by }),
  );
const explained = () =>
  page.data.about.labels.map((label, i) => ({ ...label, number: i })).filter((label) => label.explained);
const labelNumber = (name) => page.data.about.labels.findIndex((label) => label.name === name);
/** The class of a label's colour; those beyond the colours share one that is no other label's. */
const colour = (number) => (number < 7 ? `c${number}` : "cmore");
const termAddress = (label, term, by = state().by) => address("term", { label, term, by });

const standingOf = (name, label) => valueAt(page.data.standings, name)?.[label];
const writtenAs = (number) => page.data.terms.written[number] ?? page.data.terms.term[number];

/** So many of what is tested of a term: documents, or its occurrences one by one. */
const holders = (n) => plural(n, page.data.about.score.holder);

/** Whether the interval of an entry is known and has a width. */
const isOpen = ({ low, high }) => low !== null && high !== null && low < high;

/** All terms of one label under an aggregation, by their scores. */
function entries(name, label) {
  const { terms } = page.data;
  if (!terms) return [];
  const drivers = new Set(standingOf(name, label)?.drivers ?? []);
  const order = ranking(terms, scoresOf(terms, name, label), label);
  return described(name, label, order, drivers);
}

/** The drivers against one label, the strongest first. */
function entriesAgainst(name, label) {
  const against = standingOf(name, label)?.against ?? [];
  return page.data.terms ? described(name, label, against, new Set(against)) : [];
}

function described(name, label, numbers, drivers) {
  const { terms, about } = page.data;
  const scores = scoresOf(terms, name, label);
  const standing = standingOf(name, label);
  const known = new Map((standing?.terms ?? []).map((term, i) => [term, i]));
  const column = terms.labels[label];
  return numbers.map((i, row) => {
    const at = known.get(i);
    return {
      term: terms.term[i],
      written: writtenAs(i),
      number: i,
      rank: row + 1,
      score: scores[i],
      low: at === undefined ? null : standing.low[at],
      high: at === undefined ? null : standing.high[at],
      membership: at === undefined ? null : standing.membership[at],
      driver: drivers.has(i),
      anchors: about.score.anchors ? column.anchors[i] : null,
      tested: column.anchors[i] + column.non_anchors[i],
      skipped: column.skipped[i],
      occurrences: column.occurrences[i],
      documents: column.documents[i],
    };
  });
}

/** What the line says under which no term is a driver. */
function notToldApart(label, below) {
  const { asked, documents, drawn } = page.data.about.labels[label];
  const line = "not shown to do more than any other term";
  if (asked < documents) return `${line} ${drawn ? "in the documents drawn" : "at this budget"}`;
  const isAll = below.every((entry) => entry.tested >= entry.occurrences);
  return line + (isAll ? ", though everything is tested" : " so far");
}

/** Whether a term lowers its label: then it is not listed for it. A score that counts anchors may run upside down. */
const lowers = ({ score, anchors }) => score < 0 && anchors === null;

/** The lists of one label as the words view shows them: while a run goes on, its own come with the event.
 * Where there is no driver, a note says why, and no line is needed; of a race, or where nothing is tested, it stands in
 * the place of the list.
 */
function listsOf(name, label, k) {
  const shown = valueAt(page.live?.snapshot?.labels, page.data.about.labels[label].name);
  const isLive = shown && !page.live.snapshot.finished && name === settings().aggregation && k <= settings().top_k;
  const ranked = (terms) =>
    terms.map((term, row) => ({ ...term, rank: row + 1, low: term.interval[0], high: term.interval[1] }));
  const [all, against] = isLive
    ? [ranked(shown.terms), ranked(shown.against)]
    : [entries(name, label), entriesAgainst(name, label)];
  const { note, regret } = (isLive ? shown : standingOf(name, label)) ?? { note: null, regret: null };
  const hasNone = note && !all.some((entry) => entry.driver);
  const isBare = aggregationNamed(name)?.driver && !all.some((entry) => entry.tested);
  const isList = !(hasNone && (regret !== null || isBare));
  const top = isList ? all.slice(0, k) : [];
  const below = top.filter((entry) => !entry.driver && !lowers(entry));
  return {
    drivers: top.filter((entry) => entry.driver),
    below,
    against: against.slice(0, k),
    note,
    isList,
    line: hasNone ? "" : notToldApart(label, below),
  };
}

const PARTS = ["drivers", "below", "against"];

/** The lists without function words, if that is the view: `hidden` names these with their ranks, which do not change. */
function viewed(lists) {
  if (!state().hide) return { ...lists, hidden: "" };
  const words = new Set(page.data.function_words);
  const isHidden = (entry) => words.has(entry.term);
  const named = (...parts) =>
    parts
      .flatMap((part) => lists[part].filter(isHidden))
      .sort((a, b) => a.rank - b.rank)
      .map((entry) => `${visible(entry.written)} (${entry.rank})`)
      .join(", ");
  const against = named("against");
  const told = [named("drivers", "below"), against && `against: ${against}`].filter(Boolean).join("; ");
  const left = PARTS.map((part) => [part, lists[part].filter((entry) => !isHidden(entry))]);
  return { ...lists, ...Object.fromEntries(left), hidden: told && `hidden: ${told}` };
}

const theme = {
  apply() {
    document.documentElement.dataset.theme = this.get() ?? "";
  },
  get() {
    try {
      return localStorage.getItem("anchorscope-theme");
    } catch {
      return this.chosen;
    }
  },
  toggle() {
    const dark = this.get() ? this.get() === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    this.chosen = dark ? "light" : "dark";
    try {
      localStorage.setItem("anchorscope-theme", this.chosen);
    } catch {
      /* a page from disk may have no storage */
    }
    this.apply();
  },
};
