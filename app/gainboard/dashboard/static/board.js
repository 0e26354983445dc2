// The board: sliders for its boxes, steps that fail and are said, and an address without empty fields.
import { addSliders } from "./sliders.js";

const form = document.getElementById("parameters");
const metric = form.querySelector("[data-cutoffs] input");
// Where scores are counted, each step would use some: then there are boxes and a button, and no sliders.
const isLive = form.dataset.live !== undefined;
let isLeaving = false;
if (isLive) {
  addSliders(form);
  keepWithTable();
  if (metric) openOtherMetrics();
}
form.addEventListener("formdata", ({ formData }) => {
  const pairs = [...formData];
  for (const [name] of pairs) formData.delete(name);
  for (const [name, value] of pairs) if (value !== "") formData.append(name, value);
});
// Filters are part of the form, but outside of its element.
for (const filter of document.querySelectorAll("[form=parameters]")) {
  filter.addEventListener(isLive ? "input" : "change", () => {
    if (isLive) form.dispatchEvent(new Event("input"));
    else form.requestSubmit();
  });
}

/** Controls and address show what the table shows. A step that fails is said, and can be tried again. */
function keepWithTable() {
  const fault = document.getElementById("fault");
  const part = (control) => (control.type === "checkbox" ? "checked" : "value");
  const read = () => new Map([...form.elements].map((control) => [control, control[part(control)]]));
  const write = (values) => {
    for (const control of form.elements) {
      control[part(control)] = values.get(control) ?? "";
      control.dispatchEvent(new Event("change")); // does not bubble: sliders follow, and nothing is sent
    }
  };
  let shown = read();
  let latest;
  const fail = (request, reason, isTyping) => {
    // Where another step is on its way, its answer decides.
    if (request !== latest) return;
    fault.className = isTyping ? "fault typing" : "fault";
    fault.replaceChildren(`${reason} The table still shows `, document.querySelector("#board .bar code").cloneNode(true), ". ");
    // What is being typed stays: it is no setting yet.
    if (isTyping) return;
    const again = Object.assign(document.createElement("button"), { type: "button", className: "second", textContent: "Try again" });
    again.addEventListener("click", () => {
      write(request.values);
      form.requestSubmit();
    });
    fault.append(again);
    write(shown);
  };
  form.addEventListener("input", () => (latest = undefined));
  form.addEventListener("htmx:config:request", ({ detail }) => {
    latest = detail.ctx;
    latest.values = read();
  });
  form.addEventListener("htmx:before:request", (event) => {
    if (isLeaving) event.preventDefault();
    // The answer before has replaced the table that this request was to replace.
    event.detail.ctx.target = document.getElementById("board");
  });
  form.addEventListener("htmx:after:request", (event) => {
    const { response, text, values } = event.detail.ctx;
    if (response.status < 400 && text.includes('id="board"')) {
      shown = values;
      fault.replaceChildren();
      fault.className = "fault";
      return;
    }
    event.preventDefault(); // nothing is shown of it, and the address stays
    const reason = new DOMParser().parseFromString(text, "text/html").querySelector(".reason")?.textContent;
    fail(event.detail.ctx, reason ?? `The server answered with an error (${response.status}).`, response.status === 422);
  });
  form.addEventListener("htmx:error", ({ detail }) => fail(detail.ctx, "The server did not answer."));
}

/** Another metric has other parameters, so its page is opened. Going back leads to the metric before. */
function openOtherMetrics() {
  // A box that is empty while somebody types asks for nothing yet.
  const wait = (event) => event.target === metric && metric.value.trim() === "" && event.stopPropagation();
  form.addEventListener("input", wait, true);
  const nameOf = (text) => text.match(/^[^(@]*/)[0].trim().toLowerCase();
  const first = nameOf(metric.value);
  const before = { address: location.href, value: metric.value };
  metric.addEventListener("focus", () => Object.assign(before, { address: location.href, value: metric.value }));
  metric.addEventListener("change", (event) => {
    const known = [...metric.list.options].map((option) => option.value.toLowerCase());
    if (metric.value.trim() === "") metric.value = before.value;
    else if (event.bubbles && nameOf(metric.value) !== first && known.includes(nameOf(metric.value))) {
      // An answer to what was typed would write its own address over that of the metric before.
      isLeaving = true;
      form.dispatchEvent(new Event("htmx:abort"));
      history.replaceState(history.state, "", before.address);
      form.submit();
    }
  });
}

// The table looks for news by itself. Where that fails, it says so until the next time.
for (const failure of ["htmx:error", "htmx:response:error"]) {
  document.addEventListener(failure, ({ detail }) => {
    const bar = document.querySelector("#board .bar");
    if (detail.ctx?.sourceElement.id !== "board" || bar.querySelector(".fault")) return;
    bar.append(Object.assign(document.createElement("span"), { className: "fault", textContent: "Not refreshed: the server did not answer." }));
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

// Where the parameters are a sheet, rows are in sight above it.
document.getElementById("setting").addEventListener("toggle", ({ newState }) => {
  if (newState === "open") document.querySelector("table.board")?.scrollIntoView({ block: "nearest" });
});

// A page that the browser has kept shows what its last step left, and not what its address says.
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
