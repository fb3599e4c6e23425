// The choice of a source, a place or a box. It is the fragment of the address, so that it can be linked to and gone back from.

const views = [...document.querySelectorAll(".picture")].map((figure) => new View(figure));
const tabs = $("tabs");
const buttons = views.length > 1 ? views.map((view) => {
  const button = make("button", { type: "button", "aria-pressed": "false", title: view.title }, view.title.split(":")[0]);
  button.addEventListener("click", () => open(view));
  tabs.append(button);
  return button;
}) : [];

function open(view) {
  views.forEach((v, i) => {
    v.figure.classList.toggle("off", v !== view);
    if (buttons[i]) buttons[i].setAttribute("aria-pressed", String(v === view));
  });
  if (view.frame.clientWidth) view.resized();
}

const byAnchor = new Map();
data.sources.forEach((s, i) => byAnchor.set(s.anchor, { source: i }));
data.places.forEach((p, i) => byAnchor.set(p.anchor, { place: i }));
data.boxes.forEach((b, i) => byAnchor.set(`box=${b.call}.${b.key}`, { box: i }));

function go(anchor) {
  if (location.hash === `#${anchor}`) light(); else location.hash = anchor;
}

function clear() {
  history.pushState(null, "", "#");
  light();
}

function anchorOfBox(call, key) {
  const places = data.places.filter((p) => p.call === call && p.boxes.includes(key));
  if (places.length === 1) return places[0].anchor;
  const box = data.boxes.find((b) => b.call === call && b.key === key);
  return box && box.sources.length === 1 && !places.length ? data.sources[box.sources[0]].anchor : `box=${call}.${key}`;
}

function light() {
  const choice = byAnchor.get(location.hash.slice(1));
  for (const marked of document.querySelectorAll("[aria-current], tr.behind, tr.revived")) {
    marked.removeAttribute("aria-current");
    marked.classList.remove("behind", "revived");
  }
  for (const view of views) {
    view.svg.classList.remove("choosing");
    for (const part of [...view.nodes.values(), ...view.edges]) part.classList.remove("lit", "stop", "revived", "decides");
  }
  chosen.replaceChildren();
  chosen.hidden = !choice;
  if (!choice) return;
  const close = make("button", { type: "button", class: "close", "aria-label": "Choose nothing (Escape)" }, "×");
  close.addEventListener("click", clear);
  chosen.append(close);
  if (choice.source !== undefined) showSource(choice.source);
  else if (choice.place !== undefined) showPlace(choice.place);
  else showBox(choice.box);
}

function mark(element) {
  if (!element) return;
  element.setAttribute("aria-current", "true");
  element.scrollIntoView({ block: "nearest" });
}

function rowOf(i) { return document.querySelector(`tr[data-source="${i}"]`); }

function paint(call, lit, stops, revived, flows, weight) {
  const view = views.find((v) => v.call === call);
  if (!view) return;
  open(view);
  const pick = (keys) => keys.map((k) => view.nodes.get(k)).filter(Boolean);
  if (!pick([...lit, ...stops, ...revived]).length) return;
  view.svg.classList.add("choosing");
  pick(lit).forEach((n) => n.classList.add("lit"));
  // What is live already stays as it is.
  pick(revived).forEach((n) => n.classList.add(n.classList.contains("live") ? "lit" : "revived"));
  pick(stops).forEach((n) => n.classList.add("lit", weight === "broken" ? "stop" : "decides"));
  const way = new Set(lit.slice(1).map((head, i) => `${lit[i]} ${head}`));
  const again = new Set(flows.map(([tail, head]) => `${tail} ${head}`));
  for (const edge of view.edges) {
    const name = `${edge.dataset.tail} ${edge.dataset.head}`;
    if (way.has(name)) edge.classList.add("lit");
    if (again.has(name)) edge.classList.add(edge.querySelector(".s-live") ? "lit" : "revived");
  }
  view.reveal(pick(stops.length ? stops : lit));
}

