"use strict";

/* Try it: a text of one's own, its prediction and what each word does; remove or replace a word and watch. Live page
 * only. */

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
          el("button", { type: "button", class: "primary", on: { click: () => ask(true) } }, "Test every word"),
          el("span", { class: "quiet" }, "The prediction follows as you type. Ctrl-Enter tests every word."),
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

async function ask(words) {
  const text = attempt.text;
  if (!text.trim()) return;
  if (!words && (attempt.busy || knowsWords(text))) return;
  attempt.busy = words;
  attempt.error = null;
  showAnswer();
  try {
    const answer = await post("/try", { text, words });
    if (text !== attempt.text || (!words && knowsWords(text))) return;
    attempt.answer = { ...answer, text, isMeasured: words };
    attempt.past = [
      { text, label: answer.label, probability: valueAt(answer.probabilities, answer.label) },
      ...attempt.past.filter((one) => one.text !== text),
    ].slice(0, 12);
  } catch (error) {
    attempt.error = error.message;
  }
  if (words) attempt.busy = false;
  showAnswer();
}

const knowsWords = (text) => attempt.answer?.text === text && attempt.answer.isMeasured;

function showAnswer() {
  const place = document.getElementById("answer");
  if (!place) return;
  const { answer, busy, error } = attempt;
  const label = Math.max(0, labelNumber(answer?.label));
  const full = Math.max(0.05, ...(answer?.words ?? []).map((word) => Math.abs(word.effect ?? 0)));
  place.replaceChildren(
    ...[
      error ? el("p", { class: "error", role: "alert" }, error) : null,
      busy ? el("p", { class: "quiet" }, "Words are changed, and the model is asked …") : null,
      answer
        ? el(
            "div",
            { class: "prediction" },
            Object.entries(answer.probabilities).map(([name, p]) => probability(name, p)),
          )
        : null,
      answer?.isMeasured ? (page.data.about.score.graded ? effectLegend(label, full, answer.words.map(effectOf)) : anchorLegend()) : null,
      answer
        ? el(
            "p",
            { class: `text large ${colour(label)} ${otherColour(label)}`, dir: "auto" },
            marked(answer.text, answer.words, (word, text) => wordButton(word, text, full)),
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
            el("span", { class: "badge" }, bdi(one.label), ` ${fixed(one.probability, 3)}`),
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
    el("span", { class: "score" }, fixed(p, 3)),
  );

const effectOf = (word) => ({ value: word.effect, deviation: word.deviation });

/** What is known of a word, in words. */
function wordText(word) {
  if (word.effect === null) return "not tested yet";
  if (page.data.about.score.graded) return effectText(effectOf(word));
  return `${word.anchor ? "anchor" : "no anchor"}, kept in ${word.agreements} of ${word.samples}`;
}

/** A word of the text; once measured in its shade, or as an anchor in a run that tests for them. */
function wordButton(word, text, full) {
  const isShaded = page.data.about.score.graded && word.effect !== null;
  const { class: shade, css } = isShaded ? shadeOf(effectOf(word), full) : { class: word.anchor ? "anchor" : "" };
  return el(
    "button",
    {
      type: "button",
      class: `word ${shade}`,
      css,
      "aria-pressed": String(attempt.chosen?.start === word.start),
      title: wordText(word),
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
    el("span", { class: "chosen" }, el("b", {}, bdi(text.slice(word.start, word.end))), `: ${wordText(word)}`),
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
