// One picture: what of it is seen, and from how near.

class View {
  constructor(figure) {
    this.figure = figure;
    this.call = Number(figure.dataset.call);
    this.title = figure.querySelector("h3").textContent;
    this.frame = figure.querySelector(".view");
    this.first = this.frame.querySelector("svg");
    this.levels = null;
    this.take(this.first);
    this.addControls();
    listen(this);
    new ResizeObserver(() => this.resized()).observe(this.frame);
  }

  // Shows another drawing of the same call: the first, or one in which something is open.
  take(drawing) {
    if (this.svg && this.svg !== drawing) this.svg.replaceWith(drawing);
    this.svg = drawing;
    this.nodes = new Map([...drawing.querySelectorAll(".node")].map((n) => [n.dataset.box, n]));
    this.edges = [...drawing.querySelectorAll(".edge")];
    if (!drawing.dataset.whole) {
      drawing.dataset.whole = drawing.getAttribute("viewBox");
      drawing.removeAttribute("width");
      drawing.removeAttribute("height");
      this.prepareNodes();
    }
    this.whole = drawing.dataset.whole.split(" ").map(Number);
    this.fitted = false;
    if (this.frame.clientWidth) this.prepareBoxes();
  }

  prepareNodes() {
    for (const [key, node] of this.nodes) {
      node.setAttribute("tabindex", "0");
      node.setAttribute("role", "button");
      const opens = canOpen && node.dataset.opens;
      if (opens) node.setAttribute("aria-expanded", "false");
      node.addEventListener("keydown", (e) => {
        if (e.ctrlKey || e.metaKey || e.altKey) return;
        const asked = { Enter: opens === "click" ? "open" : "choose", " ": "choose", o: opens ? "open" : "" }[e.key];
        if (!asked) return;
        e.preventDefault();
        if (asked === "open") toggle(this, key); else go(anchorOfBox(this.call, key));
      });
      node.addEventListener("focus", () => { if (node.matches(":focus-visible")) this.reveal([node]); });
    }
    if (canOpen) for (const frame of this.svg.querySelectorAll(".cluster[data-group]")) this.prepareFrame(frame);
  }

