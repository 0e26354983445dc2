// Buttons that copy a text. Without this script there are none.

for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    await navigator.clipboard.writeText(source.value ?? source.textContent);
    const said = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = said), 2000);
  });
}
