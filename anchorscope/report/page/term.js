"use strict";

/* One term: its figures, and documents with it in the order of what it does there. Where no word is replaced, the
 * numbers of a card are its own; else perturbed texts stand beside it. */

const KINDS = [
  ["kept_with", "The term stayed, the prediction stayed"],
  ["lost_with", "The term stayed, the prediction changed"],
  ["kept_without", "The term was replaced, the prediction stayed"],
  ["lost_without", "The term was replaced, the prediction changed"],
];

function termView(main) {
  const { label: name, term } = state();
  const label = labelNumber(name);
  const index = page.data.terms ? page.data.terms.term.indexOf(term) : -1;
  const back = el("p", {}, el("a", { class: "back", href: address("words", { by: state().by }) }, "← Top terms"));
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
  const sections = page.data.about.score.graded ? bySide(evidence, name) : byVerdict(evidence);
  const shown = sections.filter(([, some]) => some.length);
  const isAgainst = standingOf(aggregation(), label)?.against.includes(index);
  const parts = [
    back,
    el(
      "div",
      { class: `termhead ${colour(label)}` },
      el("h2", {}, bdi(writtenAs(index)), el("span", { class: "quiet" }, isAgainst ? " against " : " for "), bdi(name)),
      el("span", { class: "grow" }),
      downloads("evidence", () =>
        evidence.map(({ label: _, term: __, ...piece }) => ({ label: name, term, ...flatten(piece) })),
      ),
    ),
    el("p", { class: "lead" }, whereItStands(label, index)),
    termFigures(label, index),
    shown.length ? (page.data.documents.length ? textLegend(label) : null) : el("p", { class: "empty" }, noEvidence()),
    shown.length ? el("p", { class: "quiet some" }, someOf(label, index, evidence)) : null,
    el(
      "div",
      { class: `evidence ${colour(label)} ${otherColour(label)}` },
      shown.map(([title, some]) =>
        el(
          "section",
          { "aria-label": title },
          el("h3", {}, title),
          el("div", { class: "cards" }, some.map(occurrence)),
        ),
      ),
    ),
    legendOf({
      driver: valueAt(page.data.about.names, "driver"),
      ...Object.fromEntries(aggregations().map((one) => [one, aggregationNamed(one)?.help])),
    }),
  ];
  main.replaceChildren(...parts.filter(Boolean));
}

/** Cards where the term does something for the label, next to nothing, and something against it; each by its effect. */
function bySide(evidence, name) {
  const little = `changes less than ${NEXT_TO_NOTHING}`;
  const isNothing = (piece) => isLittle(piece) || !isTold(piece);
  return [
    [`Where it speaks for ${visible(name)}`, evidence.filter((piece) => !isNothing(piece) && piece.value > 0)],
    [
      page.data.about.score.perturbs ? `Where it ${little}, or is not told apart from 0` : `Where it ${little}`,
      evidence.filter(isNothing),
    ],
    [
      `Where it speaks against ${visible(name)}`,
      evidence.filter((piece) => !isNothing(piece) && piece.value < 0).reverse(),
    ],
  ];
}

const byVerdict = (evidence) => [
  ["Where it is an anchor", evidence.filter((piece) => piece.anchor)],
  ["Where it is not", evidence.filter((piece) => !piece.anchor)],
];

const flatten = (piece) =>
  Object.fromEntries(
    Object.entries(piece).map(([key, value]) => [key, typeof value === "object" ? JSON.stringify(value) : value]),
  );

/** How many of its tests are shown, where these are not all. */
function someOf(label, index, evidence) {
  const { anchors, non_anchors } = page.data.terms.labels[label];
  const tested = anchors[index] + non_anchors[index];
  return evidence.length < tested ? `${whole(evidence.length)} of its ${plural(tested, "test")} are shown` : "";
}

const noEvidence = () =>
  page.data.evidence.length || page.data.documents.length
    ? "No document is kept here: evidence is kept for the terms of the run's own list."
    : page.live && !page.live.snapshot?.finished
      ? "The evidence comes with the end of the run."
      : withoutTexts();