  // The title of a frame closes it.
  prepareFrame(frame) {
    const key = frame.dataset.group, title = frame.querySelector("text");
    if (!title) return;
    const handle = svg("g", { class: "handle", tabindex: "0", role: "button", "aria-expanded": "true", "aria-label": `${title.textContent}, open` });
    title.replaceWith(handle);
    handle.append(svg("title", {}, "close"), title);
    handle.addEventListener("keydown", (e) => {
      if (!["Enter", " ", "o"].includes(e.key) || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      toggle(this, key);
    });
    handle.addEventListener("focus", () => { if (handle.matches(":focus-visible")) this.reveal([handle]); });
  }

  // Measured only when the picture can be seen.
  prepareBoxes() {
    if (this.svg.dataset.measured) return;
    this.svg.dataset.measured = "yes";
    for (const frame of this.svg.querySelectorAll(".cluster")) {
      const handle = frame.querySelector(".handle");
      if (!handle) continue;
      const b = frame.querySelector("path, polygon, rect").getBBox(), t = handle.getBBox();
      handle.prepend(svg("rect", { class: "ring", x: b.x + 2, y: t.y - 3, width: t.x + t.width + 4 - b.x, height: t.height + 6, rx: 4 }));
      handle.append(knob(b.x, b.y, "−"));
    }
    if (this.svg.classList.contains("laid")) return;
    for (const node of this.nodes.values()) {
      const frame = node.querySelector("path, polygon, rect").getBBox();
      for (const text of node.querySelectorAll("text")) {
        // The fonts here may be wider than those that the layout was made for.
        const room = frame.x + frame.width - 4 - text.getBBox().x;
        if (text.getBBox().width > room && room > 20) {
          text.setAttribute("textLength", room);
          text.setAttribute("lengthAdjust", "spacingAndGlyphs");
        }
      }
      const b = this.around([...node.querySelectorAll("path, polygon, rect")]);
      node.append(svg("rect", { x: b.x - 4, y: b.y - 4, width: b.width + 8, height: b.height + 8, rx: 5, class: "ring" }));
      if (canOpen && node.dataset.opens) node.append(knob(b.x, b.y, "+"));
    }
  }

  addControls() {
    const bar = make("div", { class: "controls only-js", role: "toolbar", "aria-label": "Zoom" });
    for (const [sign, label, act] of [["+", "Zoom in", () => this.zoom(1.25)], ["−", "Zoom out", () => this.zoom(0.8)], ["0", "Show the whole picture", () => this.fit()]]) {
      const button = make("button", { type: "button", "aria-label": label, title: label }, sign);
      button.addEventListener("click", act);
      bar.append(button);
    }
    this.crumbs = make("nav", { class: "crumbs", "aria-label": "Opened boxes" });
    this.says = make("p", { class: "note says only-js", role: "status" });
    bar.append(this.crumbs);
    this.hint();
    this.frame.before(bar, this.says);
    this.frame.setAttribute("tabindex", "0");
    this.frame.setAttribute("role", "group");
    this.frame.setAttribute("aria-label", `${this.title}. Keys plus, minus, zero and arrows zoom and move the picture; Enter opens a box, Escape closes it.`);
  }

  hint(text) {
    const opens = canOpen && this.figure.querySelector("[data-opens]") ? "click a box with + to open it (Enter, or O), Shift-click to choose it" : "";
    this.says.textContent = text || ["drag to move, wheel or pinch to zoom", opens].filter(Boolean).join(" · ");
  }

  resized() {
    const w = this.frame.clientWidth, h = this.frame.clientHeight;
    if (!w || !h || root.classList.contains("printing")) return;
    const first = !this.width;
    this.width = w;
    this.height = h;
    this.prepareBoxes();
    if (first) { this.start(); if (callChosen() === this.call) light(); } else if (this.fitted) this.fit(); else this.show();
  }

  start() {
    this.fit();
    const readable = 0.6, latest = this.levels && latestOf(this.levels);
    if (this.scale >= readable) return;
    if (latest) {
      [this.x, this.y, this.scale] = this.spotOf(elementOf(this, latest.key));
      this.show();
      return;
    }
    const [first, ...others] = this.beginning();
    const fits = (nodes) => { const b = this.around(nodes); return (b.width + 40) * readable < this.width && (b.height + 40) * readable < this.height; };
    const seen = others.reduce((kept, node) => (fits([...kept, node]) ? [...kept, node] : kept), [first]);
    if (first) this.centre(seen, 0.85);
  }

  // The first of the root causes, what follows on its way to the target, and what leads to it.
  beginning() {
    const place = firstOf(data.places.filter((p) => p.call === this.call && p.boxes.some((key) => this.nodes.has(key))));
    if (!place) return [...this.nodes.values()].slice(-1);
    const stops = (key) => place.boxes.includes(key);
    const path = place.blocks.map((i) => data.sources[i].path).find((keys) => keys.some(stops)) || place.boxes;
    const at = path.findIndex(stops);
    return [...path.slice(at), ...path.slice(0, at).reverse()].map((key) => this.nodes.get(key)).filter(Boolean);
  }

  fit() {
    if (!this.width) return;
    const [x, y, w, h] = this.whole;
    this.scale = Math.min(this.width / w, this.height / h, 2);
    this.x = x + w / 2;
    this.y = y + h / 2;
    this.show();
    this.fitted = true;
  }

  // Where a point of the picture is seen, from the middle of the frame in pixels.
  place(element) {
    const b = this.around([element]);
    return [(b.x + b.width / 2 - this.x) * this.scale, (b.y + b.height / 2 - this.y) * this.scale];
  }

  // Moves there in a fifth of a second, or at once for those who want no motion.
  glide(x, y, scale) {
    const from = [this.x, this.y, this.scale], begun = performance.now();
    const moves = matchMedia("(prefers-reduced-motion: no-preference)").matches;
    const drawn = this.svg;
    const step = (now) => {
      if (this.svg !== drawn || this.gliding !== step) return;
      const t = moves ? Math.min(1, Math.max(0, now - begun) / 200) : 1, part = t * (2 - t);
      [this.x, this.y, this.scale] = [from[0] + (x - from[0]) * part, from[1] + (y - from[1]) * part, from[2] + (scale - from[2]) * part];
      this.show();
      if (t < 1) requestAnimationFrame(step); else this.gliding = null;
    };
    this.gliding = step;
    step(begun);
  }

  move(dx, dy) {
    this.gliding = null;
    this.x += dx;
    this.y += dy;
    this.show();
  }

  zoom(by, px = 0, py = 0) {
    this.gliding = null;
    const scale = Math.max(0.05, Math.min(8, this.scale * by));
    this.x += px / this.scale - px / scale;
    this.y += py / this.scale - py / scale;
    this.scale = scale;
    this.show();
  }

  show() {
    const [x, y, w, h] = this.whole;
    this.fitted = false;
    this.x = Math.max(x, Math.min(x + w, this.x));
    this.y = Math.max(y, Math.min(y + h, this.y));
    const wide = this.width / this.scale, high = this.height / this.scale;
    this.svg.setAttribute("viewBox", `${this.x - wide / 2} ${this.y - high / 2} ${wide} ${high}`);
  }

  around(nodes) {
    const boxes = nodes.map((n) => n.getBBox());
    const left = Math.min(...boxes.map((b) => b.x)), top = Math.min(...boxes.map((b) => b.y));
    const right = Math.max(...boxes.map((b) => b.x + b.width)), bottom = Math.max(...boxes.map((b) => b.y + b.height));
    return { x: left, y: top, width: right - left, height: bottom - top };
  }

  // From where, and from how near, an open box is read: what is taller than the frame is seen from its top.
  spotOf(element) {
    const b = this.around([element]), fits = Math.min(this.width / (b.width + 60), this.height / (b.height + 60));
    const scale = Math.max(0.7, Math.min(Math.max(this.scale, 0.85), fits));
    const tall = b.height * scale > this.height - 40;
    return [b.x + b.width / 2, tall ? b.y - 20 / scale + this.height / scale / 2 : b.y + b.height / 2, scale];
  }

  centre(nodes, scale) {
    const b = this.around(nodes);
    this.scale = Math.max(0.3, Math.min(scale, this.width / (b.width + 40), this.height / (b.height + 40)));
    this.x = b.x + b.width / 2;
    this.y = b.y + b.height / 2;
    this.show();
  }

  // Moves only if the boxes cannot be seen as they should be.
  reveal(nodes) {
    if (!nodes.length || !this.width || (this.fitted && this.scale >= 0.6)) return;
    const b = this.around(nodes);
    const wide = this.width / this.scale / 2, high = this.height / this.scale / 2;
    const inside = b.x >= this.x - wide && b.x + b.width <= this.x + wide && b.y >= this.y - high && b.y + b.height <= this.y + high;
    if (inside) return;
    // Of a way that is too long to be read at once, its beginning.
    const fits = this.height / (b.height + 40) > 0.4 && this.width / (b.width + 40) > 0.4;
    this.centre(fits ? nodes : nodes.slice(0, 1), Math.max(this.scale, 0.7));
  }
}

// The place that comes first in the ranking; those without a number come last.
function firstOf(places) {
  return places.reduce((best, p) => (!best || (p.number || Infinity) < (best.number || Infinity) ? p : best), null);
}
