"use strict";
(() => {
  const $$ = (id) => document.getElementById(id);
  const table = $$("table"), body = table.tBodies[0], rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const search = $$("search"), byStatus = $$("by-status"), form = document.querySelector(".filters");

  function filter() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = texts.get(row);
      row.hidden = Boolean((byStatus.value && row.dataset.status !== byStatus.value) ||
        !words.every((word) => text.includes(word)));
      shown += row.hidden ? 0 : 1;
    }
    $$("shown").textContent = shown === rows.length ? `${shown} ${shown === 1 ? "run" : "runs"}` : `${shown} of ${rows.length} runs`;
    $$("nothing").hidden = shown > 0;
  }

  function key(row, column) {
    const cell = row.cells[column], kept = cell.dataset.key;
    return kept === undefined ? cell.textContent.trim().toLowerCase() : kept;
  }

  function sort(column, down) {
    const numbers = heads[column].classList.contains("num");
    const compare = (a, b) => {
      const x = key(a, column), y = key(b, column);
      return numbers ? (x === "" ? -1 : Number(x)) - (y === "" ? -1 : Number(y)) : x < y ? -1 : x > y ? 1 : 0;
    };
    rows.sort((a, b) => down ? compare(b, a) : compare(a, b));
    body.append(...rows);
    heads.forEach((head, at) => {
      if (at === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  }

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const was = head.getAttribute("aria-sort");
      sort(column, was ? was === "ascending" : head.classList.contains("num"));
    });
  });
  for (const field of [search, byStatus]) field.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  $$("reset").addEventListener("click", () => { form.reset(); filter(); search.focus(); });
  form.hidden = false;
  filter();
})();
