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
for (const box of document.querySelectorAll("[form=parameters]")) {
  box.addEventListener("input", () => form.dispatchEvent(new Event("change")));
}
// Another metric has other parameters, so its page is opened.
const box = isLive && form.querySelector("[data-cutoffs] input");
const nameOf = (text) => text.match(/^[^(@]*/)[0].trim().toLowerCase();
const first = box && nameOf(box.value);
if (box) box.addEventListener("change", () => {
  const known = [...box.list.options].map((option) => option.value.toLowerCase());
  if (nameOf(box.value) !== first && known.includes(nameOf(box.value))) form.requestSubmit();
});
