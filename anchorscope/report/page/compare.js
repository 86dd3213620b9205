"use strict";

/* Two runs side by side: what rose, fell, appeared and vanished. The other run comes with the page, or from a file. */

function compareView(main) {
  const other = page.data.other;
  const picker = el("input", {
    type: "file",
    accept: ".json,application/json",
    on: { change: (event) => readOther(event.target.files[0]) },
  });
  const chooser = el(
    "label",
    { class: "field file" },
    el("span", {}, other ? "Another run" : "A second run: its result.json"),
    picker,
  );
  if (!other) {
    main.replaceChildren(
      el("div", { class: "tools" }, chooser),
      el(
        "p",
        { class: "empty" },
        "Choose the result.json of another run: it is read here and goes nowhere. Or make the page with: anchorscope report RUN --against OTHER.",
      ),
    );
    return;
  }
  const names = explained()
    .map((label) => label.name)
    .filter((name) => valueAt(other.labels, name));
  const compared = names.map((name) => ({ name, changes: changes(name) }));
  const differ = differences();
  main.replaceChildren(
    el(
      "div",
      { class: "tools" },
      chooser,
      el("span", { class: "grow" }),
      downloads("compare", () =>
        compared.flatMap(({ name, changes: all }) => all.map((change) => ({ label: name, ...change }))),
      ),
    ),
    el(
      "p",
      { class: "lead" },
      "Left ",
      el("b", {}, bdi(page.data.name)),
      ", right ",
      el("b", {}, bdi(other.name)),
      ". ",
      differ.length
        ? differ.map(([key, ours, theirs]) =>
            el("span", { class: "difference" }, `${key}: `, bdi(String(ours)), " → ", bdi(String(theirs))),
          )
        : "Same model, documents and settings.",
      areOfOneMeasure() ? "" : " Their scores are of different measures: intervals are not compared.",
    ),
    ...(names.length ? [el("p", { class: "quiet some" }, CHANCE)] : []),
    names.length
      ? el(
          "div",
          { class: "slopes" },
          compared.map(({ name, changes: all }) => slope(name, all)),
        )
      : el("p", { class: "empty" }, "The two runs share no label."),
  );
}

async function readOther(file) {
  try {
    const values = JSON.parse(await file.text());
    if (
      ![1, 2].includes(values.schema) ||
      typeof values.labels !== "object" ||
      !Object.values(values.labels).every((label) => Array.isArray(label.terms))
    )
      throw new Error("no result of this version");
    page.data.other = {
      name: file.name,
      labels: values.labels,
      settings: values.settings ?? {},
      model: values.model ?? {},
      documents: values.documents ?? {},
      perturbator: values.perturbator ?? {},
    };
    draw();
  } catch (error) {
    say(`The file cannot be read: ${error.message}`);
    document
      .querySelector(".empty, .lead")
      ?.replaceChildren(`The file cannot be read: ${visible(error.message)}. It takes the result.json of a run.`);
  }
}

/** What differs between the two runs: [what, ours, theirs]. As ``differences`` of report/changes.py. */
function differences() {
  const { other, about } = page.data;
  const found = ["model", "documents", "perturbator"].flatMap((part) => {
    const [ours, theirs] = [valueAt(about.sha256, part), valueAt(other[part], "sha256")];
    if (ours === undefined || theirs === undefined || ours === theirs) return [];
    const names = part === "documents" ? [page.data.name, other.name] : [about[part] ?? "none", String(other[part].name)];
    const hashed = names.map((name, i) => `${name} (${String([ours, theirs][i]).slice(0, 8)})`);
    return [[part, ...(part === "documents" || names[0] === names[1] ? hashed : names)]];
  });
  const names = new Set([...Object.keys(settings()), ...Object.keys(other.settings)]);
  for (const name of names) {
    const [ours, theirs] = [valueAt(settings(), name), valueAt(other.settings, name)];
    if (theirs !== undefined && ours !== undefined && JSON.stringify(ours) !== JSON.stringify(theirs))
      found.push([name, ours, theirs]);
  }
  return found;
}

const MEASURE = ["documents", "score", "aggregation", "weight"];
const areOfOneMeasure = () => !differences().some(([name]) => MEASURE.includes(name));

const CHANCE =
  "Ranks in both runs. Grey: the change may be chance, as the term drives the label in neither run, or its intervals overlap.";

