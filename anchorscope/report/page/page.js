"use strict";

/* The frame: header, tabs, drawing the view that the address names, and where the data come from. */

const VIEWS = {
  words: ["Top terms", wordsView],
  documents: ["Documents", documentsView],
  curves: ["Curves", curvesView],
  table: ["All terms", tableView],
  compare: ["Compare", compareView],
  try: ["Try it", tryView],
  term: [null, termView],
};

const MOST_NAMED = 5; // labels in the title; of more, one less and the number of the others

let drawn = null; // the address that is on the screen

function draw() {
  if (!page.data) return;
  const { view } = state();
  const name = valueAt(VIEWS, view) ? view : "words";
  const main = document.getElementById("main");
  const focused = document.activeElement?.id;
  const caret = document.activeElement?.selectionStart;
  header();
  tabs(name);
  VIEWS[name][1](main);
  if (focused === "search") {
    const again = document.getElementById("search");
    again?.focus();
    if (caret !== null && caret !== undefined) again?.setSelectionRange(caret, caret);
  }
  const place = `${name} ${state().term ?? ""} ${state().key ?? ""}`;
  if (drawn !== null && drawn !== place) scrollTo(0, 0);
  drawn = place;
}

/** Make what stands in an element anew only if what it is made from has changed: a button must not go while it is pressed. */
function renew(element, madeFrom, make) {
  const key = JSON.stringify(madeFrom);
  if (element.dataset.madeFrom === key) return;
  element.dataset.madeFrom = key;
  element.replaceChildren(...make().filter(Boolean));
}

function header() {
  const { about, name } = page.data;
  const { state: standing, done, error, controls: controlled } = page.live ?? {};
  const names = explained().map((label) => label.name);
  renew(document.getElementById("header"), [about.model, name, names, standing, done, error, controlled], frame);
  const told = figures().map(([key, value]) => el("div", {}, el("dt", {}, key), el("dd", {}, value)));
  document.querySelector(".about").replaceChildren(...told);
  const bar = document.querySelector(".progress");
  if (!bar) return;
  const planned = page.live.snapshot?.tests_planned ?? 0;
  const share = about.cost.tests ? about.cost.tests / (about.cost.tests + planned) : 0;
  bar.setAttribute("aria-valuenow", Math.round(share * 100));
  bar.firstChild.style.setProperty("width", `${share * 100}%`);
}

function frame() {
  const { about, name } = page.data;
  const labels = explained();
  const named = labels.length <= MOST_NAMED ? labels : labels.slice(0, MOST_NAMED - 1);
  const listed = named.flatMap((label, i) => [
    i ? (i === labels.length - 1 ? " or " : ", ") : "",
    el("span", { class: `labelname ${colour(label.number)}` }, bdi(label.name)),
  ]);
  document.title = `${visible(about.model)} – Anchorscope`;
  return [
    el(
      "div",
      { class: "brand" },
      el("span", { class: "logo", "aria-hidden": "true" }, el("i"), el("i"), el("i")),
      el("span", {}, "Anchorscope"),
      el("span", { class: "quiet run" }, bdi(name ?? "")),
      el("span", { class: "grow" }),
      controls(),
      el(
        "button",
        {
          type: "button",
          class: "icon",
          "aria-label": "Light or dark",
          title: "Light or dark",
          on: { click: () => theme.toggle() },
        },
        "◐",
      ),
    ),
    el(
      "h1",
      {},
      "Which words make ",
      el("span", { class: "model" }, bdi(about.model)),
      " say ",
      listed,
      labels.length > named.length ? ` or ${labels.length - named.length} others` : "",
      "?",
    ),
    el("dl", { class: "about" }),
    ...about.not_tested.map((told) => el("p", { class: "quiet cut" }, visible(told))),
    page.live && !page.live.done ? progress() : null,
    page.live?.error ? el("p", { class: "error", role: "alert" }, visible(page.live.error)) : null,
  ];
}

function figures() {
  const { about } = page.data;
  const skipped = Object.values(about.skipped ?? {}).reduce((sum, n) => sum + n, 0);
  const asked = explained().filter((label) => label.asked); // of the others nothing can be settled
  const none = explained().length - asked.length;
  const settled = `${asked.filter((label) => label.settled).length} of ${asked.length} settled`;
  return [
    ["documents", whole(about.documents) + (skipped ? ` (${whole(skipped)} left out)` : "")],
    ...(about.asked < about.documents ? [["documents asked", whole(about.asked)]] : []),
    ...(about.texts ? [] : [["texts", "left out"]]),
    ["method", el("span", { title: `${about.score.name}: ${about.score.help}` }, about.score.name)],
    ["strategy", settings().strategy],
    ...(about.perturbator ? [["perturbator", bdi(about.perturbator)]] : []),
    ["seed", String(settings().seed)],
    ["tests", el("span", { title: `one call of the model: ${about.score.call}` }, whole(about.cost.tests))],
    ["model calls", [whole(about.cost.predictor_texts), callsText()]],
    ["time", clock(about.cost.seconds)],
    [
      "state",
      el(
        "span",
        { class: `standing ${about.settled && page.live?.state !== "paused" ? "settled" : ""}` },
        page.live && !page.live.done && !(about.settled && page.live.state === "running")
          ? (predictedText() ?? page.live.state)
          : none
            ? `${settled}, ${none} without documents`
            : about.settled
              ? "settled"
              : settled,
      ),
    ],
  ];
}

/** Before there are terms: how many documents are predicted. */
function predictedText() {
  const { predicted } = page.live;
  return predicted && `predicting documents: ${whole(predicted[0])} of ${whole(predicted[1])}`;
}

