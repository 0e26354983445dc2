// Uploads: one file after another, with its progress, and with every fault that the server finds.

const form = document.getElementById("upload");
const list = document.getElementById("sent");
const box = form?.elements.files;

function element(name, text = "", className = "") {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** Sends a file. `fetch` reports no progress of uploads, so this is an XMLHttpRequest. */
function send(address, file, onProgress) {
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

function query() {
  const asked = new URLSearchParams();
  for (const name of ["team", "name", "description"]) {
    const text = form.elements[name]?.value.trim();
    if (text) asked.set(name, text);
  }
  return asked;
}

/** Shows the findings of a file: what it is, or why it was refused, by line. */
function show(item, { status, body }, isCheck) {
  const isFine = status >= 200 && status < 300;
  item.classList.add(isFine ? "fine" : "bad");
  const facts = isFine ? `${count(body.topics, "topic")}, ${count(body.retrieved, "document")}` : "";
  const happened = isCheck ? "is fine; nothing was stored" : status === 200 ? "was here already" : "is stored";
  item.append(element("p", isFine ? `${happened}: ${facts}, tag ${body.tag}` : (body?.detail ?? "The connection was lost. Send the file again.")));
  const findings = [...(body?.errors ?? []), ...(body?.warnings ?? [])];
  if (findings.length === 0) return;
  const table = element("table", "", "plain");
  const head = table.createTHead().insertRow();
  for (const title of ["Line", isFine ? "Warning" : "Fault"]) head.append(Object.assign(element("th", title), { scope: "col" }));
  const rows = table.createTBody();
  for (const each of findings) {
    const row = rows.insertRow();
    row.insertCell().textContent = each.line ? (each.last_line ? `${each.line}–${each.last_line}` : each.line) : (each.location ?? "");
    row.insertCell().textContent = each.message;
  }
  item.append(table);
  const more = (body.errors_total ?? 0) - (body.errors?.length ?? 0);
  if (more > 0) item.append(element("p", `and ${more.toLocaleString("en")} more`));
}

async function sendAll(isCheck) {
  const address = isCheck ? form.dataset.check : form.dataset.submit;
  const asked = `?${query()}`;
  let stored = 0;
  for (const file of [...box.files]) {
    const item = element("li");
    const progress = Object.assign(element("progress"), { max: 1, value: 0, ariaLabel: `Upload of ${file.name}` });
    item.append(element("strong", file.name), progress);
    list.prepend(item);
    const answer = await send(address + asked, file, (loaded, total) => {
      if (loaded < total) progress.value = loaded / total;
      else progress.removeAttribute("value"); // all is sent; the server reads
    });
    progress.remove();
    show(item, answer, isCheck);
    stored += !isCheck && answer.status === 201;
  }
  if (stored) await refresh();
}

/** Shows the list of runs as it is now. */
async function refresh() {
  const text = await (await fetch(location.href)).text();
  const page = new DOMParser().parseFromString(text, "text/html");
  document.getElementById("runs").replaceWith(document.adoptNode(page.getElementById("runs")));
}

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const buttons = form.querySelectorAll("button");
  const isCheck = event.submitter?.value === "check";
  for (const button of buttons) button.disabled = true;
  await sendAll(isCheck);
  for (const button of buttons) button.disabled = false;
});
// A check stores nothing, so it needs no team.
for (const button of form?.querySelectorAll("button") ?? []) button.formNoValidate = button.value === "check";
// A name is for one file. Several have the names in their tags.
box?.addEventListener("change", () => {
  const isOne = box.files.length < 2;
  form.elements.name.disabled = !isOne;
  if (!isOne) form.elements.name.value = "";
});
// A file that is dropped beside the place for it must not replace the page.
for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());
const drop = form?.querySelector(".drop");
for (const name of ["dragover", "dragleave", "drop"]) {
  drop?.addEventListener(name, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", name === "dragover");
    if (name !== "drop") return;
    box.files = event.dataTransfer.files;
    box.dispatchEvent(new Event("change"));
  });
}
