// What somebody wrote into a form that was refused, for example because the session had ended, is there again later.
const KEY = "gainboard-form";
const kept = JSON.parse(sessionStorage.getItem(KEY));
const notice = document.getElementById("kept");

document.addEventListener("submit", ({ target }) => {
  if (target.method !== "post" || target.querySelector("[type=password], [type=file]")) return;
  const fields = [...new FormData(target)].filter(([name]) => !["csrf", "seen"].includes(name));
  sessionStorage.setItem(KEY, JSON.stringify({ action: target.action, page: location.href, fields }));
});

function fill(form) {
  const names = new Set(kept.fields.map(([name]) => name));
  for (const field of form.elements) {
    if (["checkbox", "radio"].includes(field.type)) {
      field.checked = kept.fields.some(([name, value]) => name === field.name && value === field.value);
    } else if (names.has(field.name) && field.type !== "hidden") {
      field.value = kept.fields.find(([name]) => name === field.name)[1];
    }
  }
  form.insertAdjacentHTML("afterbegin", '<p class="message" role="status"></p>');
  form.firstElementChild.textContent = "What you wrote is here again. It has not been saved yet.";
}

if (kept && notice) {
  // A button alone, which asks for nothing more, is not worth a way back.
  notice.hidden = kept.fields.length === 0;
  notice.querySelector("a").href = kept.page;
  const signIn = document.querySelector("a.button[href*='/signin']");
  if (signIn) signIn.search = new URLSearchParams({ next: new URL(kept.page).pathname });
  sessionStorage.setItem(KEY, JSON.stringify({ ...kept, wasRefused: true }));
} else if (kept?.wasRefused) {
  const form = [...document.forms].find(({ action, method }) => method === "post" && action === kept.action);
  if (form) {
    fill(form);
    sessionStorage.removeItem(KEY);
  }
} else {
  sessionStorage.removeItem(KEY);
}
