"use strict";

/* What a word does in a document, as a shade: for the label that is predicted in its colour, against it in another; the
 * stronger, the more it does; hatched where it is not told apart from doing nothing, dotted where a test found nothing. */

const DEVIATIONS = 2; // an effect within so many deviations of 0 is not told apart from it
const NEXT_TO_NOTHING = 0.005;
const [WEAKEST_SHADE, STRONGEST_SHADE] = [6, 50]; // percent of the colour

const isTold = ({ value, deviation }) =>
  value !== null && deviation !== null && Math.abs(value) > DEVIATIONS * deviation;

/** Whether an effect is next to nothing, by the digits that are shown of it. */
const isLittle = ({ value, deviation }) => Math.abs(rounded(value, deviation === 0 ? 3 : 2)) < NEXT_TO_NOTHING;

/** Whether a score without noise found no effect at all: there is nothing to be unsure of. */
const isNone = ({ value, deviation }) => value === 0 && deviation === 0;

/** The kind of an effect: none, for, against, or nothing that can be told. */
const kindOf = (word) => (isNone(word) ? "none" : !isTold(word) ? "untold" : word.value > 0 ? "for" : "against");

const allWords = () => (page.data.documents ?? []).flatMap((one) => one.words.map(asWord));

/** The colour of what speaks against a label: of two labels, that of the other one. */
const otherColour = (label) => (page.data.about.labels.length === 2 ? `o${1 - label}` : "");

/** The effect of a full shade: the greatest that this page shows, so that all of its texts are to one scale. */
const fullEffect = () =>
  Math.max(0.05, ...(page.data.documents ?? []).flatMap((one) => one.words.map((word) => Math.abs(word[3]))));

function shadeOf(word, full) {
  const kind = kindOf(word);
  const share = Math.min(1, Math.abs(word.value ?? 0) / full);
  const shade = WEAKEST_SHADE + share * (STRONGEST_SHADE - WEAKEST_SHADE);
  return { class: `effect ${kind}`, css: { "--shade": `${shade.toFixed(1)}%` } };
}

/** An effect in words. */
function effectText({ value, deviation }) {
  if (value === null || value === undefined) return "not tested";
  const reach = fixed(DEVIATIONS * deviation, 2);
  const off = deviation === null ? ", its noise unknown" : deviation ? ` ± ${reach}` : "";
  return `effect ${signed(value, deviation === 0 ? 3 : 2)}${off}${isTold({ value, deviation }) || isNone({ value, deviation }) ? "" : ", not told apart from 0"}`;
}

/** What the shades of some words mean; `label` is the one that they are about, if it is one. Of two labels a shade is that
 * of either: what is for one in its documents is against the other in the other's, so that it has no sign. */
function effectLegend(label, full = fullEffect(), words = allWords()) {
  const hasHatched = words.some((word) => kindOf(word) === "untold");
  const names = page.data.about.labels.map((one) => one.name);
  const isOfTwo = names.length === 2;
  const about = label ?? (isOfTwo ? 1 : 0);
  const written = isOfTwo && label === undefined ? (value) => fixed(Math.abs(value), 2) : signed;
  const swatch = (value, text, deviation = 0) =>
    el("span", { ...shadeOf({ value, deviation }, full), "aria-hidden": "true" }, text ?? written(value));
  return el(
    "p",
    { class: `shades ${colour(about)} ${otherColour(about)}` },
    isOfTwo ? el("span", {}, "for ", bdi(names[1 - about])) : "against the label",
    swatch(-full),
    swatch(-full / 3),
    hasHatched ? swatch(0, "0?", null) : swatch(0, "0"),
    swatch(full / 3),
    swatch(full),
    isOfTwo || label !== undefined ? el("span", {}, "for ", bdi(names[about])) : "for the label, in its colour",
    el(
      "span",
      { class: "quiet" },
      `A shade is the effect of a term in its document: ${page.data.about.score.help}.${hasHatched ? " Hatched: not told apart from 0." : " Dotted: tested, no effect."} Plain: not tested there.`,
    ),
  );
}

/** What the marks mean in the documents of a run that tests for anchors. */
const anchorLegend = () =>
  el(
    "p",
    { class: "shades c0" },
    el("mark", { class: "anchor" }, "anchor"),
    el("span", { class: "quiet" }, "A test found: with this term kept and other words replaced, the prediction stays."),
    el("span", { class: "tested" }, "tested"),
    el(
      "span",
      { class: "quiet" },
      "and no anchor. Plain: not tested. Of a robust document every term is an anchor: it keeps its prediction anyway.",
    ),
  );

const textLegend = (label) => (page.data.about.score.graded ? effectLegend(label) : anchorLegend());

/** A word of a text in its shade; or, in a run that tests for anchors, as one if it was found to be. */
function shadedWord(word, text, full) {
  if (page.data.about.score.graded) return el("span", { ...shadeOf(word, full), title: effectText(word) }, text);
  const told = `${word.anchor ? "anchor" : "no anchor"}: kept in ${word.agreements} of ${word.samples}`;
  return el(word.anchor ? "mark" : "span", { class: word.anchor ? "anchor" : "tested", title: told }, text);
}

const asWord = ([start, end, term, value, deviation, anchor, agreements, samples]) => ({
  start,
  end,
  term,
  value,
  deviation,
  anchor,
  agreements,
  samples,
});

/** What becomes of a decision when its label falls to a probability; of more than two labels, nobody knows between 1/n
 * and 1/2: what the model said of the others is not kept. */
function decision(without) {
  const n = page.data.about.labels.length;
  return without < 1 / n ? "flips" : without > 0.5 || n === 2 ? "stays" : "below one half, another label may win";
}
