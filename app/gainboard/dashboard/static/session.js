// Browsers without `scroll-initial-target` show the current entry of the navigation, too.
if (!CSS.supports("scroll-initial-target", "nearest")) document.querySelector("#pages [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

// A form is not lost when the session has ended: the visitor signs in over it, and sends it then.
const me = document.querySelector(".who a[href$='/me']")?.href;
const page = async () => {
  const answer = await fetch(me);
  return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
};

function askForToken(said, send) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "Sign in");
  dialog.innerHTML = `<form><p role="alert"></p><label class="field">Token <input type="password" autocomplete="current-password" required></label>
    <p class="actions"><button>Sign in and send</button> <button type="button" class="link">Not now</button></p></form>`;
  dialog.querySelector("p").textContent = said;
  dialog.querySelector("button.link").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => dialog.remove());
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = new URLSearchParams({ token: dialog.querySelector("input").value, next: "/" });
    await fetch(new URL("signin", me), { method: "POST", body, redirect: "manual" });
    const fresh = await page();
    if (!fresh) dialog.querySelector("p").textContent = "This token is not valid.";
    else {
      // A session has a text of its own, which its forms carry.
      const csrf = fresh.querySelector("input[name=csrf]").value;
      for (const field of document.querySelectorAll("input[name=csrf]")) field.value = csrf;
      for (const form of document.querySelectorAll("[data-csrf]")) form.dataset.csrf = csrf;
      dialog.close();
      send();
    }
  });
  document.body.append(dialog);
  dialog.showModal();
}

if (me) {
  document.addEventListener("submit", async (event) => {
    const { target: form, submitter } = event;
    if (event.defaultPrevented || form.method !== "post" || "isSure" in form.dataset || form.closest("dialog, .who")) return;
    event.preventDefault();
    const send = () => {
      form.dataset.isSure = "";
      form.requestSubmit(submitter);
    };
    const answer = await fetch(me).catch(() => null);
    if (answer?.status === 401) askForToken("Your session has ended. What you wrote is still here: sign in, and it is sent.", send);
    else send();
  });
}