/** What the model was called for, once the run has ended. */
function callsText() {
  const { calls, cost } = page.data.about;
  if (page.live && !page.live.done) return null;
  const parts = [
    [calls.predictions, "predictions"],
    [calls.tests, calls.tests === cost.tests ? "tests" : "for tests"],
    [calls.evidence, "for evidence and curves"],
  ].filter(([n]) => n > 0);
  const told = parts.map(([n, what]) => `${whole(n)} ${what}`).join(" + ");
  return parts.length > 1 ? el("span", { class: "quiet" }, ` = ${told}`) : null;
}

function controls() {
  if (!page.live || page.live.done || !page.live.controls) return null;
  const button = (action, text) => el("button", { type: "button", on: { click: () => control(action) } }, text);
  return el(
    "span",
    { class: "controls" },
    page.live.state === "paused" ? button("resume", "Resume") : button("pause", "Pause"),
    button("stop", "Stop"),
  );
}

function progress() {
  const name = "Tests done, of those that may be needed";
  const range = { "aria-valuemin": 0, "aria-valuemax": 100 };
  return el(
    "div",
    { class: `progress ${page.live.state}`, role: "progressbar", "aria-label": name, ...range },
    el("span"),
  );
}

function tabs(current) {
  const { by, hide } = state();
  renew(document.getElementById("tabs"), [current, by, hide, page.live?.canTry], () =>
    Object.entries(VIEWS)
      .filter(([name, [title]]) => title && (name !== "try" || page.live?.canTry))
      .map(([name, [title]]) =>
        el(
          "a",
          {
            href: address(name, name === "words" ? { by, hide } : name === "table" ? { by } : {}),
            "aria-current": name === current || (current === "term" && name === "words") ? "page" : null,
          },
          title,
        ),
      ),
  );
  const [nav, here] = [document.getElementById("tabs"), document.querySelector("#tabs [aria-current]")];
  if (here && nav.scrollWidth > nav.clientWidth) nav.scrollLeft = here.offsetLeft - nav.clientWidth / 3;
}

function footer() {
  const keys = [
    [`1–${document.querySelectorAll("#tabs a").length}`, "views"],
    ["/", "search"],
    ["arrows", "from term to term"],
    ["Esc", "back"],
  ];
  document.getElementById("footer").replaceChildren(
    el("p", {}, "Anchorscope ", page.data.about.versions?.anchorscope ?? ""),
    el(
      "p",
      { class: "keys" },
      keys.map(([key, what]) => [el("kbd", {}, key), ` ${what} `]),
    ),
  );
}

function keys(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const links = document.querySelectorAll("#tabs a");
  if (event.key >= "1" && event.key <= String(links.length)) links[event.key - 1].click();
  else if (event.key === "Escape" && ["term", "documents"].includes(state().view))
    document.querySelector(".back")?.click();
  else if (event.key === "/") {
    event.preventDefault();
    if (!document.getElementById("search")) location.hash = address("table", { by: state().by });
    requestAnimationFrame(() => document.getElementById("search")?.focus());
  }
}

/* --- where the data come from --- */

async function post(path, values) {
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(values),
  });
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(said.error ?? `The server answered ${answer.status}.`);
  return said;
}

const control = (action) => post("/control", { action }).catch((error) => say(error.message));

async function startLive() {
  page.live = { state: "starting", snapshot: null, done: false, canTry: false, error: null, fetched: -1, busy: false };
  await refresh();
  const events = new EventSource("/events");
  events.onmessage = (event) => take(JSON.parse(event.data));
  events.onerror = () => {
    if (events.readyState === EventSource.CLOSED) say("The connection to the run is closed.");
  };
}

/** The whole view again: what an event does not carry. */
async function refresh() {
  if (page.live.busy) return;
  page.live.busy = true;
  try {
    const answer = await fetch("/view.json");
    if (!answer.ok) return;
    const fresh = await answer.json();
    page.data = { ...fresh, other: page.data?.other ?? fresh.other };
    page.history = fresh.history ?? [];
    page.live.fetched = fresh.about.rounds;
    page.live.at = performance.now();
    if (state().view === "try" && drawn?.startsWith("try"))
      header(); // nobody's typing is taken away
    else draw();
    footer();
  } finally {
    page.live.busy = false;
  }
}

/** An event: where the run stands. */
function take({ snapshot, ...rest }) {
  const was = page.live.state;
  Object.assign(page.live, rest, snapshot ? { snapshot } : {});
  if (snapshot) {
    const { about } = page.data;
    Object.assign(about, { cost: snapshot.cost, settled: snapshot.settled });
    for (const label of about.labels) {
      const { terms: _, against: __, ...standing } = valueAt(snapshot.labels, label.name) ?? {};
      Object.assign(label, standing);
    }
  }
  header();
  tabs(state().view);
  footer(); // a view more can be tried
  if (page.live.state !== was) say(`The run is ${page.live.state}.`);
  if (state().view === "words" && document.getElementById("panels")) updateWords();
  const stale = snapshot && snapshot.round !== page.live.fetched;
  const needs =
    state().view !== "words" ||
    aggregation() !== settings().aggregation ||
    !page.data.terms;
  if (
    page.live.done
      ? page.live.round !== page.live.final
      : stale && needs && state().view !== "try" && performance.now() - (page.live.at ?? 0) > 3000
  ) {
    if (page.live.done) page.live.final = page.live.round;
    refresh();
  }
}

function start() {
  theme.apply();
  addEventListener("hashchange", draw);
  addEventListener("keydown", keys);
  document.getElementById("skip").addEventListener("click", () => document.getElementById("main").focus());
  const embedded = document.getElementById("data");
  if (!embedded) return startLive();
  page.data = JSON.parse(embedded.textContent);
  page.history = page.data.history ?? [];
  draw();
  footer();
}

start();
