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
data.sources.forEach((s, i) => byAnchor.set(inOrder(s.anchor), { source: i }));
data.places.forEach((p, i) => byAnchor.set(inOrder(p.anchor), { place: i }));

// The address holds the choice and what is open, in any order: `source=enc/kernel&open=0.p0_3,0.p0_3.1`, a minus before a frame that is closed.
const OPEN = /^open=([-\w.,]*)$/;

function choiceIn(hash) { return hash.slice(1).split("&").filter((part) => !OPEN.test(part)).join("&"); }

function openIn(hash) { return hash.slice(1).split("&").map((part) => OPEN.exec(part)).filter(Boolean).flatMap((found) => found[1].split(",")); }

function inOrder(anchor) { return anchor.split("&").sort().join("&"); }

function address(anchor) {
  const open = views.flatMap((view) => (view.levels ? view.levels.names() : []).map((name) => name.replace(/^(-?)/, `$1${view.call}.`))).join(",");
  return `#${[anchor, open && `open=${open}`].filter(Boolean).join("&")}`;
}

function go(anchor) {
  const wanted = address(anchor);
  if (location.hash === wanted) light(); else location.hash = wanted;
}

function clear() {
  history.pushState(null, "", address(""));
  light();
}

function viewOf(call) { return views.find((v) => v.call === call); }

// What the choice of a source, a place or a box means in the picture as it is now.
function pathOf(view, i) { return view && view.levels ? view.levels.path(i) : data.sources[i].path; }
function stopsOf(view, i) { return view && view.levels ? view.levels.stops(i) : data.places[i].boxes; }
// Of the boxes inside an open break, those that the way leads through.
function stopsOn(path, stops) {
  const met = stops.filter((key) => path.includes(key));
  return met.length ? met : stops;
}

function boxOf(view, key) {
  if (view && view.levels) {
    const box = view.levels.byKey.get(key);
    return box && { ...box, call: view.call, sources: box.count ? view.levels.sourcesIn(key) : [] };
  }
  return data.boxes.find((b) => view && b.call === view.call && b.key === key);
}

function placesOf(view, key) { return data.places.map((p, i) => i).filter((i) => view && data.places[i].call === view.call && stopsOf(view, i).includes(key)); }

function anchorOfBox(call, key) {
  const view = viewOf(call), places = placesOf(view, key);
  if (places.length === 1) return data.places[places[0]].anchor;
  const box = boxOf(view, key);
  return box && box.sources.length === 1 && !places.length ? data.sources[box.sources[0]].anchor : `box=${call}.${key}`;
}

function choiceOf(anchor) {
  const box = /^box=(\d+)\.([\w.]+)$/.exec(anchor);
  if (box) return boxOf(viewOf(Number(box[1])), box[2]) && { box: box[2], call: Number(box[1]) };
  return byAnchor.get(inOrder(anchor));
}

function callChosen() {
  const choice = choiceOf(choiceIn(location.hash));
  if (!choice) return undefined;
  if (choice.call !== undefined) return choice.call;
  return choice.source !== undefined ? data.sources[choice.source].call : data.places[choice.place].call;
}

// Lights up what is chosen; `still` leaves the picture where it is.
function light(still = false) {
  const choice = choiceOf(choiceIn(location.hash)), behind = viewOf(callChosen());
  if (behind && behind.figure.classList.contains("off")) open(behind);
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
  // In a narrow window the picture lies far below the text.
  const see = make("button", { type: "button", class: "to-picture" }, "Show in the picture");
  see.addEventListener("click", () => {
    const shown = document.querySelector(".picture:not(.off)");
    const found = shown.querySelector(".node.stop, .node.decides") || shown.querySelector(".node.lit, .node.revived") || shown;
    // Above the box that says what is chosen.
    scrollBy(0, found.getBoundingClientRect().top - innerHeight / 5);
  });
  chosen.append(close, see);
  if (choice.source !== undefined) showSource(choice.source, still);
  else if (choice.place !== undefined) showPlace(choice.place, still);
  else showBox(choice.call, choice.box, still);
}

function mark(element) {
  if (!element) return;
  element.setAttribute("aria-current", "true");
  element.scrollIntoView({ block: "nearest" });
}

function rowOf(i) { return document.querySelector(`tr[data-source="${i}"]`); }

function paint(call, lit, stops, revived, flows, weight, still) {
  const view = viewOf(call);
  if (!view) return;
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
  if (!still) view.reveal(pick(stops.length ? stops : lit));
}