/** In a sentence why the term stands where it stands. */
function whereItStands(label, index) {
  const { name } = page.data.about.labels[label];
  const against = entriesAgainst(aggregation(), label).find((one) => one.number === index);
  const entry = against ?? entries(aggregation(), label).find((one) => one.number === index);
  if (!entry) return "It is in no document of this label.";
  const { rank, driver } = entry;
  const standing = standingOf(aggregation(), label);
  const reason = standing?.drivers.length ? null : standing?.note; // why no term is a driver
  const line = lowers(entry) ? "in no list, as its score is below 0" : notToldApart(label, [entry]);
  const kind = driver ? ": a driver" : reason ? "" : `: ${line}`;
  const place = against
    ? [`Rank ${whole(rank)} against `, bdi(name), ": a driver against it"]
    : [`Rank ${whole(rank)} for `, bdi(name), kind];
  return [
    ...place,
    ". ",
    howItFollows(label, entry) ?? scoreText(entry),
    comparedToAny(label, entry, !driver && !reason),
    reason ? ` ${visible(reason)}` : "",
  ];
}

/** A score with its interval, if that has a width: at its level, or as bounds. */
function estimateText({ score, low, high }) {
  const { level } = aggregationNamed(aggregation());
  const ends = `${number(low)} to ${number(high)}`;
  return number(score) + (isOpen({ low, high }) ? ` (${level < 1 ? percent(level) : "bounds"}: ${ends})` : "");
}

function scoreText(entry) {
  const found = entry.anchors === null ? "" : `, an anchor in ${whole(entry.anchors)} of them`;
  return `Score ${estimateText(entry)}; tested in ${whole(entry.tested)} of ${holders(entry.occurrences)}${found}.`;
}

/** In a sentence how a sum of effects follows from the tests of a term; nothing where it is no such sum. */
function howItFollows(label, entry) {
  const { number: index, score, tested, occurrences } = entry;
  const { effects, silent } = page.data.terms.labels[label];
  const { surrogate, weight } = settings();
  const { estimated } = page.data.about;
  const { asked, documents } = page.data.about.labels[label];
  if (!effects || !tested || !aggregationNamed(aggregation()).sum || weight !== "equal" || !estimated) return null;
  const mean = effects[index] / tested;
  const [estimate, product] = [estimateText(entry), mean * occurrences];
  if (silent.includes(index) && score && tested < occurrences) {
    const found = tested === 1 ? "Its one test" : `All ${whole(tested)} tests`;
    const source = surrogate ? "what the predictions suggest" : "what other terms do";
    return `${found} found exactly 0; the estimate of ${estimate} is only ${source}.`;
  }
  const found = `${tested === 1 ? "Test" : "Tests"}: ${signed(mean, 3)}${tested === 1 ? "" : " on average"} in ${holders(tested)}`;
  if (asked < documents) return `${found}; over all documents, of which a part was asked: estimate ${estimate}.`;
  if (tested === occurrences) return `${found}, all that there are: together ${estimate}.`;
  const all = `${found}; in all ${whole(occurrences)} that would be`;
  if (number(product) === number(score)) return `${all} ${estimate}.`;
  const source = surrogate ? "The model’s predictions suggest" : "What other terms do suggests";
  const less = score * product < 0 ? "otherwise" : Math.abs(score) < Math.abs(product) ? "less" : "more";
  return `${all} ${number(product)}. ${source} ${less} in the untested ones: estimate ${estimate}.`;
}

const MARGIN = 1.2; // a driver does more than so many times what any term does, as in scoring/forecasts.py

/** In a sentence what a driver is compared to; of a term in doubt that did more, why it is none. */
function comparedToAny(label, { number: index, tested }, isInDoubt) {
  const { effects, usual } = page.data.terms.labels[label];
  if (!usual || !tested || !aggregationNamed(aggregation()).sum) return "";
  const how = page.data.about.score.perturbs ? "replaced in" : "taken out of";
  const mean = effects[index] / tested;
  const few = tested === 1 ? "one test is too few" : "its tests are too few, or differ too much,";
  const doubt = isInDoubt && mean > MARGIN * Math.max(usual[index], 0) ? `, but ${few} to be sure` : "";
  return ` Any term ${how} such documents does about ${signed(usual[index], 3)}; this one ${signed(mean, 3)}${doubt}.`;
}

