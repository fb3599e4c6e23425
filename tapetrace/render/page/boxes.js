// Boxes, frames and ways as SVG: texts are measured in the fonts of this machine, so that each fits its box.

const SVG = "http://www.w3.org/2000/svg";
const LOOK = { strong: ["bold 10px", 13], small: ["9px", 12], mono: ["10px", 13], cause: ["bold 12px", 16], plain: ["10px", 13] };
const PAD = 7, BADGE = 30;
const pen = document.createElement("canvas").getContext("2d");

function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value != null && value !== false) made.setAttribute(name, typeof value === "number" ? Math.round(value * 100) / 100 : value);
  made.append(...children.filter((c) => c != null));
  return made;
}

function widthOf(text, look) {
  const family = look === "mono" ? getComputedStyle(root).getPropertyValue("--mono") : "Helvetica, Arial, sans-serif";
  pen.font = `${LOOK[look][0]} ${family}`;
  return pen.measureText(text).width;
}

// What is inside a break is drawn as broken too, but the cause and its number stand on the box around it.
function isBreak(box) { return box.kind === "break" || (box.frame && box.status === "break"); }

function rowsOf(box) {
  const below = [box.place, ...box.footnote].filter(Boolean);
  const rows = [[box.target ? "TARGET" : "", "strong"]];
  if (isBreak(box)) rows.push([`✂ ${box.heading}`, "cause"], [box.code, "mono"], [[box.place, box.footnote[0]].filter(Boolean).join(" · "), "small"], ...box.footnote.slice(1).map((line) => [line, "small"]));
  else rows.push([box.heading, box.kind === "line" ? "small" : "strong"], [box.code, "mono"], [below.join(" · "), "small"]);
  return rows.filter(([text]) => text);
}

function ranges(numbers) {
  const runs = [];
  for (const n of numbers) {
    const last = runs[runs.length - 1];
    if (last && n === last[1] + 1) last[1] = n; else runs.push([n, n]);
  }
  return runs.map(([a, b]) => (a === b ? `${a}` : `${a}–${b}`)).join(", ");
}

// Width and height in points, as the layout needs them.
function sizeOf(box) {
  const rows = rowsOf(box);
  const badge = isBreak(box) && box.numbers.length ? Math.max(BADGE, widthOf(ranges(box.numbers), "cause") + 14) + 6 : 0;
  const width = Math.max(26, ...rows.map(([text, look]) => widthOf(text, look))) + 2 * PAD + badge;
  const height = Math.max(badge ? 34 : 12, rows.reduce((sum, [, look]) => sum + LOOK[look][1], 0)) + 10;
  return { rows, badge, width: Math.ceil(width), height };
}

function knob(x, y, sign) {
  return svg("g", { class: "knob", transform: `translate(${x} ${y})`, "aria-hidden": "true" }, svg("circle", { r: 6.5 }), svg("path", { d: sign === "+" ? "M-3.4 0H3.4M0-3.4V3.4" : "M-3.4 0H3.4" }));
}

function describe(box) {
  const number = box.numbers.length ? ` ${box.numbers.join(", ")}` : "";
  return `${box.target ? "target, " : ""}${box.status}${number}: ${[box.heading, box.code, box.place, ...box.footnote].filter(Boolean).join(", ")}`;
}

