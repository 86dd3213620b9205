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
    aggregations().map((name) => [name, name]),
    (by) => adjust({ by }),
  );
const explained = () =>
  page.data.about.labels.map((label, i) => ({ ...label, number: i })).filter((label) => label.explained);
const labelNumber = (name) => page.data.about.labels.findIndex((label) => label.name === name);
const colour = (number) => `c${number % 6}`;
const termAddress = (label, term, by = state().by) => address("term", { label, term, by });

/** The entries of one label under an aggregation, best first; `against` gives the words that push the other way. */
function entries(name, label, { against = false } = {}) {
  const { terms, standings } = page.data;
  if (!terms) return [];
  const scores = scoresOf(terms, name, label);
  const standing = valueAt(standings, name)?.[label];
  const known = new Map((standing?.terms ?? []).map((term, i) => [term, i]));
  const order = ranking(terms, scores, label);
  if (against) order.reverse();
  const column = terms.labels[label];
  return order.map((i, row) => {
    const at = known.get(i);
    return {
      term: terms.term[i],
      number: i,
      rank: against ? order.length - row : row + 1,
      score: scores[i],
      low: at === undefined ? null : standing.low[at],
      high: at === undefined ? null : standing.high[at],
      membership: at === undefined ? null : (standing.membership?.[at] ?? null),
      anchors: column.anchors[i],
      tested: column.anchors[i] + column.non_anchors[i],
      skipped: column.skipped[i],
      occurrences: column.occurrences[i],
      documents: column.documents[i],
    };
  });
}

/** The list of one label as the words view shows it: while a run goes on, its own list comes with the event. */
function topEntries(name, label, k) {
  const shown = valueAt(page.live?.snapshot?.labels, page.data.about.labels[label].name);
  if (shown && !page.live.snapshot.finished && name === settings().aggregation && k <= settings().top_k) {
    return shown.terms
      .slice(0, k)
      .map((term, row) => ({ ...term, rank: row + 1, low: term.interval[0], high: term.interval[1] }));
  }
  return entries(name, label).slice(0, k);
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
