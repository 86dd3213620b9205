"use strict";

/* All terms, to search, sort and filter; another aggregation ranks them anew at once. */

const COLUMNS = [
  ["rank", "rank", "rank"],
  ["term", "term"],
  ["label", "label"],
  ["driver", "driver", "driver"],
  ["score", "score", "score"],
  ["low", "low", "interval"],
  ["high", "high", "interval"],
  ["membership", "member", "member"],
  ["anchors", "anchors", "anchors/tested"],
  ["tested", "tested", "tested/of"],
  ["occurrences", "occurs", "tested/of"],
  ["documents", "documents"],
];
const RANK = "the place by score among the terms of its label; of a driver against it, among these";
const UPWARDS = ["rank", "term", "label"];

/** What the columns mean, the low and the high end of an interval together. */
const meanings = (names) => ({
  rank: RANK,
  driver: valueAt(names, "driver"),
  score: aggregation() === settings().aggregation ? valueAt(names, "score") : aggregationNamed(aggregation())?.help,
  "low, high": valueAt(names, "interval"),
  member: valueAt(names, "member"),
  tested: valueAt(names, "tested/of") ?? valueAt(names, "anchors/tested"),
});

/** The columns that a run has a use for: name, title, and the name of what explains it. */
const columnsOf = ({ score, names }) =>
  COLUMNS.filter(
    ([name]) => (name !== "anchors" || score.anchors) && (name !== "membership" || valueAt(names, "member")),
  );

const cellOf = (name, value) =>
  name === "driver"
    ? value
    : name === "membership"
      ? percent(value)
      : ["score", "low", "high"].includes(name)
        ? number(value)
        : whole(value);
const PAGE_ROWS = 100;

function tableView(main) {
  if (!page.data.terms) {
    main.replaceChildren(el("p", { class: "empty" }, "The terms come with the first rounds."));
    return;
  }
  const { q, label, least } = state();
  const labels = [["", "all"], ...explained().map((one) => [one.name, one.name])];
  const typed = (name) =>
    debounced(150, (event) => {
      adjust({ [name]: event.target.value, from: null });
    });
  main.replaceChildren(
    el(
      "div",
      { class: "tools" },
      el(
        "label",
        { class: "field" },
        el("span", {}, "Search"),
        el("input", {
          type: "search",
          id: "search",
          value: q ?? "",
          placeholder: "term …",
          dir: "auto",
          on: { input: typed("q") },
        }),
      ),
      select("Label", label ?? "", labels, (value) => adjust({ label: value, from: null })),
      rankedBy(),
      el(
        "label",
        { class: "field" },
        el("span", {}, "Occurs at least"),
        el("input", { type: "number", min: 0, value: least ?? "", on: { input: typed("least") } }),
      ),
      el("span", { class: "grow" }),
      el("span", { class: "quiet count", id: "count" }),
      downloads("terms", tableRows),
    ),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "All terms" },
      el("table", { class: "terms" }, el("thead"), el("tbody")),
    ),
    el("p", { class: "pages" }),
    legendOf(meanings(page.data.about.names)),
  );
  updateTable();
}

function tableRows() {
  const { q, label, least, sort, way } = state();
  const search = (q ?? "").toLowerCase();
  const rows = explained()
    .filter((one) => !label || one.name === label)
    .flatMap((one) => {
      const against = standingOf(aggregation(), one.number)?.against ?? [];
      const placeAgainst = new Map(against.map((number, place) => [number, place + 1]));
      return entries(aggregation(), one.number).map((entry) => ({
        ...entry,
        place: placeAgainst.has(entry.number) ? `against ${placeAgainst.get(entry.number)}` : whole(entry.rank),
        driver: placeAgainst.has(entry.number) ? "against" : entry.driver ? "for" : "",
        label: one.name,
        labelNumber: one.number,
      }));
    })
    .filter((entry) => entry.occurrences >= (Number(least) || 0) && entry.written.toLowerCase().includes(search));
  const column = sort ?? "rank";
  const sign =
    (way ?? (UPWARDS.includes(column) ? "up" : "down")) === "up" ? 1 : -1;
  const compare = (a, b) =>
    typeof a === "string" ? (a < b ? -1 : a > b ? 1 : 0) : (a ?? -Infinity) - (b ?? -Infinity);
  return rows.sort((a, b) => sign * compare(a[column], b[column]) || a.rank - b.rank);
}

function updateTable() {
  const table = document.querySelector("table.terms");
  const rows = tableRows();
  const { sort = "rank", way, from } = state();
  const start = Math.min(Number(from) || 0, Math.max(0, rows.length - 1));
  setText(document.getElementById("count"), plural(rows.length, "row"));
  const ascending = (way ?? (UPWARDS.includes(sort) ? "up" : "down")) === "up";
  const { about } = page.data;
  const columns = columnsOf(about);
  table.tHead.replaceChildren(
    el(
      "tr",
      {},
      columns.map(([name, title, explained]) =>
        el(
          "th",
          {
            scope: "col",
            class: `is-${name}`,
            title: explained === "rank" ? RANK : explained ? valueAt(about.names, explained) : null,
            "aria-sort": name === sort ? (ascending ? "ascending" : "descending") : null,
          },
          el(
            "button",
            {
              type: "button",
              on: {
                click: () =>
                  adjust({ sort: name, way: name === sort ? (ascending ? "down" : "up") : null, from: null }),
              },
            },
            title,
            el("span", { class: "arrow", "aria-hidden": "true" }, name === sort ? (ascending ? " ↑" : " ↓") : ""),
          ),
        ),
      ),
    ),
  );
  table.tBodies[0].replaceChildren(
    ...rows.slice(start, start + PAGE_ROWS).map((row) =>
      el(
        "tr",
        { class: colour(row.labelNumber) },
        columns.map(([name]) =>
          name === "term"
            ? el("th", { scope: "row", class: row.driver ? "driver" : null }, el("a", { href: termAddress(row.label, row.term) }, bdi(row.written)))
            : el(
                "td",
                { class: `is-${name}` },
                name === "label"
                  ? [el("span", { class: "dot" }), bdi(row.label)]
                  : name === "rank"
                    ? row.place
                    : cellOf(name, row[name]),
              ),
        ),
      ),
    ),
  );
  const turn = (to, text) =>
    el(
      "button",
      { type: "button", disabled: to < 0 || to >= rows.length, on: { click: () => adjust({ from: to || null }) } },
      text,
    );
  document
    .querySelector(".pages")
    .replaceChildren(
      ...(rows.length > PAGE_ROWS
        ? [
            turn(start - PAGE_ROWS, "← before"),
            ` ${whole(start + 1)}–${whole(Math.min(rows.length, start + PAGE_ROWS))} of ${whole(rows.length)} `,
            turn(start + PAGE_ROWS, "after →"),
          ]
        : []),
    );
}
