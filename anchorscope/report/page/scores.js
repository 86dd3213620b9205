"use strict";

/** The value under a key that came with the data; never what every object has, such as its constructor. */
const valueAt = (object, key) => (object && Object.hasOwn(object, key) ? object[key] : undefined);

/* Scores come with the page, a column an aggregation; here they are put in order. */

const aggregationNamed = (name) => page.data.terms?.aggregations.find((one) => one.name === name);

/** Scores of all terms of one label. */
const scoresOf = (terms, name, label) => valueAt(terms.labels[label].scores, name);

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
