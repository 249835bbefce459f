"use strict";
(() => {
  const $$ = (id) => document.getElementById(id);
  const steps = [...document.querySelectorAll("article.step")];
  const goals = [...document.querySelectorAll("section.goal")];
  const texts = new Map(steps.map((step) => [step, step.textContent.toLowerCase()]));
  const search = $$("search"), bySubgoal = $$("by-subgoal"), byOutcome = $$("by-outcome");
  const form = document.querySelector(".filters"), large = $$("large");
  let current = -1;

  const visible = () => steps.filter((step) => !step.hidden);

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const step of steps) {
      const text = texts.get(step);
      step.hidden = Boolean(
        (bySubgoal.value && step.dataset.subgoal !== bySubgoal.value) ||
        (byOutcome.value && step.dataset.outcome !== byOutcome.value) ||
        !words.every((word) => text.includes(word)));
    }
    const filtered = words.length || bySubgoal.value || byOutcome.value;
    for (const goal of goals) {
      goal.hidden = Boolean(filtered) && !goal.querySelector("article.step:not([hidden])");
    }
    const count = visible().length;
    $$("shown").textContent = filtered ? `${count} of ${steps.length} steps` : `${steps.length} steps`;
    $$("nothing").hidden = count > 0 || !steps.length;
  }

  function select(step, scroll) {
    steps.forEach((each) => each.classList.toggle("current", each === step));
    current = steps.indexOf(step);
    if (scroll) {
      step.scrollIntoView({block: "start", behavior: "auto"});
      step.focus({preventScroll: true});
    }
  }

  function move(by) {
    const shown = visible();
    if (!shown.length) return;
    const at = shown.indexOf(steps[current]);
    const next = at < 0 ? (by > 0 ? 0 : shown.length - 1) : at + by;
    select(shown[Math.min(Math.max(next, 0), shown.length - 1)], true);
  }

  function enlarge(button) {
    const copy = button.querySelector("svg").cloneNode(true);
    $$("large-picture").replaceChildren(copy);
    $$("large-text").textContent = button.getAttribute("aria-label").replace(/^Enlarge: /, "");
    if (!large.open) large.showModal();
  }

  for (const field of [search, bySubgoal, byOutcome]) field.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  $$("reset").addEventListener("click", () => { form.reset(); filter(); search.focus(); });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.zoom");
    const step = event.target.closest("article.step");
    if (step) select(step, false);
    if (button) enlarge(button);
    if (event.target === large) large.close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (large.open) {
      const pair = current >= 0 ? [...steps[current].querySelectorAll("button.zoom")] : [];
      if (event.key === "ArrowLeft" && pair[0]) enlarge(pair[0]);
      if (event.key === "ArrowRight" && pair[1]) enlarge(pair[1]);
      return;
    }
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "o" && current >= 0) {
      const button = steps[current].querySelector("button.zoom");
      if (button) enlarge(button);
    } else if (event.key === "/") search.focus();
    else return;
    event.preventDefault();
  });
  form.hidden = false;
  filter();
})();
