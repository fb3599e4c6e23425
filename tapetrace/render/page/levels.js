// What opens inside what: which boxes of a picture are seen, the ways between them, and which of them a choice lights up.

class Levels {
  constructor(found) {
    const [texts, { kinds, statuses }] = [found.texts, data];
    this.boxes = [];
    found.boxes.forEach(([parent, kind, status, heading, code, place, footnote, tooltip, numbers, flags, ops, sources, key], at) => {
      const around = this.boxes[parent];
      this.boxes.push({
        at, parent, numbers, ops, key: key || `${around.key}.${around.children.length}`, kind: kinds[kind], status: statuses[status],
        heading: texts[heading], code: texts[code], place: texts[place], footnote: texts[footnote].split("\n").filter(Boolean), tooltip: texts[tooltip],
        target: Boolean(flags & 1), frame: Boolean(flags & 2), count: sources, children: [],
      });
      if (around) around.children.push(at);
    });
    this.byKey = new Map(this.boxes.map((box) => [box.key, box]));
    this.found = found;
    this.rank();
    this.set([], 0);
  }

  // The order in which the Tab key visits boxes: that of the data, each box before what is inside it.
  rank() {
    const first = [];
    for (const { at, frame, children } of [...this.boxes].reverse()) first[at] = frame ? Math.min(...children.map((b) => first[b])) : at;
    const inOrder = (found) => [...found].sort((a, b) => first[a] - first[b] || a - b);
    let next = 0;
    const visit = (at) => {
      this.boxes[at].rank = next;
      next += 1;
      inOrder(this.boxes[at].children).forEach(visit);
    };
    inOrder(this.boxes.filter((box) => box.parent < 0).map((box) => box.at)).forEach(visit);
  }

  opens(box) { return box.children.length > 0; }

  // `keys` as in the address: a key for what is open, with a minus for a frame that is closed. The latest come last; what would show more than `most` boxes
  // stays closed.
  set(keys, most) {
    this.latest = [];
    this.open = new Set(this.boxes.filter((box) => box.frame).map((box) => box.at));
    for (const name of keys) {
      const box = this.byKey.get(name.replace(/^-/, ""));
      if (!box || !this.opens(box) || box.frame !== name.startsWith("-") || this.latest.includes(box.at) || !this.isReached(box)) continue;
      this.turn(box);
      this.look();
      if (this.shown.length > most) this.turn(box);
    }
    this.look();
  }

  isReached(box) { return box.parent < 0 || (this.open.has(box.parent) && this.isReached(this.boxes[box.parent])); }

  names() { return this.latest.map((at) => (this.boxes[at].frame ? "-" : "") + this.boxes[at].key); }

  turn(box) {
    if (this.open.delete(box.at)) {
      for (const inner of this.inside(box)) this.back(inner);
    } else this.open.add(box.at);
    this.latest = this.latest.filter((at) => at !== box.at);
    if (this.open.has(box.at) !== box.frame) this.latest.push(box.at);
  }

  back(box) {
    if (box.frame) this.open.add(box.at); else this.open.delete(box.at);
    this.latest = this.latest.filter((at) => at !== box.at);
  }

  toggle(box, most) {
    this.turn(box);
    this.look();
    const closed = [];
    const kept = new Set([box.at, ...this.around(box).map((b) => b.at)]);
    for (const at of [...this.latest]) {
      if (this.shown.length <= most) break;
      if (kept.has(at) || this.boxes[at].frame || !this.open.has(at)) continue;
      this.turn(this.boxes[at]);
      this.look();
      closed.push(this.boxes[at]);
    }
    return closed;
  }

  around(box) { return box.parent < 0 ? [] : [...this.around(this.boxes[box.parent]), this.boxes[box.parent]]; }

  inside(box) { return box.children.flatMap((at) => [this.boxes[at], ...this.inside(this.boxes[at])]); }

