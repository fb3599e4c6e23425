// The data of the page, and elements made from it.

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
