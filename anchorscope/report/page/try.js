"use strict";

/* Try it: a text of one's own, its prediction and anchors; remove or replace a word and watch. Live page only. */

const attempt = { text: null, answer: null, chosen: null, past: [], busy: false, error: null };

function tryView(main) {
  if (!page.live?.canTry) {
    main.replaceChildren(el("p", { class: "empty" }, "There is no model behind this page to ask."));
    return;
  }
  attempt.text ??= state().text ?? page.data.documents?.[0]?.text ?? "";
  const box = el("textarea", {
    id: "text",
    rows: 4,
    dir: "auto",
    spellcheck: "false",
    maxlength: 20000,
    "aria-label": "Your text",
    on: {
      input: (event) => {
        attempt.text = event.target.value;
        attempt.chosen = null;
        attempt.busy = false;
        guess();
      },
      keydown: (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(true);
      },
    },
  });
  box.value = attempt.text;
  main.replaceChildren(
    el(
      "div",
      { class: "try" },
      el(
        "section",
        {},
        box,
        el(
          "p",
          { class: "tools" },
          el("button", { type: "button", class: "primary", on: { click: () => ask(true) } }, "Find the anchors"),
          el("span", { class: "quiet" }, "The prediction follows as you type. Ctrl-Enter finds the anchors."),
        ),
        el("div", { id: "answer" }),
      ),
      el("section", { id: "past", "aria-label": "Earlier texts" }),
    ),
  );
  showAnswer();
  if (!attempt.answer && attempt.text.trim()) ask(false);
}

const guess = debounced(350, () => ask(false));

async function ask(anchors) {
  const text = attempt.text;
  if (!text.trim()) return;
  if (!anchors && (attempt.busy || knowsAnchors(text))) return;
  attempt.busy = anchors;
  attempt.error = null;
  showAnswer();
  try {
    const answer = await post("/try", { text, anchors });
    if (text !== attempt.text || (!anchors && knowsAnchors(text))) return;
    attempt.answer = { ...answer, text, anchors };
    attempt.past = [
      { text, label: answer.label, probability: valueAt(answer.probabilities, answer.label) },
      ...attempt.past.filter((one) => one.text !== text),
    ].slice(0, 12);
  } catch (error) {
    attempt.error = error.message;
  }
  if (anchors) attempt.busy = false;
  showAnswer();
}

const knowsAnchors = (text) => attempt.answer?.text === text && attempt.answer.anchors;

function showAnswer() {
  const place = document.getElementById("answer");
  if (!place) return;
  const { answer, busy, error } = attempt;
  place.replaceChildren(
    ...[
      error ? el("p", { class: "error", role: "alert" }, error) : null,
      busy ? el("p", { class: "quiet" }, "Words are replaced, and the model is asked …") : null,
      answer
        ? el(
            "div",
            { class: "prediction" },
            Object.entries(answer.probabilities).map(([name, p]) => probability(name, p)),
          )
        : null,
      answer
        ? el(
            "p",
            { class: `text large ${colour(labelNumber(answer.label))}`, dir: "auto" },
            marked(answer.text, answer.words, (word, text) => wordButton(word, text)),
          )
        : null,
      answer && attempt.chosen
        ? wordEditor(attempt.chosen)
        : answer
          ? el("p", { class: "quiet" }, "Choose a word to remove or replace it.")
          : null,
    ].filter(Boolean),
  );
  document.getElementById("past").replaceChildren(
    el("h3", {}, "What you tried"),
    el(
      "ol",
      { class: "past" },
      attempt.past.map((one) =>
        el(
          "li",
          { class: colour(labelNumber(one.label)) },
          el(
            "button",
            { type: "button", class: "plain", on: { click: () => change(one.text) } },
            el("span", { class: "badge" }, bdi(one.label), ` ${one.probability.toFixed(3)}`),
            el("span", { class: "text", dir: "auto" }, visible(one.text)),
          ),
        ),
      ),
    ),
  );
}

const probability = (name, p) =>
  el(
    "div",
    { class: colour(Math.max(0, labelNumber(name))) },
    el("span", { class: "name" }, bdi(name)),
    el("span", { class: "meter", "aria-hidden": "true" }, el("span", { css: { width: `${p * 100}%` } })),
    el("span", { class: "score" }, p.toFixed(3)),
  );

function wordButton(word, text) {
  const told = word.samples
    ? `${word.anchor ? "anchor" : "no anchor"}, kept in ${word.agreements} of ${word.samples}`
    : "not tested yet";
  return el(
    "button",
    {
      type: "button",
      class: `word ${word.anchor ? "anchor" : word.samples ? "tested" : ""}`,
      "aria-pressed": String(attempt.chosen?.start === word.start),
      title: told,
      on: {
        click: () => {
          attempt.chosen = word;
          showAnswer();
          document.getElementById("replacement")?.focus();
        },
      },
    },
    text,
  );
}

function wordEditor(word) {
  const { text } = attempt.answer;
  const input = el("input", {
    id: "replacement",
    type: "text",
    dir: "auto",
    maxlength: 200,
    "aria-label": "The word in its place",
    on: {
      keydown: (event) => {
        if (event.key === "Enter") put(input.value);
      },
    },
  });
  input.value = text.slice(word.start, word.end);
  const put = (fill) =>
    change(
      text.slice(0, word.start) +
        fill +
        text.slice(fill ? word.end : word.end + (/\s/.test(text[word.end] ?? "") ? 1 : 0)),
    );
  return el(
    "p",
    { class: "tools editor" },
    input,
    el("button", { type: "button", on: { click: () => put(input.value) } }, "Replace"),
    el("button", { type: "button", on: { click: () => put("") } }, "Remove"),
  );
}

function change(text) {
  attempt.text = text;
  attempt.busy = false;
  attempt.chosen = null;
  document.getElementById("text").value = text;
  ask(false);
}
