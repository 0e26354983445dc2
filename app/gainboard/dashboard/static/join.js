// The code of an invitation stands behind the # of its address, which browsers send nowhere. It is taken out of the
// address at once, and shown to the server, which says whose invitation it is. Only the next page's button uses it.

const code = location.hash.slice(1);
if (code) {
  history.replaceState(null, "", location.pathname);
  const form = document.getElementById("invitation");
  form.elements.code.value = code;
  form.requestSubmit();
}
