"use strict";

/* Single documents with all their anchors marked, as in the first figure of the paper. */

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
  main.replaceChildren(
    tools,
    list,
    el(
      "p",
      { class: "legend" },
      "Marked: anchors of the prediction, words that all but secure it. Underlined: tested, and no anchor; the thicker, the more probability the word brings. Of a robust document every word is an anchor: it keeps its prediction anyway.",
    ),
  );
  more(list, shown, 0, Boolean(key));
}

const withoutTexts = () =>
  page.data.about.texts
    ? "This run has kept no documents yet: it ended before its evidence was gathered."
    : "Texts are left out of this run (--no-texts): documents and perturbed texts are not shown. Words, counts and the keys of documents are.";

/** Forty at a time. */
function more(list, shown, from, single) {
  list.append(...shown.slice(from, from + 40).map((one) => documentCard(one, single)));
  if (from + 40 < shown.length) {
    const next = el(
      "button",
      {
        type: "button",
        class: "more",
        on: {
          click: () => {
            next.remove();
            more(list, shown, from + 40, single);
          },
        },
      },
      "More",
    );
    list.append(next);
  }
}

function documentRow(one) {
  const words = one.words.filter((word) => word[3]).map(([start, end]) => one.text.slice(start, end));
  return {
    key: one.key,
    predicted: page.data.about.labels[one.predicted].name,
    label: one.label,
    confidence: one.confidence,
    anchors: words.join(" "),
    text: one.text,
  };
}

function documentCard(one, single) {
  const { name } = page.data.about.labels[one.predicted];
  const anchors = one.words.filter((word) => word[3]).length;
  return el(
    "article",
    { class: `document ${colour(one.predicted)}` },
    el(
      "header",
      {},
      el(
        "a",
        { class: "badge", href: address("documents", { key: one.key }), "aria-label": `Document ${one.key}` },
        bdi(name),
        ` ${one.confidence.toFixed(2)}`,
      ),
      el(
        "span",
        { class: "quiet" },
        one.label !== null && one.label !== name ? ["labelled ", bdi(one.label), " · "] : null,
        one.robust ? "robust" : plural(anchors, "anchor"),
      ),
    ),
    el(
      "p",
      { class: "text", dir: "auto" },
      marked(
        one.text,
        one.words.map(([start, end, term, anchor, agreements, samples, value]) => ({
          start,
          end,
          term,
          anchor,
          agreements,
          samples,
          value,
        })),
        (word, text) => wordMark(word, text, name),
      ),
      one.cut ? " …" : null,
    ),
    single ? wordTable(one) : null,
  );
}

function wordMark(word, text, label) {
  const told = `${word.anchor ? "anchor" : "no anchor"}: kept in ${word.agreements} of ${word.samples}, value ${number(word.value)}`;
  const weight = `${Math.max(0, Math.min(1, word.value / 0.15)) * 3}px`;
  const mark = el(
    word.anchor ? "mark" : "span",
    { class: word.anchor ? "anchor" : "tested", title: told, css: { "--weight": weight } },
    text,
  );
  return word.term < 0
    ? mark
    : el("a", { class: "plain", href: termAddress(label, page.data.terms.term[word.term]) }, mark);
}

function wordTable(one) {
  const rows = [...one.words].sort((a, b) => b[6] - a[6]);
  return el(
    "table",
    { class: "words" },
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        ["word", "precision", "agreed", "value", ""].map((head) => el("th", { scope: "col" }, head)),
      ),
    ),
    el(
      "tbody",
      {},
      rows.map(([start, end, , anchor, agreements, samples, value]) =>
        el(
          "tr",
          {},
          el("th", { scope: "row" }, bdi(one.text.slice(start, end))),
          el("td", {}, samples ? (agreements / samples).toFixed(2) : "–"),
          el("td", {}, `${agreements}/${samples}`),
          el("td", {}, number(value)),
          el("td", {}, anchor ? "anchor" : ""),
        ),
      ),
    ),
  );
}