function showSource(i, still) {
  const s = data.sources[i], view = viewOf(s.call), path = pathOf(view, i);
  mark(rowOf(i));
  const places = s.places.map((p) => data.places[p]);
  paint(s.call, path, s.places.flatMap((p) => stopsOn(path, stopsOf(view, p))), [], [], places.length ? places[0].weight : "broken", still);
  chosen.append(make("h3", {}, s.name), make("p", {}, make("span", { class: `tag ${s.verdict}` }, s.verdict), ` ${s.says}`), make("p", { class: "faint" }, s.facts.join(" · ")));
  if (places.length) chosen.append(make("ol", { "aria-label": "Breaks, from the source to the target" }, ...places.map((p) => make("li", {}, placeLink(p), ` ${p.where} `, p.code ? make("code", {}, p.code) : null))));
  const boxes = path.map((key) => boxOf(view, key)).filter(Boolean);
  if (boxes.length) {
    // Of the others in its box nothing is said.
    const alone = boxes[0].sources.includes(i) && !boxes[0].ops && boxes[0].status !== "break";
    const way = make("p", { class: "faint" }, "path: ", alone ? null : `${s.name} → `);
    boxes.forEach((b, at) => {
      const text = alone && !at ? s.name : `${b.status === "break" ? "✂ " : ""}${(b.kind === "line" && b.code) || nameOf(b)}`;
      way.append(at ? " → " : "", make("a", { href: `#${anchorOfBox(s.call, b.key)}` }, text));
    });
    chosen.append(way);
  }
}

function showPlace(i, still) {
  const p = data.places[i], view = viewOf(p.call);
  const { revived, flows } = view && view.levels ? view.levels.revived(i) : p;
  mark(document.querySelector(`[data-place="${i}"]`));
  for (const s of p.blocks) rowOf(s).classList.add("behind");
  for (const s of p.reconnects) rowOf(s).classList.add("revived");
  paint(p.call, p.reconnects.length ? [] : p.blocks.flatMap((s) => pathOf(view, s)), stopsOf(view, i), revived, flows, p.weight, still);
  chosen.append(make("h3", {}, `${p.number ? `${p.number} ` : ""}${p.cause}`), make("p", {}, `${p.where} `, p.code ? make("code", {}, p.code) : null));
  if (p.remedy) chosen.append(make("p", {}, ...p.remedy.split("`").map((piece, at) => (at % 2 ? make("code", {}, piece) : piece))));
  const does = { broken: "blocks", conditional: "decides", opaque: "hides" }[p.weight];
  const rest = p.blocks.filter((s) => !p.reconnects.includes(s));
  if (p.reconnects.length) {
    chosen.append(make("p", { class: "come" }, `reopening it reconnects ${p.reconnects.length}${revived.length ? " (dashed in the picture)" : ""}:`), names(p.reconnects));
    if (rest.length) chosen.append(make("p", {}, `it blocks ${rest.length} more, which something else blocks too:`), names(rest));
  } else chosen.append(make("p", {}, `${does} ${p.count}${p.number && p.weight === "broken" ? "; reopening it alone reconnects none" : ""}:`), names(rest));
}

function showBox(call, key, still) {
  const view = viewOf(call), b = boxOf(view, key);
  const seen = view.levels ? view.levels.seenAs(key) : key;
  const through = data.sources.map((s, at) => at).filter((at) => data.sources[at].call === call && pathOf(view, at).includes(key));
  const behind = b.sources.length ? b.sources : through;
  paint(call, [seen], [], [], [], "", still);
  for (const s of behind) rowOf(s).classList.add("behind");
  chosen.append(make("h3", {}, `${b.target ? "target: " : ""}${b.heading || b.code}`), make("p", { class: "faint" }, [b.status, b.place, ...b.footnote].filter(Boolean).join(" · ")));
  if (b.code) chosen.append(make("p", {}, make("code", {}, b.code)));
  const places = placesOf(view, key).map((i) => data.places[i]);
  if (places.length) chosen.append(make("ul", {}, ...places.map((p) => make("li", {}, placeLink(p), ` ${p.where}`))));
  if (behind.length) chosen.append(make("p", {}, `${b.sources.length ? "sources in it" : "paths of sources through it"}: ${behind.length}`), names(behind));
}

function placeLink(p) { return make("a", { href: `#${p.anchor}` }, `${p.number ? `${p.number} ` : ""}${p.cause}`); }

function names(sources) {
  return make("ul", { class: "names" }, ...sources.map((i) => make("li", {}, make("a", { href: `#${data.sources[i].anchor}` }, data.sources[i].name))));
}
