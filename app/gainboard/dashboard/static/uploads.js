// Uploads: one file after another, with its progress, and with every fault that the server finds.
//
// A form `.sends` sends its files to `data-submit`, with its other fields as the query. Its answers are listed in the
// `.sent` of its section. `data-kind` says what was sent, and `data-then` where to go on once it is stored: an address
// in which {name} stands for that value of the answer. Without it, the parts of the page `data-parts` are loaded again.

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** Sends a file. `fetch` reports no progress of uploads, so this is an XMLHttpRequest. */
function send(form, address, file, onProgress) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("POST", address);
    request.setRequestHeader("X-CSRF-Token", form.dataset.csrf);
    request.setRequestHeader("Accept", "application/json");
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => onProgress(event.loaded, event.total));
    request.addEventListener("loadend", () => resolve({ status: request.status, body: request.response }));
    request.send(file);
  });
}

const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

/** What is said of a file of each kind that was stored, or only read. */
const FACTS = {
  run: (body) => `${count(body.topics, "topic")}, ${count(body.retrieved, "document")}, tag ${body.tag}`,
  judgments: (body) => `${count(body.topics, "topic")}, ${count(body.judged, "judgment")}, ${body.relevant.toLocaleString("en")} relevant`,
  groups: (body) => count(body.items.length, "topic group"),
  matrix: (body) => `${body.metric}: ${count(body.runs, "run")}, ${count(body.topics, "topic")}`,
  topics: (body) => count(body.topics, "topic"),
  release: (body) => `${body.title}, ${count(body.left_out.length, "result")} left out`,
};

function addressOf(form, isCheck) {
  const address = new URL(isCheck ? form.dataset.check : form.dataset.submit, location.href);
  for (const field of form.elements) {
    const text = field.type === "file" || field.tagName === "BUTTON" || field.disabled ? "" : field.value.trim();
    if (field.name && text) address.searchParams.set(field.name, text);
  }
  return address.href;
}

/** Shows the findings of a file: what it is, or why it was refused, by line. */
function show(form, item, { status, body }, isCheck) {
  const isFine = status >= 200 && status < 300;
  const isUnscored = isFine && body.warnings?.some((each) => each.code === "too-few-topics");
  item.classList.add(isUnscored ? "unscored" : isFine ? "fine" : "bad");
  const stored = status === 200 && form.dataset.kind === "run" ? "was here already" : "is stored";
  const but = isUnscored ? ", but gets no score" : "";
  const happened = isCheck ? `${isUnscored ? "would be accepted" : "is fine"}${but}; nothing was stored` : stored + but;
  item.append(element("p", isFine ? `${happened}: ${FACTS[form.dataset.kind](body)}` : (body?.detail ?? "The connection was lost. Send the file again.")));
  const leftOut = (body?.left_out ?? []).map((result) => ({ location: result.kind, message: result.because }));
  const findings = [...(body?.errors ?? []), ...(body?.warnings ?? []), ...leftOut];
  if (findings.length === 0) return;
  const table = element("table", "", "plain");
  const head = table.createTHead().insertRow();
  for (const title of ["Line", isFine ? "Warning" : "Fault"]) head.append(Object.assign(element("th", title), { scope: "col" }));
  const rows = table.createTBody();
  for (const each of findings) {
    const row = rows.insertRow();
    row.insertCell().textContent = each.line ? (each.last_line ? `${each.line}–${each.last_line}` : each.line) : (each.location ?? "");
    const said = row.insertCell();
    said.append(each.message);
    // Locations of a form have codes of their own, which the message explains.
    if (!each.location) said.append(" ", Object.assign(element("a", each.code), { href: `${form.dataset.help}#${each.code}` }));
  }
  item.append(table);
  const more = (body.errors_total ?? 0) - (body.errors?.length ?? 0);
  if (more > 0) item.append(element("p", `and ${more.toLocaleString("en")} more`));
}

async function sendAll(form, isCheck) {
  const list = form.closest("section").querySelector(".sent");
  const address = addressOf(form, isCheck);
  let stored = null;
  for (const file of [...form.elements.files.files]) {
    const item = element("li");
    const progress = Object.assign(element("progress"), { max: 1, value: 0, ariaLabel: `Upload of ${file.name}` });
    item.append(element("strong", file.name), progress);
    list.prepend(item);
    const answer = await send(form, address, file, (loaded, total) => {
      if (loaded < total) progress.value = loaded / total;
      else progress.removeAttribute("value"); // all is sent; the server reads
    });
    progress.remove();
    show(form, item, answer, isCheck);
    if (!isCheck && answer.status >= 200 && answer.status < 300) stored = answer.body;
  }
  if (!stored || stored.left_out?.length) return; // what was left out is read here
  form.dispatchEvent(new CustomEvent("stored", { detail: stored, bubbles: true }));
  if (stored.job && form.dataset.job) location.assign(form.dataset.job.replace("{job}", stored.job));
  else if (form.dataset.then) location.assign(form.dataset.then.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(stored[name])));
  else if (form.dataset.parts) await refresh(form.dataset.parts.split(" "));
}

/** Shows parts of the page as they are now. */
async function refresh(parts) {
  const text = await (await fetch(location.href)).text();
  const page = new DOMParser().parseFromString(text, "text/html");
  for (const part of parts) {
    const now = page.getElementById(part); // none if the session has ended
    if (now) document.getElementById(part)?.replaceWith(document.adoptNode(now));
  }
}

function prepare(form) {
  const box = form.elements.files;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const buttons = form.querySelectorAll("button");
    const isCheck = event.submitter?.value === "check";
    for (const button of buttons) button.disabled = true;
    await sendAll(form, isCheck);
    for (const button of buttons) button.disabled = false;
  });
  for (const button of form.querySelectorAll("button")) {
    button.formNoValidate = button.value === "check"; // it stores nothing, so it needs no team
    button.disabled = false; // until now, the browser would have sent the form itself, without its file
  }
  // A name is for one file. Several have the names in their tags.
  box.addEventListener("change", () => {
    const isOne = box.files.length < 2;
    if (!box.multiple || !form.elements.name) return;
    form.elements.name.disabled = !isOne;
    if (!isOne) form.elements.name.value = "";
  });
  const drop = form.querySelector(".drop");
  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name !== "drop") return;
      box.files = event.dataTransfer.files;
      box.dispatchEvent(new Event("change"));
    });
  }
}

for (const form of document.querySelectorAll("form.sends")) prepare(form);
// A file that is dropped beside the place for it must not replace the page.
for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());