/** Every term of either list: ranks before and after, what became of it, and whether that is more than chance. */
function changes(name) {
  const ours = entries(settings().aggregation, labelNumber(name)).slice(0, settings().top_k);
  const theirs = valueAt(page.data.other.labels, name).terms.map((one) => ({
    ...one,
    term: String(one.term),
    low: one.interval?.[0] ?? null,
    high: one.interval?.[1] ?? null,
  }));
  const [before, after] = [ours, theirs].map((list) => new Map(list.map((one, i) => [one.term, { ...one, rank: i + 1 }])));
  const compares = areOfOneMeasure();
  return [...new Set([...before.keys(), ...after.keys()])].map((term) => {
    const [was, now] = [before.get(term), after.get(term)];
    const [from, to] = [was?.rank ?? null, now?.rank ?? null];
    const change =
      from === null ? "appeared" : to === null ? "vanished" : to < from ? "rose" : to > from ? "fell" : "stayed";
    const remark =
      !was?.driver && !now?.driver
        ? "no driver in either run"
        : compares && overlap(was ?? below(ours), now ?? below(theirs))
          ? "within the intervals"
          : null;
    const written = String((was ?? now).written ?? term);
    return { term, written, before: from, after: to, change, told_apart: remark ? false : compares ? true : null, remark };
  });
}

/** Where the score of a term can be that a list has not: as high as that of its last term at most. */
const below = (list) => ({ low: null, high: list.length ? list[list.length - 1].high : 0 });
const overlap = (one, two) =>
  Math.max(one.low ?? -Infinity, two.low ?? -Infinity) <= Math.min(one.high ?? Infinity, two.high ?? Infinity);

function slope(name, all) {
  const label = labelNumber(name);
  const n = Math.max(...all.map((one) => Math.max(one.before ?? 0, one.after ?? 0)));
  const [w, line, left, right] = [520, 26, 190, 330];
  const y = (rank) => rank * line;
  const side = (one, rank, x, anchor) =>
    rank === null
      ? null
      : svg(
          "a",
          { href: termAddress(name, one.term), class: drawnAs(one) },
          one.remark ? svg("title", {}, `not told apart: ${one.remark}`) : null,
          svg(
            "text",
            { x, y: y(rank) + 4, "text-anchor": anchor, direction: "ltr" },
            anchor === "end" ? `${visible(shortened(one.written))}  ${rank}` : `${rank}  ${visible(shortened(one.written))}`,
          ),
        );
  const counts = ["rose", "fell", "appeared", "vanished", "stayed", "chance"].map((change) => [
    change,
    all.filter((one) => drawnAs(one) === change).length,
  ]);
  return el(
    "section",
    { class: `slope ${colour(label)}` },
    el("h2", {}, bdi(name)),
    el(
      "ul",
      { class: "key" },
      counts.map(([change, count]) =>
        el(
          "li",
          { class: change },
          el(
            "span",
            { class: "glyph", "aria-hidden": "true" },
            { rose: "▲", fell: "▼", appeared: "+", vanished: "−", stayed: "=", chance: "~" }[change],
          ),
          ` ${change === "chance" ? "moved, not told apart" : change} ${count}`,
        ),
      ),
    ),
    svg(
      "svg",
      {
        viewBox: `0 0 ${w} ${y(n) + line}`,
        role: "img",
        "aria-label": `Ranks of ${name} in both runs. ${all.map((one) => `${visible(one.written)} ${one.change}${drawnAs(one) === "chance" ? ` (${one.remark})` : ""}`).join(", ")}`,
      },
      all.map((one) =>
        one.before !== null && one.after !== null
          ? svg("line", {
              class: `slopeline ${drawnAs(one)}`,
              x1: left + 10,
              x2: right - 10,
              y1: y(one.before),
              y2: y(one.after),
            })
          : null,
      ),
      all.map((one) => [side(one, one.before, left, "end"), side(one, one.after, right, "start")]),
    ),
  );
}

/** What a term is drawn as: its change, or ``chance`` where that is not told apart. */
const drawnAs = (one) => (one.remark && one.change !== "stayed" ? "chance" : one.change);

const shortened = (term) => (term.length > 20 ? `${term.slice(0, 19)}…` : term);
