// Search and filters, keys of the whole page, and print.

const form = $("filters"), search = $("search"), layer = $("layer"), call = $("call"), shown = $("shown");
const rows = [...document.querySelectorAll("tr[data-source]")];
const cards = [...document.querySelectorAll("[data-place]")];
// What a cause says for itself, names of ops and the way there with it, without the lines around its own and the names of what it blocks.
const causeTexts = data.places.map((p, i) => {
  const card = document.querySelector(`[data-place="${i}"]`), said = card ? card.cloneNode(true) : make("p", {});
  for (const part of said.querySelectorAll("pre, .blocked")) part.remove();
  return `${p.cause} ${p.where} ${p.code} ${p.remedy} ${said.textContent}`;
});
const nothing = make("p", { class: "note", hidden: true }, "No source fits this search and these filters.");
$("sources").append(nothing);

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const verdicts = new Set([...form.querySelectorAll("input[name=verdict]:checked")].map((box) => box.value));
  const says = (text) => words.every((word) => text.toLowerCase().includes(word));
  const inLayer = (name) => !layer.value || name === layer.value || name.startsWith(`${layer.value}/`);
  let count = 0;
  const passing = new Set();
  for (const row of rows) {
    const i = Number(row.dataset.source), s = data.sources[i];
    const fits = verdicts.has(s.verdict) && inLayer(row.dataset.layer) && (!call || !call.value || row.dataset.call === call.value);
    if (fits) passing.add(i);
    row.hidden = !(fits && says(`${s.name} ${s.verdict} ${s.facts.join(" ")} ${s.places.map((p) => causeTexts[p]).join(" ")}`));
    count += !row.hidden;
  }
  let causesShown = 0;
  for (const card of cards) {
    const i = Number(card.dataset.place), p = data.places[i];
    const blocked = p.blocks.map((i) => data.sources[i].name).join(" ");
    const fits = !p.blocks.length ? !layer.value && (!call || !call.value || String(p.call) === call.value) : p.blocks.some((i) => passing.has(i));
    card.hidden = !(fits && says(`${causeTexts[i]} ${blocked}`));
    causesShown += !card.hidden;
  }
  for (const section of document.querySelectorAll(".call")) section.hidden = Boolean(call && call.value && section.dataset.call !== call.value);
  const causes = cards.length ? ` and ${causesShown} of ${cards.length} causes` : "";
  shown.textContent = `${count} of ${rows.length} sources${causes} shown`;
  nothing.hidden = count > 0 || !rows.length;
  if (rows.length) rows[0].closest("table").hidden = !count;
}

form.addEventListener("submit", (e) => e.preventDefault());
form.addEventListener("input", filter);
form.addEventListener("change", filter);
if (call) call.addEventListener("change", () => { const view = views.find((v) => String(v.call) === call.value); if (view) open(view); });

document.addEventListener("keydown", (e) => {
  if (e.key === "Escape" && e.target !== search) { if (chosen.hidden) closeLatest(); else clear(); }
  if (e.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && !e.ctrlKey && !e.metaKey) { e.preventDefault(); search.focus(); }
});
window.addEventListener("hashchange", follow);
window.addEventListener("popstate", follow);
window.addEventListener("beforeprint", () => {
  root.classList.add("printing");
  for (const d of document.querySelectorAll("details:not([open])")) { d.open = true; d.dataset.closed = ""; }
  for (const view of views) {
    view.svg.setAttribute("viewBox", view.whole.join(" "));
    view.svg.setAttribute("width", `${view.whole[2]}pt`);
    view.svg.setAttribute("height", `${view.whole[3]}pt`);
  }
});
window.addEventListener("afterprint", () => {
  root.classList.remove("printing");
  for (const d of document.querySelectorAll("details[data-closed]")) { d.open = false; delete d.dataset.closed; }
  for (const view of views) {
    view.svg.removeAttribute("width");
    view.svg.removeAttribute("height");
    if (view.width) view.show();
  }
});
if (views.length) open(viewOf(firstOf(data.places)?.call) || views.find((v) => v.svg.querySelector(".node.break")) || views[0]);
filter();
follow();
