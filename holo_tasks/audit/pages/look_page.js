"use strict";
(() => {
  const said = document.getElementById("said");
  const rows = new Map([...document.querySelectorAll("tr[data-number]")].map((row) => [row.dataset.number, row]));
  const boxes = new Map([...document.querySelectorAll("rect.element")].map((box) => [box.dataset.number, box]));

  function line(number) {
    const code = rows.get(number)?.querySelector(".line");
    return code ? code.textContent : "";
  }

  function point(number, on) {
    rows.get(number)?.classList.toggle("pointed", on);
    boxes.get(number)?.classList.toggle("pointed", on);
    if (on) said.textContent = line(number) || boxes.get(number)?.querySelector("title")?.textContent || "";
  }

  async function copy(number) {
    const text = line(number);
    if (!text) return;
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = `Copied: ${text}`;
    } catch {
      const code = rows.get(number).querySelector(".line");
      getSelection().selectAllChildren(code);  // a page opened from a file may not use the clipboard: select the line instead
      said.textContent = `Selected: ${text}`;
    }
  }

  for (const each of [...rows.values(), ...boxes.values()]) {
    const number = each.dataset.number;
    each.addEventListener("pointerenter", () => point(number, true));
    each.addEventListener("pointerleave", () => point(number, false));
    each.addEventListener("click", () => copy(number));
  }
})();
