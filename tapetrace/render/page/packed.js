// What stands in the page compressed, and the layout engine in it, which is made ready when it is needed for the first time.

const canOpen = typeof DecompressionStream === "function" && typeof WebAssembly === "object";
root.classList.toggle("opens", canOpen);

async function unpack(name) {
  const packed = atob($(`packed-${name}`).textContent);
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

let starting = null;

// The Graphviz of vendor/viz-global.js. It sees numbers only: names and texts of the report never reach it.
function engine() {
  starting ||= unpack("engine").then((code) => {
    document.head.append(make("script", {}, code));
    return window.Viz.instance();
  });
  return starting;
}
