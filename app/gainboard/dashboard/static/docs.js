// Swagger UI on the service's own description, in the reader's theme.
/* global SwaggerUIBundle */
const place = document.getElementById("api");
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();
SwaggerUIBundle({ url: place.dataset.description, domNode: place, deepLinking: true, docExpansion: "none", validatorUrl: null });
