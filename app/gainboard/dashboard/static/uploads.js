// Uploads: one file after another, with its progress, and with every fault that the server finds.
//
// A form `.sends` sends its files to `data-submit`, with its other fields as the query. Its answers are listed in the
// `.sent` of its section, and faults in its `.findings`. `data-kind` says what was sent, and `data-then` where to go on once it is stored: an address
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

/** Says what became of a file, and adds what was found in it to `findings`, where each fault is once. */
function show(form, item, file, { status, body }, isCheck, findings) {
  const isFine = status >= 200 && status < 300;
  const isUnscored = isFine && body.warnings?.some((each) => each.code === "too-few-topics");
  item.className = isUnscored ? "unscored" : isFine ? "fine" : "bad";
  const stored = status === 200 && form.dataset.kind === "run" ? "was here already" : "is stored";
  const but = isUnscored ? ", but gets no score" : "";
  const happened = isCheck ? `${isUnscored ? "would be accepted" : "is fine"}${but}; nothing was stored` : stored + but;
  const faults = body?.errors?.length && `refused, with ${count(body.errors_total ?? body.errors.length, "fault")}`;
  item.append(element("p", isFine ? `${happened}: ${FACTS[form.dataset.kind](body)}` : faults || (body?.detail ?? "The connection was lost. Send the file again.")));
  const leftOut = (body?.left_out ?? []).map((result) => ({ location: result.kind, message: result.because }));
  for (const each of [...(body?.errors ?? []), ...(body?.warnings ?? []), ...leftOut]) {
    const key = `${each.code} ${each.location ?? ""}`;
    if (!findings.has(key)) findings.set(key, { ...each, count: 0, places: new Map() });
    const finding = findings.get(key);
    const line = each.line ? (each.last_line ? `${each.line}–${each.last_line}` : each.line) : each.location;
    finding.count += 1;
    finding.places.set(file.name, [...(finding.places.get(file.name) ?? []), ...(line ? [line] : [])]);
  }
}

const SHOWN = 5;
/** Lists what was found in files: the first five, and a fold with the others. */
function list(form, findings, isOneFile, most = SHOWN) {
  const table = element("table", "", "plain");
  table.innerHTML = `<thead><tr><th scope="col">${isOneFile ? "Line" : "File and line"}</th><th scope="col">Fault or warning</th></tr></thead><tbody></tbody>`;
  for (const { places, count: times, message, code, location } of findings.slice(0, most)) {
    const row = table.tBodies[0].insertRow();
    const where = [...places].map(([name, lines]) => `${isOneFile ? "" : name} ${lines.slice(0, SHOWN).join(", ")}${lines.length > SHOWN ? ", …" : ""}`.trim());
    row.insertCell().textContent = where.join("; ");
    const said = row.insertCell();
    said.append(message, times > 1 ? ` (${times.toLocaleString("en")} times)` : "");
    // Locations of a form have codes of their own, which the message explains.
    if (!location) said.append(" ", Object.assign(element("a", code), { href: `${form.dataset.help}#${code}` }));
  }
  if (findings.length <= most) return findings.length ? [table] : [];
  const fold = element("details");
  fold.append(element("summary", count(findings.length - most, "other")), ...list(form, findings.slice(most), isOneFile, Infinity));
  return [table, fold];
}

/** Sends or checks files one after another, and returns those that are fine. */
async function sendAll(form, files, isCheck) {
  const section = form.closest("section");
  const address = addressOf(form, isCheck);
  const [findings, good] = [new Map(), []];
  let stored = null;
  for (const file of [...files]) {
    const item = file.item ?? element("li"); // a file that was checked before has its place
    file.item = item;
    const progress = Object.assign(element("progress"), { max: 1, value: 0, ariaLabel: `Upload of ${file.name}` });
    item.replaceChildren(element("strong", file.name), progress);
    if (!item.isConnected) section.querySelector(".sent").prepend(item);
    const answer = await send(form, address, file, (loaded, total) => {
      if (loaded < total) progress.value = loaded / total;
      else progress.removeAttribute("value"); // all is sent; the server reads
    });
    progress.remove();
    show(form, item, file, answer, isCheck, findings);
    section.querySelector(".findings").replaceChildren(...list(form, [...findings.values()], files.length === 1));
    if (answer.status < 200 || answer.status >= 300) continue;
    good.push(file);
    if (!isCheck) stored = answer.body;
  }
  if (!stored || stored.left_out?.length) return good; // what was left out is read here
  form.dispatchEvent(new CustomEvent("stored", { detail: stored, bubbles: true }));
  if (stored.job && form.dataset.job) location.assign(form.dataset.job.replace("{job}", stored.job));
  else if (form.dataset.then) location.assign(form.dataset.then.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(stored[name])));
  else if (form.dataset.parts) await refresh(form.dataset.parts.split(" "));
  return good;
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
  const buttons = form.querySelectorAll("button");
  let chosen = null; // of a set that was checked, the good ones: these are sent. Else all, also those chosen before this script
  async function work(isCheck) {
    for (const button of buttons) button.disabled = true;
    const good = await sendAll(form, isCheck ? box.files : (chosen ?? box.files), isCheck);
    for (const button of buttons) button.disabled = false;
    if (!isCheck || box.files.length < 2) return;
    chosen = good;
    buttons[0].disabled = good.length === 0;
    buttons[0].textContent = good.length < box.files.length ? `Submit the ${good.length} good ${good.length === 1 ? "one" : "ones"}` : `Submit all ${good.length}`;
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    work(event.submitter?.value === "check");
  });
  for (const button of buttons) {
    button.formNoValidate = button.value === "check"; // it stores nothing, so it needs no team
    button.disabled = false; // until now, the browser would have sent the form itself, without its file
  }
  box.addEventListener("change", () => {
    chosen = null;
    if (!box.multiple) return;
    // A name is for one file. Several have the names in their tags, and are checked at once.
    const isOne = box.files.length < 2;
    if (form.elements.name) form.elements.name.disabled = !isOne;
    if (!isOne && form.elements.name) form.elements.name.value = "";
    if (isOne) buttons[0].textContent = "Submit";
    else work(true);
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
