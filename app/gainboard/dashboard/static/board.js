// The board: sliders for its boxes, and an address without empty fields.
import { addSliders } from "./sliders.js";

const form = document.getElementById("parameters");
// Where scores are counted, each step would use some: then there are boxes and a button, and no sliders.
const isLive = form.dataset.live !== undefined;
if (isLive) addSliders(form);
form.addEventListener("formdata", ({ formData }) => {
  const pairs = [...formData];
  for (const [name] of pairs) formData.delete(name);
  for (const [name, value] of pairs) if (value !== "") formData.append(name, value);
});
// Filters are part of the form, but outside of its element.
for (const filter of document.querySelectorAll("[form=parameters]")) {
  filter.addEventListener(isLive ? "input" : "change", () => {
    if (isLive) form.dispatchEvent(new Event("change"));
    else form.requestSubmit();
  });
}

const metric = form.querySelector("[data-cutoffs] input");
if (isLive && metric) {
  // A box that is empty while somebody types asks for nothing yet.
  form.addEventListener(
    "input",
    (event) => {
      if (event.target === metric && metric.value.trim() === "") event.stopPropagation();
    },
    true,
  );
  // Another metric has other parameters, so its page is opened. Going back leads to the metric before.
  const nameOf = (text) => text.match(/^[^(@]*/)[0].trim().toLowerCase();
  const first = nameOf(metric.value);
  const before = { address: location.href, value: metric.value };
  metric.addEventListener("focus", () => Object.assign(before, { address: location.href, value: metric.value }));
  metric.addEventListener("change", (event) => {
    const known = [...metric.list.options].map((option) => option.value.toLowerCase());
    if (metric.value.trim() === "") metric.value = before.value;
    else if (nameOf(metric.value) !== first && known.includes(nameOf(metric.value))) {
      // An answer to what was typed would write its own address over that of the metric before.
      event.stopPropagation();
      form.dispatchEvent(new Event("htmx:abort"));
      history.replaceState(history.state, "", before.address);
      form.requestSubmit();
    }
  });
}

// There is always one more box for a column.
const columns = form.querySelector("details");
columns?.addEventListener("input", () => {
  const last = columns.querySelector("input:last-of-type");
  if (last.value === "") return;
  const next = last.cloneNode();
  next.value = "";
  next.setAttribute("aria-label", `Column ${columns.querySelectorAll("input").length + 1}`);
  columns.append(next);
});

// A page that the browser has kept shows what its last step left, and not what its address says.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
