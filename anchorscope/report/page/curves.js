"use strict";

/* Three curves: AOPC^k over k, quality over time, interval width over time. */

function curvesView(main) {
  const history = page.history.length ? page.history : (page.data.history ?? []);
  const labels = explained().filter((label) => label.asked); // of the others nothing is known that could be good
  const over = (value) =>
    labels.map((label) => ({
      name: label.name,
      number: label.number,
      points: history
        .map((moment) => [moment.seconds, value(valueAt(moment.labels, label.name) ?? {})])
        .filter(([, y]) => y !== null && y !== undefined),
    }));
  const aopc = labels.map((label) => ({
    name: label.name,
    number: label.number,
    points: (valueAt(page.data.aopc, label.name)?.curve ?? []).map((y, i) => [i + 1, y]),
  }));
  const raced = history.some((moment) => labels.some((label) => valueAt(moment.labels, label.name)?.regret !== null));
  main.replaceChildren(
    el(
      "div",
      { class: "tools" },
      el("span", { class: "grow" }),
      downloads("curves", () => curveRows(history, aopc)),
    ),
    el(
      "div",
      { class: "curves" },
      chart(
        "What the terms are worth",
        "AOPCᵏ: the drop of the label’s probability as the top terms are removed one by one, the mean over the first k steps. A running mean: it rises even when the k-th term does nothing",
        "k, terms removed",
        aopc,
        { from: 0, whole: true, missing: page.data.about.no_curve },
      ),
      raced
        ? chart(
            "Quality over time",
            "Expected share of the best list’s score: 1 − regret, no bound",
            "seconds",
            over((here) => (here.regret === null || here.regret === undefined ? null : Math.max(0, 1 - here.regret))),
            { to: 1, format: percent },
          )
        : chart(
            "Quality over time",
            "Share of the final list that was shown already",
            "seconds",
            over((here) => here.overlap),
            { to: 1, format: percent },
          ),
      chart(
        "Width over time",
        "Mean width of the intervals of the shown terms",
        "seconds",
        over((here) => here.width),
        { from: 0 },
      ),
      chart(
        "The list over time",
        "Share of the list shown last that was shown already",
        "seconds",
        over((here) => here.overlap),
        { to: 1, format: percent },
      ),
    ),
  );
}

const curveRows = (history, aopc) => [
  ...aopc.flatMap(({ name, points }) => points.map(([k, value]) => ({ curve: "aopc", label: name, k, value }))),
  ...history.flatMap((moment) =>
    aopc
      .map(({ name }) => [name, valueAt(moment.labels, name)])
      .filter(([, here]) => here)
      .map(([label, here]) => ({
        curve: "history",
        label,
        round: moment.round,
        seconds: moment.seconds,
        tests: moment.tests,
        ...here,
      })),
  ),
];

/** A number on an axis: three digits, without the zeros behind them. */
const short = (x) => minus(Number(x.toPrecision(3)).toLocaleString("en", { maximumFractionDigits: 9 }));

/** A line a label, named at its end. */
function chart(
  title,
  subtitle,
  below,
  series,
  { from, to, whole: counts = false, format = short, missing = "Comes with the first rounds." },
) {
  const some = series.filter((one) => one.points.length);
  const figure = el(
    "figure",
    { class: "chart" },
    el("figcaption", {}, el("strong", {}, title), el("span", {}, subtitle)),
  );
  if (!some.length) {
    figure.append(el("p", { class: "empty" }, missing));
    return figure;
  }
  const [w, h, left, right, top, bottom] = [innerWidth < 600 ? 370 : 520, 260, 48, 16, 12, 38];
  const all = some.flatMap((one) => one.points);
  const [x0, x1] = [Math.min(...all.map(([x]) => x)), Math.max(...all.map(([x]) => x))];
  const ys = all.map(([, y]) => y);
  const ticks = niceTicks(Math.min(from ?? Infinity, ...ys), Math.max(to ?? -Infinity, ...ys));
  const [y0, y1] = [Math.min(ticks[0], ...ys), Math.max(ticks.at(-1), ...ys)];
  const x = (value) => left + ((value - x0) / (x1 - x0 || 1)) * (w - left - right);
  const y = (value) => h - bottom - ((value - y0) / (y1 - y0 || 1)) * (h - top - bottom);
  const drawing = svg(
    "svg",
    {
      viewBox: `0 0 ${w} ${h}`,
      role: "img",
      "aria-label": `${title}. ${subtitle}. ${some.map((one) => `${one.name}: ${format(one.points[0][1])} to ${format(one.points.at(-1)[1])}`).join("; ")}`,
    },
    ticks.map((tick) =>
      svg(
        "g",
        { class: "grid" },
        svg("line", { x1: left, x2: w - right, y1: y(tick), y2: y(tick) }),
        svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, format(tick)),
      ),
    ),
    niceTicks(x0, x1)
      .filter((tick) => tick >= x0 && tick <= x1 && (!counts || Number.isInteger(tick)))
      .map((tick) =>
        svg("text", { class: "tick", x: x(tick), y: h - bottom + 18, "text-anchor": "middle" }, short(tick)),
      ),
    svg("text", { class: "axis", x: w - right, y: h - 4, "text-anchor": "end" }, below),
    some.map((one) =>
      svg(
        "g",
        { class: colour(one.number) },
        svg("polyline", {
          class: `line dash${one.number % 6}`,
          points: one.points.map(([a, b]) => `${x(a)},${y(b)}`).join(" "),
        }),
        one.points.length < 60
          ? one.points.map(([a, b]) =>
              svg(
                "circle",
                { cx: x(a), cy: y(b), r: 2.5 },
                svg("title", {}, `${one.name}, ${short(a)}: ${format(b)}`),
              ),
            )
          : null,
      ),
    ),
  );
  const key = el(
    "ul",
    { class: "key" },
    some.map((one) =>
      el(
        "li",
        { class: colour(one.number) },
        el("span", { class: "dot" }),
        bdi(one.name),
        el("span", { class: "quiet" }, ` ${format(one.points.at(-1)[1])}`),
      ),
    ),
  );
  figure.append(drawing, key);
  return figure;
}

/** Four to six round numbers that cover a range. */
function niceTicks(low, high) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const first = Math.floor(low / step + 1e-9);
  return Array.from({ length: Math.ceil(high / step - 1e-9) - first + 1 }, (_, i) =>
    Number(((first + i) * step).toPrecision(12)),
  );
}
