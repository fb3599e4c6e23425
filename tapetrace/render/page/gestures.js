// Mouse, fingers and keys on a picture: one finger or the mouse moves it, two fingers or the wheel zoom it, a click chooses or opens.

function listen(view) {
  const frame = view.frame;
  frame.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = 60 / view.scale;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    if (e.key === "+" || e.key === "=") view.zoom(1.25);
    else if (e.key === "-" || e.key === "−") view.zoom(0.8);
    else if (e.key === "0") view.fit();
    else if (moves[e.key]) view.move(...moves[e.key]);
    else return;
    e.preventDefault();
  });
  frame.addEventListener("wheel", (e) => {
    // In one column the wheel belongs to the page.
    if (!e.ctrlKey && window.innerWidth < 900) return;
    e.preventDefault();
    const pixels = e.deltaY * (e.deltaMode === 1 ? 30 : 1);
    view.zoom(Math.exp(-Math.max(-200, Math.min(200, pixels)) * 0.002), ...fromMiddle(frame, e.clientX, e.clientY));
  }, { passive: false });

  const down = new Map();
  let moved = false;
  frame.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    if (!down.size) moved = false;
    down.set(e.pointerId, [e.clientX, e.clientY]);
  });
  window.addEventListener("pointermove", (e) => {
    const from = down.get(e.pointerId);
    if (!from) return;
    const to = [e.clientX, e.clientY];
    if (!moved && Math.hypot(to[0] - from[0], to[1] - from[1]) < 4) return;
    moved = true;
    frame.classList.add("dragging");
    const before = spread(down);
    down.set(e.pointerId, to);
    const after = spread(down);
    view.move((before.x - after.x) / view.scale, (before.y - after.y) / view.scale);
    if (before.apart && after.apart) view.zoom(after.apart / before.apart, ...fromMiddle(frame, after.x, after.y));
  });
  for (const end of ["pointerup", "pointercancel"]) {
    window.addEventListener(end, (e) => {
      down.delete(e.pointerId);
      if (!down.size) frame.classList.remove("dragging");
    });
  }
  frame.addEventListener("click", (e) => {
    if (moved) { moved = false; return; }
    const node = e.target.closest(".node"), handle = e.target.closest(".handle");
    if (handle) toggle(view, handle.closest(".cluster").dataset.group);
    else if (!node) { if (choiceIn(location.hash)) clear(); }
    else if (canOpen && !e.shiftKey && (node.dataset.opens === "click" || (node.dataset.opens && e.target.closest(".knob")))) toggle(view, node.dataset.box);
    else go(anchorOfBox(view.call, node.dataset.box));
  });
}

// Where the fingers are on the whole, and how far two of them are apart.
function spread(down) {
  const points = [...down.values()].slice(0, 2);
  const [x, y] = [0, 1].map((axis) => points.reduce((sum, p) => sum + p[axis], 0) / points.length);
  return { x, y, apart: points.length > 1 ? Math.hypot(points[0][0] - points[1][0], points[0][1] - points[1][1]) : 0 };
}

function fromMiddle(frame, x, y) {
  const r = frame.getBoundingClientRect();
  return [x - r.left - r.width / 2, y - r.top - r.height / 2];
}
