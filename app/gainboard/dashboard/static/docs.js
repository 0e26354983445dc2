// Swagger UI on the service's own description.
/* global SwaggerUIBundle */
const place = document.getElementById("api");
SwaggerUIBundle({ url: place.dataset.description, domNode: place, deepLinking: true, docExpansion: "none", validatorUrl: null });
