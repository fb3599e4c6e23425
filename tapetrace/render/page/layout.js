// A picture of what is open now: sizes go to the layout engine, places come back.

const POINTS = 72;
const FAN = 6;

// No text of the report is in it: boxes are named by position and come with their size, titles as the room that they need.
function dotOf(levels, sizes, ways) {
  const lines = [
    "digraph {",
    // Without the limits a hundred boxes may take ten seconds; with them the lines bend a little more.
    'graph [nslimit=1 nslimit1=1 mclimit=0.3 rankdir=TB nodesep=0.3 ranksep=0.4 labelloc=t labeljust=l margin=10 outputorder=edgesfirst]',
    'node [shape=box fixedsize=true label=""]',
  ];
  const inches = (n) => (n / POINTS).toFixed(4);
  const write = (at) => {
    const size = sizes.get(at);
    if (!levels.open.has(at)) { lines.push(`n${at} [width=${inches(size.width)} height=${inches(size.height)}]`); return; }
    lines.push(`subgraph cluster_${at} {`, `label=<<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr><td width="${size.width}" height="16" fixedsize="true"></td></tr></table>>`);
    levels.boxes[at].children.forEach(write);
    lines.push("}");
  };
  levels.boxes.filter((box) => box.parent < 0).forEach((box) => write(box.at));
  for (const { tail, head } of ways) lines.push(`n${tail.at} -> n${head.at} [weight=${tail.kind === "sources" ? 1 : 6} arrowsize=0.7]`);
  return [...lines, "}"].join("\n");
}

// Ways from a box of sources that many boxes read, all but the first: they would rule the layout. They are drawn across it, faintly.
function farOf(ways) {
  const readers = new Map();
  for (const way of ways.filter(({ tail }) => tail.kind === "sources")) readers.set(way.tail, [...(readers.get(way.tail) || []), way]);
  return new Set([...readers.values()].filter((found) => found.length > FAN).flatMap((found) => found.sort((a, b) => a.head.at - b.head.at).slice(1)));
}

// The picture as an SVG element. Raises when the engine cannot lay it out.
async function layOut(levels, call, label) {
  const viz = await engine();
  const sizes = new Map();
  for (const box of levels.boxes) {
    if (levels.seen[box.at] !== box.at) continue;
    if (levels.open.has(box.at)) {
      const title = titleOf(box);
      sizes.set(box.at, { title, width: Math.ceil(widthOf(title, box.kind === "line" && box.code ? "mono" : "plain")) + 8 });
    } else sizes.set(box.at, sizeOf(box));
  }
  const ways = levels.ways(), far = farOf(ways), near = ways.filter((way) => !far.has(way));
  const done = viz.render(dotOf(levels, sizes, near), { format: "json0", engine: "dot" });
  if (done.status !== "success") throw new Error(done.errors.map((e) => e.message).join("; "));
  const found = JSON.parse(done.output);
  const [, , width, height] = found.bb.split(",").map(Number);
  const flip = ([x, y]) => [x, height - y];
  const frames = [], nodes = [], edges = [], named = new Map(), places = new Map();
  for (const object of found.objects || []) {
    named.set(object._gvid, object.name);
    if (object.name.startsWith("cluster_")) {
      const box = levels.boxes[Number(object.name.slice(8))];
      const [left, bottom, right, top] = object.bb.split(",").map(Number);
      frames.push([box.at, drawFrame(box, sizes.get(box.at).title, left, height - top, right, height - bottom)]);
    } else {
      const box = levels.boxes[Number(object.name.slice(1))];
      const [x, y] = flip(object.pos.split(",").map(Number));
      places.set(box.at, { x, y, ...sizes.get(box.at) });
      nodes.push([box.at, drawBox(box, sizes.get(box.at), x, y, call, levels.opens(box))]);
    }
  }
  const byEnds = new Map();
  for (const way of near) {
    const name = `n${way.tail.at} n${way.head.at}`;
    byEnds.set(name, [...(byEnds.get(name) || []), way]);
  }
  for (const edge of found.edges || []) {
    const way = byEnds.get(`${named.get(edge.tail)} ${named.get(edge.head)}`).shift();
    const parts = edge.pos.split(" ");
    const [tip, ...points] = parts.map((part) => flip(part.replace("e,", "").split(",").map(Number)));
    edges.push(drawWay(way, points, tip));
  }
  for (const way of far) edges.unshift(drawFar(way, places.get(way.tail.at), places.get(way.head.at)));
  // Lines lie behind the titles of frames, frames behind boxes; boxes in the order of the data, which is that of the Tab key.
  const inOrder = (drawn) => drawn.sort(([a], [b]) => levels.boxes[a].rank - levels.boxes[b].rank).map(([, element]) => element);
  const margin = 14;
  return svg("svg", {
    class: "drawing laid", viewBox: `${-margin} ${-margin} ${width + 2 * margin} ${height + 2 * margin}`, role: "group", "aria-label": label,
  }, ...edges, ...inOrder(frames), ...inOrder(nodes));
}
