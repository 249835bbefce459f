// What to do next on a MiniWoB++ page, by its words and its document as they are now: an oracle that knows where things
// are. It is asked anew before each step, remembers nothing, and changes nothing. Places are in pixels of the page.
function () {
  const NOTCH = 120; // pixels that one notch of the wheel scrolls
  const words = document.getElementById("query").innerText.replace(/\s+/g, " ").trim();
  const task = location.pathname.split("/").pop().replace(".html", "");
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);
  const textOf = (element) => (element.innerText ?? element.textContent ?? "").trim();
  const quoted = () => [...words.matchAll(/"([^"]*)"/g)].map((found) => found[1]);
  const bold = () => all("#query .bold, #query b").map(textOf);
  const shown = (element) => element && element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden";
  const named = (selector, text) => all(selector).filter(shown).find((element) => textOf(element) === text);
  const nth = () => parseInt(/(\d+)(?:st|nd|rd|th)/.exec(words)[1], 10);

  const at = (tool, x, y, element, more = {}) => ({ tool, x, y, element, ...more });
  const wait = (seconds = 0.5) => ({ tool: "wait", seconds });
  const keys = (...names) => ({ tool: "hotkey", keys: names });
  const pressed = (name, times) => ({ tool: "hotkey", keys: [name], repeat_count: Math.min(50, times) });
  const write = (content, more = {}) => ({ tool: "write", content, ...more });
  const drag = (from, to, element) => ({ tool: "drag_and_drop", x1: from[0], y1: from[1], x2: to[0], y2: to[1], element });
  const center = (element) => {
    const box = element.getBoundingClientRect();
    return [box.left + box.width / 2, box.top + box.height / 2];
  };
  const label = (element) =>
    `${element.tagName.toLowerCase()} ${textOf(element).slice(0, 30) || element.id || element.className.baseVal || element.className}`;

  // What is in sight of an element's box, between the edges of all that scrolls around it; or a turn of the wheel.
  const inSight = (element, box) => {
    let [top, bottom] = [box.top, box.bottom];
    for (let around = element.parentElement; around; around = around.parentElement) {
      if (!/auto|scroll/.test(getComputedStyle(around).overflowY) || around.scrollHeight <= around.clientHeight + 1) continue;
      const outer = around.getBoundingClientRect(), from = outer.top + around.clientTop, to = from + around.clientHeight;
      [top, bottom] = [Math.max(top, from), Math.min(bottom, to)];
      if (bottom - top >= Math.min(7, box.height)) continue;
      const up = box.top < from, away = up ? from - box.top : box.bottom - to;
      const scroll_size = Math.max(1, Math.min(10, Math.floor((away + around.clientHeight / 4) / NOTCH)));
      return { scroll: at("scroll", outer.left + outer.width / 2, (from + to) / 2, "the list", { direction: up ? "up" : "down", scroll_size }) };
    }
    return { top, bottom };
  };
  const pressAt = (element, x, y, tool = "click") => {
    const hit = document.elementFromPoint(x, y);
    const covered = !hit || !(element === hit || element.contains(hit) || hit.contains(element));
    return covered && tool === "click" ? wait() : at(tool, x, y, label(element));
  };
  // The middle of what is in sight of an element's first line: a link that is broken over two lines has nothing in its middle.
  const press = (element, tool) => {
    if (!element) return null;
    const boxes = [...element.getClientRects()];
    const box = boxes.find((each) => each.width > 2 && each.height > 2) ?? element.getBoundingClientRect();
    const { top, bottom, scroll } = inSight(element, box);
    return scroll ?? pressAt(element, box.left + box.width / 2, (top + bottom) / 2, tool);
  };
  const button = (text) => press(named("button, .secondary-action, .ui-submit, .final, input[type=submit]", text));
  const submit = () => press([...all("#subbtn, #submit"), ...all("#controls button, #submitRow button")].find(shown)) ?? button("Submit");
  const fill = (field, text, more = {}) => {
    if (field.value === text) return null;
    if (document.activeElement !== field) return press(field);
    return write(text, { overwrite: field.value !== "", ...more });
  };
  const check = (box, wanted = true) => (box.checked === wanted ? null : press(box));
  const first = (...actions) => {
    for (const action of actions) {
      const found = action();
      if (found) return found;
    }
    return null;
  };
  const rangeOf = (start, from, end, to) => {
    const range = document.createRange();
    range.setStart(start, from);
    range.setEnd(end, to);
    return [...range.getClientRects()].filter((box) => box.width > 0.5);
  };
  const selects = (boxes, what) => {
    const last = boxes[boxes.length - 1];
    return drag([boxes[0].left + 0.5, boxes[0].top + boxes[0].height / 2], [last.right + 1, last.top + last.height / 2], what);
  };
  const leaves = (node, found = []) => {
    if (node.nodeType === Node.TEXT_NODE) found.push(node);
    else node.childNodes.forEach((child) => leaves(child, found));
    return found;
  };
  const plain = (text) => text.replace(/\s/g, "");
  const links = () => named(".alink", quoted()[0]);

  // Sorting by dragging: onto the middle of what is in its place, and a little beyond.
  const sortTo = (items, from, to, sideways = false) => {
    const [x1, y1] = center(items[from]), [x2, y2] = center(items[to]);
    const box = items[to].getBoundingClientRect();
    const beyond = sideways ? 0 : (to > from ? 1 : -1) * Math.min(6, box.height / 3);
    return drag([x1, y1], [x2 + (sideways ? (to > from ? 2 : -2) : 0), y2 + beyond], textOf(items[from]));
  };
  const slide = (slider, wanted) => {
    const widget = window.jQuery(slider), value = widget.slider("value");
    if (value === wanted) return null;
    const handle = one(".ui-slider-handle", slider);
    if (document.activeElement !== handle) return press(handle);
    return pressed(value < wanted ? "right" : "left", Math.abs(wanted - value));
  };
  const sortedNumbers = () => {
    const items = all("#sortable li"), numbers = items.map((item) => parseInt(textOf(item), 10));
    const sorted = [...numbers].sort((a, b) => a - b);
    const wrong = numbers.findIndex((number, place) => number !== sorted[place]);
    return wrong < 0 ? null : sortTo(items, numbers.indexOf(sorted[wrong], wrong), wrong);
  };
  const date = (field, wanted) => {
    const [month, day, year] = wanted.split("/").map(Number);
    if (field.value === wanted) return null;
    const picker = one("#ui-datepicker-div");
    if (!shown(picker)) return press(field);
    const there = new Date(`${textOf(one(".ui-datepicker-month", picker))} 1, ${textOf(one(".ui-datepicker-year", picker))}`);
    const ahead = (year - there.getFullYear()) * 12 + month - 1 - there.getMonth();
    if (ahead) return press(one(ahead > 0 ? ".ui-datepicker-next" : ".ui-datepicker-prev", picker));
    return press(all("td a", picker).find((cell) => textOf(cell) === String(day)));
  };
  const shapes_ = () => all("#area_svg > *").map((drawn) => {
    const kind = { rect: "rectangle", circle: "circle", polygon: "triangle" }[drawn.tagName];
    const text = kind ?? drawn.textContent;
    const side = drawn.tagName === "text" ? parseFloat(drawn.getAttribute("font-size")) : drawn.getBBox().width;
    const type = kind ? "shape" : /\d/.test(text) ? "digit" : "letter";
    return { drawn, text, type, size: side > 15 ? "large" : "small", color: drawn.getAttribute("fill") };
  });
  const described = (text) => {
    const parts = text.split(" "), what = parts.pop();
    return shapes_().filter((shape) =>
      parts.every((part) => part === shape.size || part === shape.color) && [shape.text, shape.type, "item"].includes(what));
  };
  const dragShape = (drawn, to) => {
    const box = drawn.getBoundingClientRect(), factor = { rect: 0.5, circle: 0.6, polygon: 0.4 }[drawn.tagName];
    // Taken anywhere, the library puts it so that this part of it is under the pointer.
    const [x, y] = [box.left + box.width / 2, box.top + box.height * (drawn.tagName === "polygon" ? 0.6 : 0.5)];
    return drag([x, y], [to[0] + factor * box.width - box.width / 2, to[1] + factor * box.width - box.height / 2], drawn.tagName);
  };
  const inside = (drawn, box) => {
    const its = drawn.getBoundingClientRect();
    return its.left > box.left + 1 && its.left < box.right - 1 && its.top > box.top + 1 && its.top < box.bottom - 1;
  };
  const intoBox = (drawn, box, number) => {
    if (inside(drawn, box)) return null;
    const its = drawn.getBoundingClientRect(), room = box.width - its.width - 8;
    return dragShape(drawn, [box.left + 4 + its.width / 2 + (room * (number % 4)) / 4, (box.top + box.bottom) / 2]);
  };
  const page = window.SVGSVGElement && one("#area svg") ? one("#area svg").getBoundingClientRect() : null;
  const onPage = (x, y) => pressAt(one("#area svg"), page.left + x, page.top + y);
  const middle = (circle) => {
    const box = circle.getBBox();
    return [box.x + 3.5, box.y + 3.5];
  };
  const tabs = () => {
    const link = links();
    if (link) return press(link);
    const wanted = all(".alink").find((each) => each.textContent.trim() === quoted()[0]);
    if (!wanted) return press(all(".ui-tab").pop());
    const panel = wanted.closest(".ui-tabs-panel, .ui-accordion-content");
    return panel.matches(".ui-tabs-panel") ? press(one(`a[href="#${panel.id}"]`)) : press(panel.previousElementSibling);
  };
  const fields = (pairs) => first(...pairs.map(([field, text]) => () => fill(field, text)));

  const inbox = () => {
    const asked = core.currentFields ?? (() => {
      const [by, second] = bold();
      if (/star icon/.test(words)) return { task: "star", by };
      if (/trash icon/.test(words)) return { task: "delete", by };
      if (/reply/.test(words)) return { task: "reply", by, message: second };
      return { task: "forward", by, to: second };
    })();
    const open = one("#email"), forward = one("#forward"), reply = one("#reply");
    if (forward) return first(() => fill(one(".forward-sender"), asked.to), () => press(one("#send-forward")));
    if (reply) return first(() => fill(one("#reply-text"), asked.message), () => press(one("#send-reply")));
    if (open && shown(open)) return press(one(asked.task === "reply" ? ".email-reply" : ".email-forward", open));
    const mail = all("#main .email-thread").find((each) => textOf(one(".email-sender", each)) === asked.by);
    if (asked.task === "star") return press(one(".star", mail));
    if (asked.task === "delete") return press(one(".trash", mail));
    return press(one(".email-sender", mail));
  };
  const suggested = (field, accepts) => {
    const item = all(".ui-autocomplete .ui-menu-item").filter(shown).find((each) => accepts(textOf(each)));
    return item ? press(item) : wait();
  };
  const flight = () => {
    const [how, from, to, day] = bold();
    if (shown(one("#results"))) {
      const flights = all(".flight"), by = how === "cheapest" ? [".flight-price", "data-price"] : [".time-duration", "data-duration"];
      const worth = (each) => parseInt(one(by[0], each).getAttribute(by[1]), 10);
      return press(one(".flight-price", flights.reduce((best, each) => (worth(each) < worth(best) ? each : best))));
    }
    const place = (field, name) => {
      const full = DOMESTIC_FLIGHTS.find((each) => each.includes(name));
      const offered = all(".ui-autocomplete .ui-menu-item").filter(shown).find((each) => textOf(each) === full);
      if (offered && field.value === full) return press(offered);
      if (field.value === full) return null;
      if (document.activeElement !== field) return press(field);
      return write(full, { overwrite: field.value !== "" });
    };
    return first(() => place(one("#flight-from"), from), () => place(one("#flight-to"), to),
      () => (day === one("#datepicker").value && shown(one("#ui-datepicker-div")) ? wait() : null),
      () => date(one("#datepicker"), day), () => press(one("#search")));
  };
  const social = (amount) => {
    const [action, ...rest] = bold(), user = rest.pop();
    const kind = { Reply: "reply", Retweet: "retweet", Like: "like", Share: "share" }[action];
    const marks = all(".media").filter((each) => textOf(one(".username", each)) === user).map((each) => one(`.${kind}`, each));
    const wanted = marks.slice(0, amount ?? marks.length);
    return first(...wanted.map((mark) => () => (mark.classList.contains("active") ? null : press(mark))), submit);
  };
  const editor = () => {
    const [what, second] = bold(), everything = what === "everything";
    const text = one(".ql-editor p"), content = text.textContent;
    const word = everything ? content : what;
    const [style] = [{ bold: "bold", italics: "italic", underlined: "underline" }[second]];
    const range = window.editor.getSelection(), begin = content.indexOf(word);
    const formats = window.editor.getFormat(begin, word.length);
    if (style ? formats[style] : formats.color && COLOR_MAP[second].includes(formats.color)) return submit();
    const picker = one(".ql-color");
    if (picker.classList.contains("ql-expanded")) return press(one(`.ql-picker-item[data-color="${COLOR_MAP[second][0]}"]`));
    if (!range || range.index !== begin || range.length < word.length || range.length > word.length + everything) {
      if (everything) return range ? keys("ctrl", "a") : press(text);
      const texts = leaves(text);
      let passed = 0;
      for (const node of texts) {
        if (begin < passed + node.data.length) return selects(rangeOf(node, begin - passed, node, begin - passed + word.length), word);
        passed += node.data.length;
      }
    }
    return press(style ? one(`.ql-${style}`) : one(".ql-picker-label", picker));
  };

  const rules = {
    "ascending-numbers": () => {
      const numbers = all("svg text");
      return press(numbers.length ? numbers.find((each) => each.textContent === "1") : one("svg rect"));
    },
    "bisect-angle": () => {
      if (one("#blue-circle")) return submit();
      const vertex = middle(one(".init-blue")), ends = all(".init-black").map(middle);
      const unit = ends.map(([x, y]) => [x - vertex[0], y - vertex[1]]).map(([x, y]) => [x / Math.hypot(x, y), y / Math.hypot(x, y)]);
      const way = [unit[0][0] + unit[1][0], unit[0][1] + unit[1][1]], length = Math.hypot(...way);
      for (let far = 60; far > 12; far -= 2) {
        const [x, y] = [vertex[0] + (way[0] / length) * far, vertex[1] + (way[1] / length) * far];
        if (x > 3 && y > 3 && x < page.width - 3 && y < page.height - 3) return onPage(x, y);
      }
      return null;
    },
    "buy-ticket": () => {
      const how = bold()[0], [mark, name] = /cost/.test(how) ? [".buy-ticket", "data-price"] : [".time-duration", "data-duration"];
      const sign = /cheapest|shortest/.test(how) ? 1 : -1;
      const worth = (each) => sign * parseInt(one(mark, each).getAttribute(name), 10);
      return press(one(".buy-ticket", all(".flight").reduce((best, each) => (worth(each) < worth(best) ? each : best))));
    },
    "choose-list": () => {
      const list = one("select"), wanted = /Select (.*) from the list/.exec(words)[1];
      if (list.value === wanted) return button("Submit");
      return document.activeElement === list ? write(wanted, { press_enter: true }) : press(list);
    },
    "circle-center": () => null,
    "click-button-sequence": () => press(one("#subbtn").dataset.tampered ? one("#subbtn2") : one("#subbtn")),
    "click-color": () => {
      const color = one("#query-color")?.style.backgroundColor ?? bold()[0];
      return press(one(`#area [data-color="${color}"]`));
    },
    "click-dialog": () => press(one(".ui-dialog-titlebar-close")),
    "click-dialog-2": () => {
      const wanted = quoted()[0];
      return wanted === "x" ? press(one(".ui-dialog-titlebar-close")) : press(named(".ui-dialog-buttonset button", wanted));
    },
    "click-menu": () => {
      const way = words.replace("Select ", "").split(">");
      let list = one("#menu"), open = null;
      for (const step of way) {
        const item = [...list.children].find((each) => each.firstElementChild.textContent.replace(/\s/g, "") === step.replace(/\s/g, ""));
        if (!shown(list)) return press(open, "move_to");
        open = item.firstElementChild;
        list = item.querySelector("ul") ?? list;
      }
      return press(open);
    },
    "click-menu-2": () => {
      const icon = one("#query .ui-icon"), kind = icon && [...icon.classList].find((each) => each !== "ui-icon");
      const item = all("#menu li").find((each) =>
        !one("ul", each) && (kind ? one(`.${kind}`, each) : each.textContent.trim() === quoted().pop())).firstElementChild;
      if (shown(item)) return press(item);
      return shown(one("#menu")) ? press(named("#menu > li > div", "Playback"), "move_to") : press(one("#open-menu"));
    },
    "click-pie": () => {
      const item = all("#divWheel text").find((each) => each.textContent === bold()[0] && shown(each) && each.getBoundingClientRect().width > 1);
      const spreader = all("#divWheel text").find((each) => each.textContent === "+");
      return item && !(spreader && shown(spreader)) ? press(item) : press(spreader);
    },
    "click-scroll-list": () => {
      const list = one("#options"), wanted = /Select (.*) from the scroll list/.exec(words)[1].split(", ");
      const options = all("option", list), chosen = [...list.selectedOptions].map(textOf);
      if (chosen.some((each) => !wanted.includes(each)) || !chosen.length) return press(options.find((each) => textOf(each) === wanted[0]));
      if (chosen.length === wanted.length) return button("Submit");
      const [from, to] = [chosen[0], wanted.find((each) => !chosen.includes(each))].map((text) => options.findIndex((each) => textOf(each) === text));
      const way = Array(Math.abs(to - from)).fill(to > from ? "down" : "up");
      return { tool: "hold_and_tap_key", hold_keys: ["ctrl"], tap_keys: [...way, "space"] };
    },
    "click-shades": () => {
      const color = /shades of (\w+)/.exec(words)[1];
      return press(all(`#area span[data-color=${color}]`).find((each) => !each.classList.contains("selected"))) ?? submit();
    },
    "click-shape": () => press(described(words.replace("Click on a ", ""))[0].drawn),
    "click-tab": () => press(one(`a[href="#tabs-${/#(\d)/.exec(words)[1]}"]`)),
    "click-test-transfer": () => button(/button (\w+)/.exec(words)[1]),
    "click-widget": () => press(one(`#area [data-type=${quoted()[0]}]`)),
    "copy-paste": () => first(() => fill(one("#answer-input"), one("#to-copy").value), submit),
    "copy-paste-2": () => first(() => fill(one("#answer-input"), one(`#text-${nth()}`).value), submit),
    "count-shape": () => {
      const count = described(/How many (.*)s are there/.exec(words)[1]).length;
      return press(named("#count-buttons button", String(count)));
    },
    "drag-box": () => {
      const small = one("#draggableSmall"), large = one("#draggableLarge");
      const [s, l] = [small, large].map((each) => each.getBoundingClientRect());
      const deep = (a, b) => a - b > 5 && a - b < 25;
      return deep(s.left, l.left) && deep(s.top, l.top) ? submit() : drag(center(small), center(large), "the smaller box");
    },
    "drag-items": () => {
      const items = all("#sortable li"), name = /Drag (.+?) (?:to|up|down) /.exec(words)[1];
      const from = items.findIndex((each) => textOf(each) === name);
      const place = /(\d)(?:st|nd|rd|th) position/.exec(words);
      const to = place ? place[1] - 1 : /top/.test(words) ? 0 : /bottom/.test(words) ? 4 : /down/.test(words) ? from + 1 : from - 1;
      return sortTo(items, from, to);
    },
    "drag-items-grid": () => {
      const items = all("#sortable li"), [, name, where] = /Drag (.+?) ((?:to|up|down|left|right)\b.*)\./.exec(words);
      const from = items.findIndex((each) => textOf(each) === name);
      const by = { "up by one": -3, "down by one": 3, "left by one": -1, "right by one": 1 }[where];
      const row = /top/.test(where) ? 0 : /bottom/.test(where) ? 2 : 1, column = /left/.test(where) ? 0 : /right/.test(where) ? 2 : 1;
      return sortTo(items, from, by ? from + by : row * 3 + column, true);
    },
    "drag-shapes": () => {
      const tag = { rectangles: "rect", circles: "circle", triangles: "polygon" }[/all (\w+)/.exec(words)[1]];
      const box = one("#shape-container").getBoundingClientRect();
      const wanted = all(`#area_svg ${tag}:not(#shape-container)`);
      return first(...wanted.map((each, number) => () => intoBox(each, box, number)), submit);
    },
    "drag-shapes-2": () => {
      const [left, right] = all("#shape-container").map((each) => each.getBoundingClientRect());
      const tag = { rectangles: "rect", circles: "circle", triangles: "polygon" }[/all (\w+)/.exec(words)[1]];
      const color = /all (\w+) shapes/.exec(words)?.[1];
      const drawn = all("#area_svg > *:not(#shape-container)");
      const wanted = (each) => (color ? each.getAttribute("fill") === color : each.tagName === tag);
      return first(...drawn.map((each, number) => () => intoBox(each, wanted(each) ? left : right, number)), submit);
    },
    "drag-single-shape": () => {
      const drawn = one("#area svg > *"), moved = drawn.getAttribute("transform");
      if (moved) return submit();
      const [x, y] = [drawn.getBoundingClientRect()].map((box) => [box.left + box.width / 2, box.top + box.height * 0.6])[0];
      const [dx, dy] = { left: [-20, 0], right: [40, 0], up: [0, -20], down: [0, 40] }[/(left|right|up|down)/.exec(words)[1]];
      return drag([x, y], [x + dx, y + dy], drawn.tagName);
    },
    "drag-sort-numbers": () => first(sortedNumbers, submit),
    "draw-line": () => {
      if (one("path")) return submit();
      const [x, y] = center(one("#circ")), flat = /horizontal/.test(words);
      return flat ? drag([x - 22, y], [x + 22, y], "a line") : drag([x, y - 22], [x, y + 22], "a line");
    },
    "enter-date": () => {
      const field = one("#tt"), [month, day, year] = bold()[0].split("/");
      if (field.value === `${year}-${month}-${day}`) return submit();
      const box = field.getBoundingClientRect();
      return document.activeElement === field ? write(month + day + year) : pressAt(field, box.left + 8, box.top + box.height / 2);
    },
    "enter-password": () => first(() => fields(all("#area input").map((field) => [field, quoted()[0]])), submit),
    "enter-text-2": () => {
      const text = /upper/.test(words) ? quoted()[0].toUpperCase() : quoted()[0].toLowerCase();
      return first(() => fill(one("#tt"), text), submit);
    },
    "enter-time": () => {
      const field = one("#tt"), [, hour, minute, half] = /(\d+):(\d+)\s*([AP])M/.exec(words);
      const wanted = `${String((hour % 12) + (half === "P" ? 12 : 0)).padStart(2, "0")}:${minute}`;
      if (field.value === wanted) return submit();
      const box = field.getBoundingClientRect();
      return document.activeElement === field
        ? write(`${hour.padStart(2, "0")}${minute}${half}M`) : pressAt(field, box.left + 8, box.top + box.height / 2);
    },
    "find-greatest": () => {
      const cards = all(".card"), worth = (each) => parseInt(one(".card-value", each).textContent, 10);
      const best = cards.reduce((most, each) => (worth(each) > worth(most) ? each : most));
      return best.classList.contains("hidden") ? press(best) : submit();
    },
    "find-midpoint": () => {
      if (one("#blue-circle")) return submit();
      const [[x1, y1], [x2, y2]] = all(".black-circle").map(middle);
      return onPage((x1 + x2) / 2, (y1 + y2) / 2);
    },
    "find-word": () => {
      const found = textOf(one("#area p")).split(" ")[nth() - 1].replace(/[^a-zA-Z]/g, "");
      return first(() => fill(one("#answer-input"), found), submit);
    },
    "focus-text": () => press(one("#area input")),
    "focus-text-2": () => press(all("#area input")[nth() - 1]),
    "form-sequence": () => first(
      () => slide(one("#slider"), parseInt(/Select (-?\d+)/.exec(words)[1], 10)),
      ...all("input[type=checkbox]").map((box, place) => () => check(box, place === nth() - 1)), submit),
    "form-sequence-2": () => {
      const [radio, number, box] = /the (\d).. radio button and enter the number "(-?\d+)" into the (\d)/.exec(words).slice(1);
      return first(() => check(all("input[type=radio]")[radio - 1]), () => fill(one(`#input-${box}`), number), submit);
    },
    "form-sequence-3": () => {
      const wanted = /Choose (.*) from the dropdown/.exec(words)[1], list = one("#dropdown");
      if (list.value === wanted) return button(quoted()[0]);
      return press(all(".selectric-items li").filter(shown).find((each) => textOf(each) === wanted) ?? one(".selectric"));
    },
    "generate-number": () => {
      const number = parseInt(textOf(one("#display-number")), 10), [, bound] = /than (\d+)/.exec(words) ?? [];
      const fits = /less/.test(words) ? number < bound : /greater/.test(words) ? number > bound : number % 2 === (/odd/.test(words) ? 1 : 0);
      return fits ? submit() : press(one("#generate"));
    },
    "grid-coordinate": () => press(document.getElementById(bold()[0])),
    "guess-number": () => {
      const said = (id) => (shown(one(id)) ? parseInt(textOf(one(`${id} span`)), 10) : NaN), field = one("#tt");
      const [low, high] = [said("#higher"), said("#lower")];
      const guess = String(Number.isNaN(low) ? (Number.isNaN(high) ? 0 : high - 1) : low + 1);
      return first(() => fill(field, guess), submit);
    },
    "highlight-text": () => {
      const text = leaves(one("#area")).filter((each) => plain(each.data).length > 12)[0];
      if (plain(getSelection().toString()) === plain(text.data)) return submit();
      return selects(rangeOf(text, 0, text, text.data.trimEnd().length), "the text");
    },
    "highlight-text-2": () => {
      const text = leaves(all("#area p")[nth() - 1])[0];
      if (plain(getSelection().toString()) === plain(text.data)) return submit();
      return selects(rangeOf(text, 0, text, text.data.trimEnd().length), "the text");
    },
    "identify-shape": () => {
      const { text, type } = shapes_()[0];
      return press(one(`[data-type=${type === "shape" ? text : type}]`));
    },
    "login-user": () => first(
      () => (shown(one("#popup")) ? press(one("#popup-cancel")) : null),
      () => fields([[one("#username"), quoted()[0]], [one("#password"), quoted()[1]]]), submit),
    "multi-layouts": () => {
      const [genre, director, year] = bold();
      const wanted = (row) => (/genre/i.test(row) ? genre : /director/i.test(row) ? director : year);
      const row = (field) => textOf(field.closest("p, tr, .row, .field, .ui-entry"));
      return first(() => fields(all("#area input").map((field) => [field, wanted(row(field))])),
        () => press(all("#area button, #area .final, #area .ui-submit")[0]));
    },
    "navigate-tree": () => {
      const spans = all("#tree span"), wanted = spans.filter((each) => each.textContent === quoted()[0]);
      const seen = wanted.find(shown);
      if (seen) return press(seen);
      const around = [];
      for (let each = wanted[0].closest("li"); each; each = each.parentElement.closest("li")) around.unshift(each);
      const closed = around.find((each) => one(":scope > ul", each) && !shown(one(":scope > ul", each)) && shown(each));
      return press(one(":scope > .hitarea", closed) ?? one(":scope > span", closed));
    },
    "number-checkboxes": () => {
      const pattern = PATTERNS[quoted()[0]].flat();
      return first(...all("#area #checkboxes input").map((box, place) => () => check(box, pattern[place] === 1)), submit);
    },
    "odd-or-even": () => first(...all(".row").map((row) => () => {
      const odd = Math.abs(parseInt(textOf(one(".display-number", row)), 10)) % 2 === 1, mark = one(odd ? ".odd" : ".even", row);
      return mark.classList.contains("selected") ? null : press(mark);
    }), submit),
    "order-food": () => {
      const kind = / items that are (.+)$/.exec(words)?.[1], count = kind ? parseInt(/Order (\d)/.exec(words)[1], 10) : 1;
      const names = kind ? [] : words.replace("Order one of each item: ", "").split(", ").map((each) => each.trim());
      const items = all(".food-item"), name = (each) => textOf(one(".item-name", each));
      const wanted = kind ? items.filter((each) => one(`img[alt="${kind}"]`, each)).slice(0, 1) : items.filter((each) => names.includes(name(each)));
      return first(...wanted.map((each) => () => (each.dataset.quantity >= count ? null : press(one(".add", each)))),
        () => press(one("#submit-order button")));
    },
    "phone-book": () => {
      const [, name, what] = /Find (.+) in the contact book and click on their (phone|email|address)/.exec(words);
      return textOf(one("#contact h2")) === name ? press(one(`#contact .${what}`)) : press(named("#pagination a", ">"));
    },
    "read-table": () => {
      const row = all("#tab tr").find((each) => textOf(each.cells[0]) === bold()[0]);
      return first(() => fill(one("#tt"), textOf(row.cells[1])), submit);
    },
    "read-table-2": () => {
      const value = (key) => textOf(all("#tab tr").find((each) => textOf(each.cells[0]) === key).cells[1]);
      return first(() => fields([1, 2].map((place) => [one(`#tt${place}`), value(one(`#ll${place}`).dataset.key)])), submit);
    },
    "resize-textarea": () => {
      const [what, way] = bold(), [x, y] = center(one(".ui-resizable-se"));
      const { originalSize: was, size: now } = window.jQuery("#tt").resizable("instance");
      if (was && (way === "larger" ? now[what] - was[what] > 8 : was[what] - now[what] > 8)) return submit();
      const by = way === "larger" ? 16 : -16;
      return drag([x, y], what === "width" ? [x + by, y] : [x, y + by], "the corner of the text area");
    },
    "right-angle": () => {
      if (one("#blue-circle")) return submit();
      const [x, y] = middle(one("#init-blue")), [ox, oy] = middle(one("#init-black"));
      const [wx, wy] = [-(oy - y), ox - x], length = Math.hypot(wx, wy);
      for (let far = 60; far > 10; far -= 2) {
        for (const sign of [1, -1]) {
          const [px, py] = [x + (sign * wx * far) / length, y + (sign * wy * far) / length];
          if (px > 4 && py > 4 && px < page.width - 4 && py < page.height - 4) return onPage(px, py);
        }
      }
      return null;
    },
    "scroll-text": () => {
      const found = one("#text-area").value.trim().split(/\s/).pop().replace(/[^a-zA-Z0-9]/g, "");
      return first(() => fill(one("#answer-input"), found), submit);
    },
    "scroll-text-2": () => {
      const area = one("#text-area"), [x, y] = center(area), bottom = /bottom/.test(words);
      const left = bottom ? area.scrollHeight - area.clientHeight - area.scrollTop : area.scrollTop;
      return left < 5 ? submit() : at("scroll", x, y, "the text area", { direction: bottom ? "down" : "up", scroll_size: 10 });
    },
    "search-engine": () => {
      const place = nth() - 1, field = one("#search-text"), found = one(`[data-result="${place}"]`);
      if (field.value !== bold()[0]) return fill(field, bold()[0]);
      if (found) return press(found);
      return press(named("#pagination a", String(Math.floor(place / 3) + 1)) ?? one("#search"));
    },
    "sign-agreement": () => {
      const area = one("#text-area"), name = quoted()[0], [x, y] = center(area);
      if (/Click the cancel/.test(words)) return press(one("#cancel"));
      if (one("#name").disabled) return at("scroll", x, y, "the agreement", { direction: "down", scroll_size: 30 });
      return first(() => fill(one("#name"), name), () => press(one(/press "Agree"/.test(words) ? "#agree" : "#cancel")));
    },
    "simple-algebra": () => {
      const [left, right] = textOf(one("#math-problem")).split("="), x = [...Array(301).keys()].map((each) => each - 150)
        .find((each) => Function(`return ${left.replace("x", `(${each})`)}`)() === Number(right));
      return first(() => fill(one("#math-answer"), String(x)), submit);
    },
    "simple-arithmetic": () => {
      const sum = textOf(one("#math-problem")).replace("=", "").replace("x", "*");
      return first(() => fill(one("#math-answer"), String(Function(`return ${sum}`)())), submit);
    },
    "social-media": () => {
      const [user, action] = bold();
      const post = all(".media").find((each) => textOf(one(".username", each)) === user);
      const kind = Object.keys(ACTIONS).find((each) => ACTIONS[each] === action), mark = one(`.${kind}`, post);
      return press(shown(mark) ? mark : one(".more", post));
    },
    "social-media-all": () => social(),
    "social-media-some": () => social(parseInt(bold()[1], 10)),
    terminal: () => {
      const wanted = /extension \.(.+)$/.exec(words)?.[1];
      const file = currentFiles.find((each) => (wanted ? each.endsWith(`.${wanted}`) : !each.includes(".")));
      if (document.activeElement.id !== "terminal-target") return press(one("#terminal-contents"));
      const typed = one("#active-input").textContent;
      if (typed && !`rm ${file}`.startsWith(typed)) return pressed("backspace", typed.length);
      return write(`rm ${file}`.slice(typed.length), { press_enter: true });
    },
    "text-editor": editor,
    "text-transform": () => first(() => fill(one("#tt"), all("#captcha span").map((each) => each.textContent).join("")), submit),
    "unicode-test": () => press(named("#area button", quoted()[0])),
    "use-autocomplete": () => {
      const [begins, ends = ""] = bold(), field = one("#tags");
      const wanted = ui_utils.COUNTRIES.find((each) => each.startsWith(begins) && each.endsWith(ends));
      return first(() => fill(field, wanted), () => {
        const list = all(".ui-autocomplete").find(shown);
        return list ? press(all(".ui-menu-item", list).find((each) => textOf(each) === wanted)) : null;
      }, submit);
    },
    "use-colorwheel": () => {
      const color = one("#query .cc")?.style.backgroundColor;
      const hex = color ? color.match(/\d+/g).map((each) => Number(each).toString(16).padStart(2, "0")).join("")
        : ui_utils.colorNameToHex(/Select (\w+)/.exec(words)[1]).slice(1);
      const field = one("#col");
      if (field.value.toLowerCase() !== hex.toLowerCase()) return fill(field, hex);
      if (document.activeElement === field) return keys("tab");
      const button_ = one("#subbtn"), [x, y] = center(button_);
      return document.elementFromPoint(x, y) === button_ ? submit() : press(one("#query"));
    },
    "use-slider": () => first(() => slide(one("#slider"), parseInt(/Select (-?\d+)/.exec(words)[1], 10)), submit),
    "use-slider-2": () => {
      const wanted = JSON.parse(/\[.*\]/.exec(words)[0]);
      return first(...wanted.map((each, place) => () => slide(one(`#slider-${place + 1}`), each)), submit);
    },
    "use-spinner": () => {
      const wanted = parseInt(/Select (-?\d+)/.exec(words)[1], 10), now = parseInt(one("#spinner").value, 10) || 0;
      return now === wanted ? submit() : press(one(now < wanted ? ".ui-spinner-up" : ".ui-spinner-down"));
    },
    "visual-addition": () => first(() => fill(one("#math-answer"), String(all(".addition-block").length)), submit),
  };

  const boxes = () => {
    const wanted = /Select (?:words similar to )?(.*) and click Submit/.exec(words)[1].split(", ");
    const similar = (text) => wanted.includes(text) ||
      (task.endsWith("soft") && SYNONYMS.some((group) => group.includes(text) && wanted.some((each) => group.includes(each))));
    return first(...all("#area label").map((each) => () => check(one("input", each), similar(textOf(each)))), submit);
  };
  const same = {
    "choose-date": () => first(() => date(one("#datepicker"), /Select (\S+) as/.exec(words)[1]), submit),
    "click-checkboxes": boxes, "click-option": boxes, "email-inbox": inbox, "book-flight": flight,
    "click-link": tabs, "click-tab-2": tabs, "click-collapsible-2": tabs,
    "click-collapsible": () => first(() => (all(".ui-accordion-content").some(shown) ? null : press(one("#area h3"))), submit),
    "click-test": () => press(one("#subbtn")), "click-button": () => press(named("#area button", quoted()[0])),
    "enter-text": () => first(() => fill(one("#tt"), quoted()[0]), submit),
    "drag-circle": rules["drag-single-shape"], "login-user-popup": rules["login-user"], "multi-orderings": rules["multi-layouts"],
    "use-colorwheel-2": rules["use-colorwheel"], "count-sides": () => null,
  };
  if (WOB_DONE_GLOBAL) return { tool: "answer", content: "done" };
  const known = { ...same, ...rules };
  const name = Object.keys(known).filter((each) => task === each || task.startsWith(`${each}-`)).sort((a, b) => b.length - a.length)[0];
  return (name && known[name]()) || { tool: "none" };
}