  // `seen[at]` is the box that a box is seen as: itself, or the closed one around it. Those around come first in the list.
  look() {
    this.seen = [];
    for (const { at, parent } of this.boxes) this.seen.push(parent < 0 || (this.seen[parent] === parent && this.open.has(parent)) ? at : this.seen[parent]);
    this.shown = this.boxes.filter(({ at }) => this.seen[at] === at && !this.open.has(at));
  }

  seenAs(key) { return this.boxes[this.seen[this.byKey.get(key).at]].key; }

  of(op) { return this.boxes[this.seen[this.found.leaf[op]]]; }

  keys(ops) { return [...new Set(ops.map((op) => this.of(op).key))]; }

  // One way for each pair of boxes; two into a break that is open to some of what comes from there.
  ways() {
    const bundles = new Map();
    const [tails, heads, statuses] = this.found.edges;
    tails.forEach((a, i) => {
      const tail = this.of(a), head = this.of(heads[i]);
      if (tail === head) return;
      const name = `${tail.at} ${head.at}`;
      if (!bundles.has(name)) bundles.set(name, { tail, head, counts: {}, total: 0 });
      const bundle = bundles.get(name), status = data.statuses[statuses[i]];
      bundle.counts[status] = (bundle.counts[status] || 0) + 1;
      bundle.total += 1;
    });
    return [...bundles.values()].flatMap(({ tail, head, counts, total }) => {
      const shut = counts.break || 0, flowing = ["live", "conditional", "opaque"].find((status) => counts[status]);
      const way = (status, count) => ({ tail, head, status, count });
      if (head.status === "break" && !(tail.status === "break" && `${tail.numbers}` === `${head.numbers}`) && shut) return [way("break", shut), ...(flowing ? [way(flowing, total - shut)] : [])];
      if (flowing) return [way(flowing, total)];
      return [way(shut && tail.status === "dead" && head.status !== "dead" ? "break" : "dead", total)];
    });
  }

  route(source) {
    const ops = [];
    for (let from = 0; ;) {
      const written = this.found.routes[source] || [], end = written.indexOf(-1);
      for (const op of written.slice(from, end < 0 ? written.length : end)) ops.push(op);
      if (end < 0) return ops;
      [source, from] = written.slice(end + 1);
    }
  }

  path(source) { return this.keys(this.route(source)); }

  stops(place) {
    const { number } = data.places[place];
    const ops = Object.keys(this.found.numbers).map(Number).filter((op) => this.found.numbers[op] === number);
    // A cause that no op stands for has a box of its own.
    const own = this.shown.filter((box) => !box.ops && !box.count && box.numbers.includes(number)).map((box) => box.key);
    return number && (ops.length || own.length) ? [...this.keys(ops), ...own] : this.keys(this.found.stops[place] || []);
  }

  sourcesIn(key) {
    return Object.keys(this.found.routes).map(Number).filter((i) => { const [first] = this.route(i); return first !== undefined && this.of(first).key === key; });
  }

  // The boxes and ways that gradient comes to through this place and, as things are, does not.
  revived(place) {
    const { number, reconnects } = data.places[place];
    if (!reconnects.length) return { revived: [], flows: [] };
    const [tails, heads, statuses] = this.found.edges;
    const order = tails.map((_, i) => i).sort((a, b) => heads[b] - heads[a]);
    const reached = (reopened) => {
      const ops = new Set(this.found.targets), ways = new Set();
      for (const i of order) {
        const isShut = data.statuses[statuses[i]] === "break" && this.found.numbers[heads[i]] !== reopened;
        if (ops.has(heads[i]) && !isShut) { ops.add(tails[i]); ways.add(i); }
      }
      return ways;
    };
    const now = reached(null), then = number ? reached(number) : now;
    const flows = [...then].filter((i) => !now.has(i)).map((i) => [this.of(tails[i]).key, this.of(heads[i]).key]);
    for (const i of reconnects) {
      const path = this.path(i);
      flows.push(...path.slice(1).map((head, at) => [path[at], head]), ...path.map((key) => [key, key]));
    }
    return { revived: [...new Set(flows.flat())], flows: flows.filter(([a, b]) => a !== b) };
  }
}