/** Its rank and score under each aggregation, and its counts in each label. */
function termFigures(label, index) {
  const { terms, about } = page.data;
  const ranks = aggregations().map((name) => {
    const entry = entries(name, label).find((one) => one.number === index);
    const against = (standingOf(name, label)?.against ?? []).indexOf(index);
    return { name, ...entry, against, now: name === aggregation() ? "now" : null };
  });
  const across = (title, make) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", title: valueAt(about.names, title) }, title),
      ranks.map((one) => el("td", { class: one.now }, make(one))),
    );
  const counts = (c) => [
    ...(about.score.anchors ? [c.anchors[index]] : []),
    c.anchors[index] + c.non_anchors[index],
    c.occurrences[index],
    c.documents[index],
  ];
  const labels = explained().map(({ number: i, name }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", class: colour(i) }, el("span", { class: "dot" }), bdi(name)),
      counts(terms.labels[i]).map((n) => el("td", {}, whole(n))),
    ),
  );
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
  const drivers = (name) =>
    standingOf(name, label)?.drivers.length ? "no" : el("span", { title: `${name} tells no term of this label apart` }, "–");
  const place = (one) => (one.against >= 0 ? `against, ${one.against + 1}` : (one.rank ? whole(one.rank) : "–"));
  return el(
    "div",
    { class: "figures" },
    el(
      "table",
      {},
      el("caption", {}, "Counts"),
      head("label", ...(about.score.anchors ? ["anchor"] : []), "tested", "occurs", "documents"),
      el("tbody", {}, labels),
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
          ...ranks.map((one) =>
            el(
              "a",
              { href: termAddress(state().label, state().term, one.name), title: aggregationNamed(one.name)?.help },
              one.name,
            ),
          ),
        ),
        el(
          "tbody",
          {},
          across("rank", place),
          across("score", (one) => number(one.score)),
          across("driver", (one) => (one.against >= 0 ? "against" : one.driver ? "yes" : drivers(one.name))),
        ),
      ),
    ),
  );
}

function occurrence(piece) {
  const source = page.data.documents.find((one) => one.key === piece.document);
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
    page.data.about.score.perturbs ? perturbedFigures(piece) : ownFigures(piece),
    piece.counts ? perturbedTexts(piece, source) : null,
    source
      ? el("p", { class: "quiet" }, el("a", { href: address("documents", { key: source.key }) }, "This document →"))
      : null,
  );
}

/** The probability of the label with the term and without it, and the difference: the numbers of this very document. */
function ownFigures(piece) {
  const without = piece.confidence - piece.value;
  const outcome = decision(without);
  return el(
    "div",
    {},
    el(
      "dl",
      { class: "split" },
      meterRow("with it", piece.confidence, fixed(piece.confidence, 3)),
      meterRow("without it", without, fixed(without, 3)),
    ),
    el(
      "p",
      { class: "verdict" },
      el("b", {}, `effect ${signed(piece.value, 3)}`),
      " on the probability of ",
      bdi(page.data.about.labels[piece.label].name),
      ".",
      outcome === "stays" ? null : outcome === "flips" ? " Without it the decision flips." : ` Without it: ${outcome}.`,
    ),
  );
}

/** In how many of the kept perturbed texts the prediction stayed, and what the test said of all of its texts. */
function perturbedFigures(piece) {
  const { kept_with = 0, lost_with = 0, kept_without = 0, lost_without = 0 } = piece.counts ?? {};
  const row = (title, kept, lost) =>
    kept + lost ? meterRow(title, kept / (kept + lost), `prediction kept in ${kept} of ${kept + lost}`) : null;
  return el(
    "div",
    {},
    el("dl", { class: "split" }, row("with it", kept_with, lost_with), row("without it", kept_without, lost_without)),
    el("p", { class: "verdict" }, el("b", {}, page.data.about.score.graded ? effectText(piece) : verdictText(piece))),
  );
}

const verdictText = ({ anchor, agreements, samples }) =>
  `${anchor ? "anchor" : "no anchor"}: its test kept the prediction in ${agreements} of ${samples} texts`;

function perturbedTexts(piece, source) {
  const n = Object.values(piece.counts).reduce((sum, one) => sum + one, 0);
  return el(
    "details",
    {},
    el("summary", {}, plural(n, "perturbed text")),
    KINDS.map(([kind, title]) =>
      piece[kind].length
        ? el(
            "div",
            { class: kind },
            el("h4", {}, title, el("span", { class: "quiet" }, ` ${piece.counts[kind]}×`)),
            el(
              "ul",
              {},
              piece[kind].map((text) => el("li", { class: "text", dir: "auto" }, changed(source?.text, text))),
            ),
          )
        : null,
    ),
  );
}

const meterRow = (title, share, told) =>
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
        el("span", { css: { width: `${Math.max(0, Math.min(1, share)) * 100}%` } }),
      ),
      told,
    ),
  );

/** The text of a document with the term in its shade there. */
function highlighted(source, term) {
  const spans = source.words.map(asWord).filter((word) => word.term === term);
  const full = fullEffect();
  return marked(source.text, spans, (word, text) => el("b", {}, shadedWord(word, text, full)));
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
