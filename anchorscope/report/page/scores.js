"use strict";

/* Aggregation: the formulas of anchorscope/scores.py, over the columns of the page. A test holds the two together. */

const AGGREGATIONS = {
  gain: "Gain: the probability that the word brings to all its occurrences",
  pr: "Probabilistic: how likely an anchor of the class is this word",
  sq: "Square root of the number of anchors",
  av: "Share of anchors among the occurrences",
  av5: "Share of anchors, of words seen five times in training",
  h: "Square root of anchors, less where several classes share the word",
  base: "Share of the class among the documents with the word (no anchors)",
};

const ratio = (numerator, denominator) => (denominator === 0 ? 0 : numerator / denominator);

const FORMULAS = {
  gain: (terms, label) => terms.labels[label].gains.map((gain) => gain * 1e-6),
  sq: (terms, label) => terms.labels[label].counted_anchors.map(Math.sqrt),
  av: (terms, label) => {
    const { counted_anchors: anchors, counted_non_anchors: others } = terms.labels[label];
    return anchors.map((anchor, i) => ratio(anchor, anchor + others[i]));
  },
  av5: (terms, label) => FORMULAS.av(terms, label).map((share, i) => (terms.training[i] >= 5 ? share : 0)),
  h: (terms, label) => {
    const [low, high] = terms.entropy;
    return FORMULAS.sq(terms, label).map((root, i) => {
      const roots = terms.labels.map((column) => Math.sqrt(column.counted_anchors[i]));
      return root === 0 ? 0 : root * (high > low ? 1 - (entropy(roots) - low) / (high - low) : 1);
    });
  },
  pr: (terms, label, alpha) => {
    const column = terms.labels[label];
    const least = Math.abs(column.least_q);
    return column.counted_anchors.map((anchors, i) => {
      const background = ratio(column.counted_non_anchors[i], column.total_non_anchors);
      const q = ratio(anchors, column.total_anchors) / alpha - (1 / alpha - 1) * background;
      return (q + least) / (1 + terms.n_terms * least);
    });
  },
  base: (terms, label) =>
    terms.labels[label].documents.map((n, i) =>
      ratio(
        n,
        terms.labels.reduce((sum, column) => sum + column.documents[i], 0),
      ),
    ),
};

function entropy(weights) {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return Math.abs(
    weights.reduce((sum, weight) => (weight > 0 ? sum + (weight / total) * Math.log(weight / total) : sum), 0),
  );
}

/** Scores of all terms of one label; those of an aggregation without a formula here come with the page. */
function scoresOf(terms, name, label, alpha) {
  return name in FORMULAS ? FORMULAS[name](terms, label, alpha) : terms.labels[label].own_scores;
}

/** Numbers of the terms that occur in the label's documents, best first: by score, occurrences, then term. */
function ranking(terms, scores, label) {
  const { occurrences } = terms.labels[label];
  const numbers = scores.map((_, i) => i).filter((i) => occurrences[i] > 0);
  return numbers.sort(
    (a, b) =>
      (Math.abs(scores[a] - scores[b]) < 1e-14 ? 0 : scores[b] - scores[a]) || occurrences[b] - occurrences[a] || a - b,
  );
}

/** The entries of a list in the order of their rows: they stay in order until an interval lies wholly above another.
 * Terms that are new come in at their rank.
 */
function keepRows(previous, list) {
  const now = new Map(list.map((entry) => [entry.term, entry]));
  const rows = inOrder(previous.filter((term) => now.has(term)).map((term) => now.get(term)));
  for (const entry of list) if (!rows.includes(entry)) rows.splice(entry.rank - 1, 0, entry);
  return inOrder(rows);
}

/** Rows filled from the top, each with the first entry left that no other one left is surely better than. */
function inOrder(entries) {
  const left = [...entries];
  return entries.map(() => {
    const next = left.findIndex((entry) => !left.some((other) => bound(other, "low") > bound(entry, "high")));
    return left.splice(next, 1)[0];
  });
}

const bound = (entry, side) =>
  entry[side] ?? (entry.low === null ? (side === "low" ? -Infinity : Infinity) : entry.score);
