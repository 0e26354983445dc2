// The board: sliders for its boxes, and an address without empty fields.
import { addSliders } from "./sliders.js";

const form = document.getElementById("parameters");
// Where scores are counted, each step would use some: then there are boxes and a button, and no sliders.
if (form.dataset.live !== undefined) addSliders(form);
form.addEventListener("formdata", (event) => {
  for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
});
// Filters are part of the form, but outside of its element.
for (const box of document.querySelectorAll("[form=parameters]")) {
  box.addEventListener("input", () => form.dispatchEvent(new Event("change")));
}
