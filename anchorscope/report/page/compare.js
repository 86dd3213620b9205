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
  const differ = ["model", "score", "aggregation", "strategy", "seed"]
    .map((key) => [
      key,
      key === "model" ? page.data.about.model : valueAt(settings(), key),
      key === "model" ? other.model?.name : valueAt(other.settings, key),
    ])
    .filter(([, ours, theirs]) => theirs !== undefined && ours !== undefined && ours !== theirs);
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
            el("span", { class: "difference" }, `${key}: `, bdi(ours), " → ", bdi(theirs)),
          )
        : "Same model name and settings.",
    ),
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
    };
    draw();
  } catch (error) {
    say(`The file cannot be read: ${error.message}`);
    document
      .querySelector(".empty, .lead")
      ?.replaceChildren(`The file cannot be read: ${visible(error.message)}. It takes the result.json of a run.`);
  }
}

/** Every term of either list: ranks before and after, and what became of it. */
function changes(name) {
  const ours = entries(settings().aggregation, labelNumber(name)).slice(0, settings().top_k);
  const theirs = valueAt(page.data.other.labels, name).terms;
  const before = new Map(ours.map((entry, i) => [entry.term, i + 1]));
  const after = new Map(theirs.map((entry, i) => [String(entry.term), i + 1]));
  const spelled = ({ term, written: as }) => [String(term), String(as ?? term)];
  const written = new Map([...theirs, ...ours].map(spelled));
  return [...new Set([...before.keys(), ...after.keys()])].map((term) => {
    const [from, to] = [before.get(term) ?? null, after.get(term) ?? null];
    const change =
      from === null ? "appeared" : to === null ? "vanished" : to < from ? "rose" : to > from ? "fell" : "stayed";
    return { term, written: written.get(term), before: from, after: to, change };
  });
}

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
          { href: termAddress(name, one.term), class: one.change },
          svg(
            "text",
            { x, y: y(rank) + 4, "text-anchor": anchor, direction: "ltr" },
            anchor === "end" ? `${visible(shortened(one.written))}  ${rank}` : `${rank}  ${visible(shortened(one.written))}`,
          ),
        );
  const counts = ["rose", "fell", "appeared", "vanished", "stayed"].map((change) => [
    change,
    all.filter((one) => one.change === change).length,
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
            { rose: "▲", fell: "▼", appeared: "+", vanished: "−", stayed: "=" }[change],
          ),
          ` ${change} ${count}`,
        ),
      ),
    ),
    svg(
      "svg",
      {
        viewBox: `0 0 ${w} ${y(n) + line}`,
        role: "img",
        "aria-label": `Ranks of ${name} in both runs. ${all.map((one) => `${visible(one.written)} ${one.change}`).join(", ")}`,
      },
      all.map((one) =>
        one.before !== null && one.after !== null
          ? svg("line", {
              class: `slopeline ${one.change}`,
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

const shortened = (term) => (term.length > 20 ? `${term.slice(0, 19)}…` : term);
