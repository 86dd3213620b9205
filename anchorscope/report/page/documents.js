"use strict";

/* Single documents, each of their tested words in the shade of its effect. */

function documentsView(main) {
  const { key, label: wanted, q } = state();
  const all = page.data.documents ?? [];
  if (!all.length) {
    main.replaceChildren(
      el(
        "p",
        { class: "empty" },
        page.live && !page.live.snapshot?.finished
          ? "Documents come with the end of the run."
          : withoutTexts(),
      ),
    );
    return;
  }
  const search = (q ?? "").toLowerCase();
  const shown = all.filter((one) =>
    key
      ? one.key === key
      : (!wanted || page.data.about.labels[one.predicted].name === wanted) && one.text.toLowerCase().includes(search),
  );
  const list = el("div", { class: "documents" });
  const input = el("input", {
    type: "search",
    id: "search",
    value: q ?? "",
    placeholder: "text …",
    dir: "auto",
    on: { input: debounced(200, () => adjust({ q: input.value })) },
  });
  const labels = [["", "all"], ...explained().map((label) => [label.name, label.name])];
  const tools = key
    ? el("p", {}, el("a", { class: "back", href: address("documents") }, "← All documents"))
    : el(
        "div",
        { class: "tools" },
        el("label", { class: "field" }, el("span", {}, "Search"), input),
        select("Predicted", wanted ?? "", labels, (label) => adjust({ label })),
        el("span", { class: "grow" }),
        el("span", { class: "quiet count" }, `${whole(shown.length)} of ${whole(all.length)} kept`),
        downloads("documents", () => shown.map(documentRow)),
      );
  main.replaceChildren(tools, textLegend(key ? shown[0]?.predicted : undefined), list);
  more(list, shown, Boolean(key));
}

const withoutTexts = () =>
  page.data.about.texts
    ? "This run has kept no documents yet: it ended before its evidence was gathered."
    : "Texts are left out of this run (--no-texts): documents and perturbed texts are not shown. Words, counts and the keys of documents are.";

/** Forty at a time. */
function more(list, shown, single, from = 0) {
  const full = fullEffect();
  list.append(...shown.slice(from, from + 40).map((one) => documentCard(one, single, full)));
  if (from + 40 < shown.length) {
    const next = el(
      "button",
      {
        type: "button",
        class: "more",
        on: {
          click: () => {
            next.remove();
            more(list, shown, single, from + 40);
          },
        },
      },
      "More",
    );
    list.append(next);
  }
}

function documentRow(one) {
  const { graded } = page.data.about.score;
  const words = one.words.filter((word) => graded || word[5]);
  const told = words.map(([start, end, , value]) => one.text.slice(start, end) + (graded ? ` ${signed(value)}` : ""));
  return {
    key: one.key,
    predicted: page.data.about.labels[one.predicted].name,
    label: one.label,
    confidence: one.confidence,
    [graded ? "effects" : "anchors"]: told.join(graded ? ", " : " "),
    text: one.text,
  };
}

function documentCard(one, single, full) {
  const { name } = page.data.about.labels[one.predicted];
  const { graded } = page.data.about.score;
  const anchors = one.words.filter((word) => word[5]).length;
  return el(
    "article",
    { class: `document ${colour(one.predicted)} ${otherColour(one.predicted)}` },
    el(
      "header",
      {},
      el(
        "a",
        { class: "badge", href: address("documents", { key: one.key }), "aria-label": `Document ${one.key}` },
        bdi(name),
        ` ${fixed(one.confidence, 2)}`,
      ),
      el(
        "span",
        { class: "quiet" },
        one.label !== null && one.label !== name ? ["labelled ", bdi(one.label), " · "] : null,
        graded ? null : one.robust ? "robust · " : `${plural(anchors, "anchor")} · `,
        `${testedTerms(one).length} of ${plural(one.n_testable, isOneByOne() ? "occurrence" : "term")} tested`,
      ),
    ),
    el(
      "p",
      { class: "text", dir: "auto" },
      marked(one.text, one.words.map(asWord), (word, text) => wordMark(word, text, name, full)),
      one.cut ? " …" : null,
    ),
    single ? wordTable(one) : null,
  );
}

function wordMark(word, text, label, full) {
  const mark = shadedWord(word, text, full);
  return word.term < 0
    ? mark
    : el("a", { class: "plain", href: termAddress(label, page.data.terms.term[word.term]) }, mark);
}

const isOneByOne = () => page.data.about.score.holder === "occurrence";

/** What was tested in a document: its terms, each with how often it stands there; or every occurrence by itself. */
function testedTerms(one) {
  const found = new Map();
  for (const word of one.words.map(asWord)) {
    const written = one.text.slice(word.start, word.end);
    const key = isOneByOne() ? word.start : word.term < 0 ? written.toLowerCase() : word.term;
    found.set(key, { written, ...word, ...found.get(key), times: (found.get(key)?.times ?? 0) + 1 });
  }
  return [...found.values()];
}

/** The terms of a document by what they do, each with the columns that its run has. */
function wordTable(one) {
  const { graded, perturbs } = page.data.about.score;
  const columns = graded
    ? [
        ["effect", (word) => signed(word.value, 3)],
        perturbs
          ? ["± two deviations", ({ deviation }) => (deviation === null ? "unknown" : fixed(DEVIATIONS * deviation, 3))]
          : ["without it", (word) => fixed(one.confidence - word.value, 3)],
        perturbs
          ? ["remark", (word) => (isNone(word) ? "no effect" : isTold(word) ? "" : "not told apart from 0")]
          : ["decision", (word) => (isNone(word) ? "stays" : isTold(word) ? decision(one.confidence - word.value) : "not told apart from 0")],
      ]
    : [
        ["precision", (word) => (word.samples ? fixed(word.agreements / word.samples, 2) : "–")],
        ["agreed", (word) => `${word.agreements}/${word.samples}`],
        ["verdict", (word) => (word.anchor ? "anchor" : "")],
      ];
  const rows = testedTerms(one).sort((a, b) => b.value - a.value);
  return el(
    "table",
    { class: "words" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ["term", ...columns.map(([head]) => head)].map((head) => el("th", { scope: "col" }, head)),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map((word) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, bdi(word.written), word.times > 1 ? ` ×${word.times}` : null),
          columns.map(([, make]) => el("td", {}, make(word))),
        ),
      ),
    ),
  );
}
