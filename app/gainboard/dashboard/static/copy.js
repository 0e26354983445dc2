// Buttons that copy a text. The stylesheet hides them where there are no scripts.

document.addEventListener("click", async ({ target: button }) => {
  if (!button.matches("button[data-copy]")) return;
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText(source.value ?? source.textContent);
  const said = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = said), 2000);
});
