"use strict";

/* One term: its figures, and the documents in which it is an anchor and is not, each with its perturbed texts. */

const KINDS = [
  ["kept_with", "The word stayed, the prediction stayed"],
  ["lost_with", "The word stayed, the prediction changed"],
  ["kept_without", "The word was replaced, the prediction stayed"],
  ["lost_without", "The word was replaced, the prediction changed"],
];

function termView(main) {
  const { label: name, term } = state();
  const label = labelNumber(name);
  const index = page.data.terms ? page.data.terms.term.indexOf(term) : -1;
  const back = el("p", {}, el("a", { class: "back", href: address("words", { by: state().by }) }, "← Words"));
  if (label < 0 || index < 0) {
    main.replaceChildren(
      back,
      el(
        "p",
        { class: "empty" },
        page.data.terms ? "This page holds no such term." : "The evidence comes with the end of the run.",
      ),
    );
    return;
  }
  const evidence = page.data.evidence.filter((piece) => piece.label === label && piece.term === index);
  const column = (anchor, title) => {
    const some = evidence.filter((piece) => piece.anchor === anchor);
    return el(
      "section",
      { "aria-label": title },
      el("h3", {}, title),
      some.length
        ? some.map((piece) => occurrence(piece, term))
        : el(
            "p",
            { class: "empty" },
            evidence.length ? "In no document that was tested so far and is kept." : noEvidence(),
          ),
    );
  };
  main.replaceChildren(
    back,
    el(
      "div",
      { class: `termhead ${colour(label)}` },
      el("h2", {}, el("mark", { class: "anchor" }, bdi(term)), el("span", { class: "quiet" }, " for "), bdi(name)),
      el("span", { class: "grow" }),
      downloads("evidence", () =>
        evidence.map(({ label: _, term: __, ...piece }) => ({ label: name, term, ...flatten(piece) })),
      ),
    ),
    termFigures(label, index),
    el(
      "div",
      { class: `evidence ${colour(label)}` },
      column(true, "Where it is an anchor"),
      column(false, "Where it is not"),
    ),
  );
}

const flatten = (piece) =>
  Object.fromEntries(
    Object.entries(piece).map(([key, value]) => [key, typeof value === "object" ? JSON.stringify(value) : value]),
  );

const noEvidence = () =>
  page.data.evidence.length || page.data.documents.length
    ? "No document is kept here: evidence is kept for the terms of the run's own list."
    : page.live && !page.live.snapshot?.finished
      ? "The evidence comes with the end of the run."
      : withoutTexts();

/** Its rank and score under each aggregation, and its counts in each class. */
function termFigures(label, index) {
  const { terms, about } = page.data;
  const ranks = aggregations().map((name) => {
    const scores = scoresOf(terms, name, label);
    const rank = ranking(terms, scores, label).indexOf(index) + 1;
    return { name, rank, score: scores[index], now: name === aggregation() ? "now" : null };
  });
  const across = (title, make) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, title),
      ranks.map((one) => el("td", { class: one.now }, make(one))),
    );
  const classes = explained().map(({ number: i, name }) => {
    const c = terms.labels[i];
    return el(
      "tr",
      {},
      el("th", { scope: "row", class: colour(i) }, el("span", { class: "dot" }), bdi(name)),
      [c.anchors, c.non_anchors, c.occurrences, c.documents].map((counts) => el("td", {}, whole(counts[index]))),
    );
  });
  const head = (...names) =>
    el(
      "thead",
      {},
      el(
        "tr",
        {},
        names.map((name) => el("th", { scope: "col" }, name)),
      ),
    );
  return el(
    "div",
    { class: "figures" },
    el(
      "table",
      {},
      el("caption", {}, "Counts"),
      head("class", "anchor", "no anchor", "occurs", "documents"),
      el("tbody", {}, classes),
    ),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Ranks" },
      el(
        "table",
        {},
        el("caption", {}, "Among the terms of ", bdi(about.labels[label].name)),
        head(
          "by",
          ...ranks.map((one) => el("a", { href: termAddress(state().label, state().term, one.name) }, one.name)),
        ),
        el(
          "tbody",
          {},
          across("rank", (one) => one.rank || "–"),
          across("score", (one) => number(one.score)),
        ),
      ),
    ),
  );
}

function occurrence(piece, term) {
  const source = page.data.documents.find((one) => one.key === piece.document);
  const { counts } = piece;
  const withWord = counts.kept_with + counts.lost_with;
  const without = counts.kept_without + counts.lost_without;
  return el(
    "article",
    { class: "occurrence" },
    source
      ? el("p", { class: "text", dir: "auto" }, highlighted(source, piece.term))
      : el(
          "p",
          { class: "quiet" },
          page.data.about.texts ? "The document is not kept: " : "Its text is left out: ",
          bdi(piece.document),
        ),
    el(
      "dl",
      { class: "split" },
      splitBar("with the word", counts.kept_with, withWord),
      splitBar("without it", counts.kept_without, without),
    ),
    el(
      "details",
      {},
      el("summary", {}, `${plural(withWord + without, "perturbed text")}`),
      KINDS.map(([kind, title]) =>
        piece[kind].length
          ? el(
              "div",
              { class: kind },
              el("h4", {}, title, el("span", { class: "quiet" }, ` ${counts[kind]}×`)),
              el(
                "ul",
                {},
                piece[kind].map((text) => el("li", { class: "text", dir: "auto" }, changed(source?.text, text))),
              ),
            )
          : null,
      ),
      source
        ? el("p", {}, el("a", { href: address("documents", { key: source.key }) }, "All words of this document →"))
        : null,
    ),
  );
}

const splitBar = (title, kept, all) =>
  el(
    "div",
    {},
    el("dt", {}, title),
    el(
      "dd",
      {},
      el(
        "span",
        { class: "meter", "aria-hidden": "true" },
        el("span", { css: { width: all ? `${(kept / all) * 100}%` : "0" } }),
      ),
      all ? `kept ${kept} of ${all}` : "never",
    ),
  );

function highlighted(source, term) {
  const spans = source.words
    .filter((word) => word[2] === term)
    .map(([start, end, , anchor]) => ({ start, end, anchor }));
  return marked(source.text, spans, (span, text) => el("mark", { class: span.anchor ? "anchor" : "other" }, text));
}

/** A perturbed text; its words that differ from the original are faint. */
function changed(original, text) {
  const words = text.split(/(\s+)/);
  const originals = (original ?? "").split(/(\s+)/);
  if (words.length !== originals.length) return visible(text);
  return words.map((word, i) =>
    word === originals[i] ? visible(word) : el("span", { class: "filled" }, visible(word)),
  );
}
