// A file of judgments says which levels and topics a new collection has, and a file of topics says these. Both are read
// and not stored.

const form = document.getElementById("new");
const place = document.getElementById("known");
const said = document.getElementById("told");
const box = place.querySelector("input");
place.hidden = false;

async function look(file) {
  said.textContent = `${file.name} is being read …`;
  const text = await file.slice(0, 1 << 20).text();
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  if (file.size < 1 << 20 && lines.length && lines.length <= MOST_TOPICS && lines.every((line) => /^\s*[^\s,]+\s*$/.test(line))) {
    form.elements.topics.value = lines.map((line) => line.trim()).join(", ");
    said.textContent = `${file.name} is a list of ${lines.length.toLocaleString("en")} topics, which are filled in.`;
    return;
  }
  const ids = lines.map((line) => line.split("\t")[0].trim());
  // Judgments may have tabs, too, but topics more than once, and no text of several words in a second and last column.
  if (new Set(ids).size === lines.length && lines.every((line) => /^\s*\S+\t[^\t]*$/.test(line)) && /\t\S+ +\S/.test(text)) {
    const isShort = file.size < 1 << 20 && new URLSearchParams({ text }).toString().length < MOST_CHARACTERS;
    if (isShort) form.elements.topics.value = lines.join("\n");
    said.textContent =
      `${file.name} has ${lines.length.toLocaleString("en")} topics with the texts of their queries. ` +
      (isShort ? "They are filled in." : "So many are declared on the page of judgments.");
    return;
  }
  const headers = { "X-CSRF-Token": form.dataset.csrf, "Content-Type": "application/octet-stream", Accept: "application/json" };
  const answer = await fetch(form.dataset.look, { method: "POST", headers, body: file });
  const found = await answer.json();
  if (!answer.ok) {
    const faults = (found.errors ?? []).map((each) => (each.line ? `line ${each.line}: ` : "") + each.message);
    said.textContent = [`${file.name} was not understood.`, ...(faults.length ? faults.slice(0, 5) : [found.detail])].join(" ");
    said.append(" ", Object.assign(document.createElement("a"), { href: form.dataset.help, textContent: "Every fault" }));
    return;
  }
  form.elements.levels.value = found.levels;
  const areFew = found.topics.length <= MOST_TOPICS;
  if (areFew) form.elements.topics.value = found.topics.join(", ");
  said.textContent =
    `${file.name} has ${found.judged.toLocaleString("en")} judgments of ${found.topics.length.toLocaleString("en")} topics, ` +
    `${found.relevant.toLocaleString("en")} of them relevant, up to level ${found.levels}. ` +
    (areFew ? "Levels and topics are filled in. " : "Levels are filled in; so many topics are declared on the page of judgments. ") +
    "Give the levels names, if they have some. The file is not stored: upload it once the collection is there.";
  form.elements.levels.dispatchEvent(new Event("input", { bubbles: true }));
}

/** The most topics that fit into the form. */
const MOST_TOPICS = 2000;
/** The most characters of topics and their queries, as a form sends them. */
const MOST_CHARACTERS = 50_000;
box.addEventListener("change", () => box.files[0] && look(box.files[0]));
for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());
for (const name of ["dragover", "dragleave", "drop"]) {
  place.addEventListener(name, (event) => {
    event.preventDefault();
    place.classList.toggle("over", name === "dragover");
    if (name === "drop" && event.dataTransfer.files[0]) look(event.dataTransfer.files[0]);
  });
}
