// Buttons that copy a text. Without this script there are none.

function reveal() {
  for (const button of document.querySelectorAll("button[data-copy]")) button.hidden = false;
}

reveal();
document.addEventListener("htmx:after:swap", reveal);
document.addEventListener("click", async ({ target: button }) => {
  if (!button.matches("button[data-copy]")) return;
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(source.value ?? source.textContent);
  const said = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = said), 2000);
});