function showSource(i) {
  const s = data.sources[i];
  mark(rowOf(i));
  const places = s.places.map((p) => data.places[p]);
  paint(s.call, s.path, places.flatMap((p) => p.boxes), [], [], places.length ? places[0].weight : "broken");
  chosen.append(make("h3", {}, s.name), make("p", {}, make("span", { class: `tag ${s.verdict}` }, s.verdict), ` ${s.says}`), make("p", { class: "faint" }, s.facts.join(" · ")));
  if (places.length) chosen.append(make("ol", { "aria-label": "Breaks, from the source to the target" }, ...places.map((p) => make("li", {}, placeLink(p), ` ${p.where} `, p.code ? make("code", {}, p.code) : null))));
  const boxes = s.path.map((key) => data.boxes.find((b) => b.call === s.call && b.key === key)).filter(Boolean);
  if (boxes.length) {
    const way = make("p", { class: "faint" }, "path: ");
    boxes.forEach((b, at) => way.append(at ? " → " : "", make("a", { href: `#${anchorOfBox(b.call, b.key)}` }, `${b.status === "break" ? "✂ " : ""}${b.heading || b.code}`)));
    chosen.append(way);
  }
}

function showPlace(i) {
  const p = data.places[i];
  mark(document.querySelector(`[data-place="${i}"]`));
  for (const s of p.blocks) rowOf(s).classList.add("behind");
  for (const s of p.reconnects) rowOf(s).classList.add("revived");
  paint(p.call, p.reconnects.length ? [] : p.blocks.flatMap((s) => data.sources[s].path), p.boxes, p.revived, p.flows, p.weight);
  chosen.append(make("h3", {}, `${p.number ? `${p.number} ` : ""}${p.cause}`), make("p", {}, `${p.where} `, p.code ? make("code", {}, p.code) : null));
  if (p.remedy) chosen.append(make("p", {}, ...p.remedy.split("`").map((piece, at) => (at % 2 ? make("code", {}, piece) : piece))));
  const does = { broken: "blocks", conditional: "decides", opaque: "hides" }[p.weight];
  const rest = p.blocks.filter((s) => !p.reconnects.includes(s));
  if (p.reconnects.length) {
    chosen.append(make("p", { class: "come" }, `reopening it reconnects ${p.reconnects.length}${p.revived.length ? " (dashed in the picture)" : ""}:`), names(p.reconnects));
    if (rest.length) chosen.append(make("p", {}, `it blocks ${rest.length} more, which something else blocks too:`), names(rest));
  } else chosen.append(make("p", {}, `${does} ${p.count}${p.number && p.weight === "broken" ? "; reopening it alone reconnects none" : ""}:`), names(rest));
}

function showBox(i) {
  const b = data.boxes[i];
  const through = data.sources.map((s, at) => at).filter((at) => data.sources[at].call === b.call && data.sources[at].path.includes(b.key));
  const behind = b.sources.length ? b.sources : through;
  paint(b.call, [b.key], [], [], []);
  for (const s of behind) rowOf(s).classList.add("behind");
  chosen.append(make("h3", {}, `${b.target ? "target: " : ""}${b.heading || b.code}`), make("p", { class: "faint" }, [b.status, b.place, ...b.footnote].filter(Boolean).join(" · ")));
  if (b.code) chosen.append(make("p", {}, make("code", {}, b.code)));
  const places = data.places.filter((p) => p.call === b.call && p.boxes.includes(b.key));
  if (places.length) chosen.append(make("ul", {}, ...places.map((p) => make("li", {}, placeLink(p), ` ${p.where}`))));
  if (behind.length) chosen.append(make("p", {}, `${b.sources.length ? "sources in it" : "paths of sources through it"}: ${behind.length}`), names(behind));
}

function placeLink(p) { return make("a", { href: `#${p.anchor}` }, `${p.number ? `${p.number} ` : ""}${p.cause}`); }

function names(sources) {
  return make("ul", { class: "names" }, ...sources.map((i) => make("li", {}, make("a", { href: `#${data.sources[i].anchor}` }, data.sources[i].name))));
}
