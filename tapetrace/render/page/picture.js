// One picture: pan and zoom by mouse and keyboard.

// All texts come from the report, that is, from anybody: they are set as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const root = document.documentElement;
root.classList.add("js");
const $ = (id) => document.getElementById(id);
const chosen = $("chosen");

function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((c) => c != null));
  return made;
}

class View {
  constructor(figure) {
    this.figure = figure;
    this.call = Number(figure.dataset.call);
    this.title = figure.querySelector("h3").textContent;
    this.frame = figure.querySelector(".view");
    this.svg = this.frame.querySelector("svg");
    this.whole = this.svg.getAttribute("viewBox").split(" ").map(Number);
    this.nodes = new Map([...this.svg.querySelectorAll(".node")].map((n) => [n.dataset.box, n]));
    this.edges = [...this.svg.querySelectorAll(".edge")];
    this.svg.removeAttribute("width");
    this.svg.removeAttribute("height");
    this.moved = false;
    this.prepareNodes();
    this.addControls();
    this.listen();
  }

  prepareNodes() {
    for (const [key, node] of this.nodes) {
      node.setAttribute("tabindex", "0");
      node.setAttribute("role", "button");
      node.addEventListener("keydown", (e) => {
        if (e.key === "Enter" || e.key === " ") { e.preventDefault(); go(anchorOfBox(this.call, key)); }
      });
      node.addEventListener("focus", () => { if (node.matches(":focus-visible")) this.reveal([node]); });
    }
  }

  // Measured only when the picture can be seen.
  prepareBoxes() {
    if (this.prepared) return;
    this.prepared = true;
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
      const ring = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      const at = { x: b.x - 4, y: b.y - 4, width: b.width + 8, height: b.height + 8, rx: 5, class: "ring" };
      for (const [name, value] of Object.entries(at)) ring.setAttribute(name, value);
      node.append(ring);
    }
  }

  addControls() {
    const bar = make("div", { class: "controls only-js", role: "toolbar", "aria-label": "Zoom" });
    for (const [sign, label, act] of [["+", "Zoom in", () => this.zoom(1.25)], ["−", "Zoom out", () => this.zoom(0.8)], ["0", "Show the whole picture", () => this.fit()]]) {
      const button = make("button", { type: "button", "aria-label": label, title: label }, sign);
      button.addEventListener("click", act);
      bar.append(button);
    }
    bar.append(make("span", { class: "note" }, "drag to move, wheel to zoom, keys + − 0 and arrows"));
    this.frame.before(bar);
    this.frame.setAttribute("tabindex", "0");
    this.frame.setAttribute("role", "group");
    this.frame.setAttribute("aria-label", `${this.title}. Keys plus, minus, zero and arrows zoom and move the picture.`);
  }

  listen() {
    const frame = this.frame;
    frame.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const step = 60 / this.scale;
      const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
      if (e.key === "+" || e.key === "=") this.zoom(1.25);
      else if (e.key === "-" || e.key === "−") this.zoom(0.8);
      else if (e.key === "0") this.fit();
      else if (moves[e.key]) { this.x += moves[e.key][0]; this.y += moves[e.key][1]; this.show(); }
      else return;
      e.preventDefault();
    });
    frame.addEventListener("wheel", (e) => {
      // In one column the wheel belongs to the page.
      if (!e.ctrlKey && window.innerWidth < 900) return;
      e.preventDefault();
      const r = frame.getBoundingClientRect();
      const pixels = e.deltaY * (e.deltaMode === 1 ? 30 : 1);
      this.zoom(Math.exp(-Math.max(-200, Math.min(200, pixels)) * 0.002), e.clientX - r.left - r.width / 2, e.clientY - r.top - r.height / 2);
    }, { passive: false });
    let from = null;
    frame.addEventListener("pointerdown", (e) => {
      if (e.button === 0 && e.pointerType !== "touch") { from = { x: e.clientX, y: e.clientY }; this.moved = false; }
    });
    window.addEventListener("pointermove", (e) => {
      if (!from) return;
      const dx = e.clientX - from.x, dy = e.clientY - from.y;
      if (!this.moved && Math.hypot(dx, dy) < 4) return;
      this.moved = true;
      frame.classList.add("dragging");
      this.x -= dx / this.scale;
      this.y -= dy / this.scale;
      from = { x: e.clientX, y: e.clientY };
      this.show();
    });
    window.addEventListener("pointerup", () => { from = null; frame.classList.remove("dragging"); });
    this.svg.addEventListener("click", (e) => {
      if (this.moved) { this.moved = false; return; }
      const node = e.target.closest(".node");
      if (node) go(anchorOfBox(this.call, node.dataset.box));
      else if (location.hash.length > 1) clear();
    });
    new ResizeObserver(() => this.resized()).observe(frame);
  }

  resized() {
    const w = this.frame.clientWidth, h = this.frame.clientHeight;
    if (!w || !h || root.classList.contains("printing")) return;
    const first = !this.width;
    this.width = w;
    this.height = h;
    this.prepareBoxes();
    if (first) { this.start(); light(); } else if (this.fitted) this.fit(); else this.show();
  }

  start() {
    this.fit();
    const readable = 0.6;
    if (this.scale >= readable) return;
    const stop = this.svg.querySelector(".node.break") || [...this.nodes.values()].pop();
    if (stop) this.centre([stop], 0.85);
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

  zoom(by, px = 0, py = 0) {
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
    if (!inside) this.centre(nodes, Math.max(this.scale, 0.7));
  }
}
