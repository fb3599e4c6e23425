// Opening and closing: a click opens one level, Escape and the titles close it, the address keeps it, and closing all gives the first picture back.

const MOST = 220;
let turn = Promise.resolve();

// One after the other: a picture is laid out before the next is asked for.
function inTurn(act) {
  turn = turn.then(act).catch((error) => console.error(error));
  return turn;
}

async function levelsOf(view) {
  view.kept ||= new Levels(JSON.parse(await unpack(`levels-${view.call}`)));
  return view.kept;
}

// Draws what is open. `view.levels` is there only while something is: the first picture needs none.
async function redraw(view, levels) {
  const isFirst = !levels.names().length;
  const drawing = isFirst ? view.first : await layOut(levels, view.call, view.first.getAttribute("aria-label"));
  view.levels = isFirst ? null : levels;
  view.take(drawing);
  crumbs(view);
}

function toggle(view, key) {
  return inTurn(async () => {
    const levels = await levelsOf(view), box = levels.byKey.get(key);
    if (!box || !levels.opens(box)) return;
    const before = levels.names(), old = elementOf(view, key);
    const spot = old && view.width ? view.place(old) : [0, 0];
    const was = [view.x, view.y, view.scale], { fitted } = view;
    view.hint(`${levels.open.has(box.at) ? "closing" : "opening"} ${nameOf(box)} …`);
    const closed = levels.toggle(box, MOST);
    try {
      await redraw(view, levels);
    } catch (error) {
      levels.set(before, Infinity);
      view.hint(`${nameOf(box)} cannot be drawn open (${error.message})`);
      return;
    }
    history.pushState(null, "", address(choiceIn(location.hash)));
    const isOpen = levels.open.has(box.at);
    for (const b of closed) view.stay?.delete(b.key);
    settle(view, elementOf(view, key), spot, was, isOpen, !levels.latest.includes(box.at), key, fitted);
    light(true);
    (isOpen ? view.svg.querySelector(`[data-group="${key}"] .handle`) : view.nodes.get(key))?.focus({ preventScroll: true });
    const also = closed.length ? `; closed ${closed.map(nameOf).join(", ")}, since a picture holds ${MOST} boxes` : "";
    view.hint(`${nameOf(box)} ${isOpen ? `opened: ${box.children.length} boxes` : "closed"}${also}`);
  });
}

// What was opened is brought into sight from where it was; what is closed leaves the picture as it was before. A frame that closes while all is seen
// leaves all in sight.
function settle(view, element, spot, was, isOpen, isBack, key, fitted) {
  if (!view.width) return;
  view.stay ||= new Map();
  const back = isBack && view.stay.get(key);
  if (back) {
    view.stay.delete(key);
    [view.x, view.y, view.scale] = back;
    view.show();
    return;
  }
  if (!isBack) view.stay.set(key, was);
  if (fitted && !isOpen) { view.fit(); return; }
  if (!element) return;
  const b = view.around([element]), wanted = isOpen && view.spotOf(element);
  [view.x, view.y] = [b.x + b.width / 2 - spot[0] / view.scale, b.y + b.height / 2 - spot[1] / view.scale];
  view.show();
  if (isOpen) view.glide(...wanted);
}

function elementOf(view, key) { return view.nodes.get(key) || view.svg.querySelector(`.cluster[data-group="${key}"]`); }

function nameOf(box) { return box.heading || box.code || box.place || "the box"; }

// The address is obeyed: by links, by Back and Forward, and at first.
function follow() {
  const wanted = openIn(location.hash).map((name) => /^(-?)(\d+)\.([\w.]+)$/.exec(name)).filter(Boolean);
  const late = views.filter((view) => {
    view.wanted = canOpen ? wanted.filter(([, , call]) => Number(call) === view.call).map(([, minus, , key]) => minus + key) : [];
    return view.wanted.join() !== (view.levels ? view.levels.names().join() : "");
  });
  if (!late.length) { light(); return turn; }
  return inTurn(async () => {
    for (const view of late) {
      const levels = await levelsOf(view);
      levels.set(view.wanted, MOST);
      await redraw(view, levels);
      // A picture behind another is measured when it is brought to the front.
      if (view.frame.clientWidth) view.start(); else view.width = 0;
    }
    light();
  });
}

function closeAll(view) {
  return inTurn(async () => {
    const levels = await levelsOf(view), first = levels.names()[0], back = view.stay && view.stay.get(first && first.replace("-", ""));
    levels.set([], MOST);
    await redraw(view, levels);
    view.stay = new Map();
    history.pushState(null, "", address(choiceIn(location.hash)));
    if (back) { [view.x, view.y, view.scale] = back; view.show(); } else if (view.width) view.start();
    light(true);
    view.hint();
    view.frame.focus({ preventScroll: true });
  });
}

function closeLatest() {
  const view = views.find((v) => !v.figure.classList.contains("off"));
  const latest = view && view.levels && latestOf(view.levels);
  if (latest) toggle(view, latest.key);
}

function latestOf(levels) { return levels.boxes[levels.latest[levels.latest.length - 1]]; }

// The way back: the whole picture, then the boxes around the one that was opened last.
function crumbs(view) {
  const levels = view.levels, box = levels && latestOf(levels);
  if (!box) { view.crumbs.replaceChildren(); return; }
  const chain = [...levels.around(box), box].filter((b) => !b.frame);
  const all = make("button", { type: "button", title: "As it was at first" }, "Whole picture");
  all.addEventListener("click", () => closeAll(view));
  const steps = chain.flatMap((b) => {
    const button = make("button", { type: "button", title: b === box ? "Show it" : "Back to it: closes what is open inside" }, nameOf(b));
    button.addEventListener("click", () => backTo(view, b.key));
    if (b === box) button.setAttribute("aria-current", "location");
    return ["›", button];
  });
  const frames = levels.latest.filter((at) => levels.boxes[at].frame).length, others = levels.latest.length - frames - chain.length;
  const also = [others > 0 ? `and ${others} more` : "", frames ? `${frames} frame${frames > 1 ? "s" : ""} closed` : ""].filter(Boolean).join(", ");
  view.crumbs.replaceChildren(all, ...steps, ...(also ? [make("span", { class: "faint" }, also)] : []));
}

function backTo(view, key) {
  const levels = view.levels, box = levels.byKey.get(key);
  const inner = levels.inside(box).filter((b) => levels.latest.includes(b.at) && b.parent === box.at);
  for (const b of inner) toggle(view, b.key);
  return inTurn(() => { const found = elementOf(view, key); if (found) view.centre([found], Math.max(view.scale, 0.7)); });
}

document.addEventListener("click", (e) => {
  const link = e.target.closest && e.target.closest("a[href^='#']");
  const anchor = link && link.getAttribute("href").slice(1);
  // A link in the text names the choice alone: what is open stays open.
  if (!anchor || !choiceOf(anchor) || !views.some((view) => view.levels && view.levels.names().length)) return;
  e.preventDefault();
  go(anchor);
});

// Where Python had no layout engine, the page lays out all of it.
for (const view of canOpen ? views.filter((v) => v.figure.hasAttribute("data-plain")) : []) {
  inTurn(async () => {
    try {
      const levels = await levelsOf(view);
      view.first = await layOut(levels, view.call, view.first.getAttribute("aria-label"));
      view.take(view.first);
      view.figure.querySelector(".plainer")?.remove();
      if (view.frame.clientWidth) view.start(); else view.width = 0;
      light();
    } catch (error) {
      view.hint(`laid out plainly: ${error.message}`);
    }
  });
}
