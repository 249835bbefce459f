"use strict";
(() => {
  const $$ = (id) => document.getElementById(id);
  const cards = [...document.querySelectorAll("article.step")];  // steps, and questions outside of them
  const steps = cards.filter((card) => card.dataset.outcome);
  const goals = [...document.querySelectorAll("section.goal")];
  const texts = new Map(cards.map((card) => [card, card.textContent.toLowerCase()]));
  const search = $$("search"), bySubgoal = $$("by-subgoal"), byOutcome = $$("by-outcome"), byNeed = $$("by-need");
  const form = document.querySelector(".filters"), large = $$("large");
  let current = null, enlarged = null;

  const visible = () => cards.filter((card) => !card.hidden);
  const needs = (node, need) => (node.dataset.need || "").split(" ").includes(need);

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const subgoal = bySubgoal.value, outcome = byOutcome.value, need = byNeed.value;
    for (const card of cards) {
      const text = texts.get(card);
      card.hidden = Boolean(
        (subgoal && !card.id.startsWith(`s${subgoal}-`)) ||
        (outcome && card.dataset.outcome !== outcome) ||
        (need && !needs(card, need)) ||
        !words.every((word) => text.includes(word)));
    }
    const filtered = words.length || subgoal || outcome || need;
    for (const goal of goals) {
      // A sub-goal that failed before its first step has no card.
      const failed = need && needs(goal, need) && !words.length && !outcome && (!subgoal || goal.id === `g${subgoal}`);
      goal.hidden = Boolean(filtered) && !failed && !goal.querySelector("article.step:not([hidden])");
    }
    const count = steps.filter((step) => !step.hidden).length;
    $$("shown").textContent = filtered ? `${count} of ${steps.length} steps` : `${steps.length} steps`;
    $$("nothing").hidden = !steps.length || goals.some((goal) => !goal.hidden);
  }

  function select(card, scroll) {
    if (current) current.classList.remove("current");
    card.classList.add("current");
    current = card;
    if (!scroll) return;
    const show = () => card.scrollIntoView({block: "start", behavior: "instant"});
    show();
    requestAnimationFrame(show);  // cards that came into view have their real heights now
    card.focus({preventScroll: true});
    history.replaceState(null, "", `#${card.id}`);
  }

  function move(by) {
    const shown = visible();
    if (!shown.length) return;
    const at = shown.indexOf(current);
    const next = at < 0 ? (by > 0 ? 0 : shown.length - 1) : at + by;
    select(shown[Math.min(Math.max(next, 0), shown.length - 1)], true);
  }

  // Show and select the step that the address names, even if the filters hide it.
  function follow() {
    const card = cards.find((each) => each.id && `#${each.id}` === location.hash);
    if (!card) return;
    if (card.hidden) {
      form.reset();
      filter();
    }
    select(card, true);
  }

  function enlarge(button) {
    const picture = button.querySelector("svg");
    enlarged = button;
    $$("large-picture").replaceChildren(picture.cloneNode(true));
    $$("large-text").textContent = picture.getAttribute("aria-label");
    if (!large.open) large.showModal();
  }

  function enlargeNext(by) {
    const buttons = visible().flatMap((card) => [...card.querySelectorAll("button.zoom")]);
    const next = buttons[buttons.indexOf(enlarged) + by];
    if (!next) return;
    enlarge(next);
    select(next.closest("article.step"), false);
  }

  function scrollsSideways(node) {
    const box = node instanceof Element && node.closest(".panel, .strip");
    return Boolean(box) && box.scrollWidth > box.clientWidth;
  }

  for (const card of cards) card.tabIndex = -1;
  for (const button of document.querySelectorAll("button.zoom")) button.title = "Enlarge";
  for (const field of [search, bySubgoal, byOutcome, byNeed]) field.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  $$("reset").addEventListener("click", () => { form.reset(); filter(); search.focus(); });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.zoom");
    const card = event.target.closest("article.step");
    if (card) select(card, false);
    if (button) enlarge(button);
    if (event.target === large) large.close();
  });
  large.addEventListener("close", () => { if (current) current.scrollIntoView({block: "nearest", behavior: "instant"}); });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    if (event.target instanceof Element && event.target.matches("input, select, textarea")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const by = {ArrowRight: 1, ArrowLeft: -1, j: 1, k: -1}[event.key];
    if (large.open) {
      if (!by) return;
      enlargeNext(by);
    } else if (by) {
      if (event.key.startsWith("Arrow") && scrollsSideways(event.target)) return;
      move(by);
    } else if (event.key === "o" && current) {
      const button = current.querySelector("button.zoom");
      if (button) enlarge(button);
    } else if (event.key === "/") search.focus();
    else return;
    event.preventDefault();
  });
  addEventListener("hashchange", follow);
  form.hidden = document.querySelector(".keys").hidden = false;
  filter();
  follow();
})();