function drawBox(box, size, x, y, call, opens) {
  const { width: w, height: h, rows, badge } = size;
  const [left, top] = [x - w / 2, y - h / 2];
  const weight = { live: 2, break: 1.6, conditional: 1.8 }[box.status] || 1.2;
  const shapes = [svg("rect", { class: `f-${box.status}-fill s-${box.status}`, x: left, y: top, width: w, height: h, rx: box.kind === "sources" ? 8 : 1, "stroke-width": weight + (box.target && box.status !== "break" ? 1.5 : 0) })];
  if (box.status === "break") shapes.unshift(svg("rect", { class: "f-none s-break", x: left - 4, y: top - 4, width: w + 8, height: h + 8, "stroke-width": weight }));
  if (badge) {
    shapes.push(svg("rect", { class: "f-break s-none", x: left + 5, y: top + 5, width: badge - 6, height: h - 10 }));
    shapes.push(svg("text", { class: "badge f-paper", x: left + 5 + (badge - 6) / 2, y: y + (box.numbers.length > 1 ? 4 : 7), "text-anchor": "middle", "font-size": box.numbers.length > 1 ? 12 : 20 }, ranges(box.numbers)));
  }
  let line = y - rows.reduce((sum, [, look]) => sum + LOOK[look][1], 0) / 2;
  for (const [text, look] of rows) {
    line += LOOK[look][1];
    shapes.push(svg("text", { class: `${look} ${look === "small" ? "f-faint" : "f-ink"}`, x: left + PAD + badge, y: line - 3 }, text));
  }
  shapes.push(svg("rect", { class: "ring", x: left - 5, y: top - 5, width: w + 10, height: h + 10, rx: 5 }));
  if (opens) shapes.push(knob(left - (box.status === "break" ? 4 : 0), top - (box.status === "break" ? 4 : 0), "+"));
  return svg("g", {
    class: `node ${box.status}`, id: `box-${call}-${box.key}`, "data-box": box.key, "data-numbers": box.numbers.join(" ") || null,
    "data-opens": opens ? (["sources", "break"].includes(box.kind) ? "knob" : "click") : null, "aria-label": describe(box),
  }, svg("title", {}, box.tooltip || box.heading), ...shapes);
}

// The frame of an open box: its title closes it.
function drawFrame(box, title, left, top, right, bottom) {
  return svg("g", { class: "cluster", "data-group": box.key }, svg("rect", { class: `f-none s-${box.kind === "break" ? "break" : "frame"}`, x: left, y: top, width: right - left, height: bottom - top, rx: 7 }),
    svg("text", { class: `f-faint ${box.kind === "line" && box.code ? "mono" : "plain"}`, x: left + 10, y: top + 15 }, title));
}

function titleOf(box) {
  if (box.kind === "break") return [`${ranges(box.numbers)} ✂ ${box.heading}`.trim(), box.code || box.place].filter(Boolean).join("  ·  ");
  return box.heading && box.kind !== "line" ? box.heading : [box.heading, box.code || box.place].filter(Boolean).join("  ·  ") || "opened";
}

// A way that the layout knows nothing of: from the lower edge of a box to the nearer side of another.
function drawFar(way, from, to) {
  const side = from.x < to.x ? -1 : 1, bend = Math.max(40, Math.abs(to.y - from.y) / 4);
  const start = [from.x, from.y + from.height / 2], tip = [to.x + side * to.width / 2, to.y], last = [tip[0] + side * 7, tip[1]];
  const drawn = drawWay(way, [start, [start[0], start[1] + bend], [last[0] + side * bend, last[1]], last], tip);
  drawn.classList.add("far");
  return drawn;
}

function drawWay({ tail, head, status, count }, points, tip) {
  const last = points[points.length - 1];
  const length = Math.hypot(tip[0] - last[0], tip[1] - last[1]) || 1;
  const [dx, dy] = [(tip[0] - last[0]) / length, (tip[1] - last[1]) / length];
  const at = (p) => p.map((n) => n.toFixed(1)).join(",");
  const d = `M${at(points[0])}C${points.slice(1).map(at).join(" ")}`;
  const lines = [svg("path", { class: `f-none s-${status} ${status === "break" ? "double" : "way"}`, d })];
  // A double line, so that a broken way differs from a live one in print too.
  if (status === "break") lines.push(svg("path", { class: "f-none s-paper gap", d }));
  const end = status === "opaque"
    ? svg("ellipse", { class: "f-paper s-opaque", cx: (last[0] + tip[0]) / 2, cy: (last[1] + tip[1]) / 2, rx: 2.6, ry: 2.6 })
    : svg("polygon", { class: `f-${status} s-${status}`, points: [[last[0] - dy * 2.6, last[1] + dx * 2.6], tip, [last[0] + dy * 2.6, last[1] - dx * 2.6]].map(at).join(" ") });
  const says = data.means[status] + (count > 1 ? ` (${count.toLocaleString("en")} tensors)` : "");
  return svg("g", { class: "edge", "data-tail": tail.key, "data-head": head.key }, svg("title", {}, says), ...lines, end);
}
