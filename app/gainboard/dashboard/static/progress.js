// The progress of a job or report, from events of the server; the page is loaded again when the work is over.
const place = document.getElementById("running");
const events = new EventSource(place.dataset.events);

events.addEventListener(place.dataset.event, (event) => {
  const { state, progress } = JSON.parse(event.data);
  if (state !== "queued" && state !== "running") {
    events.close();
    location.reload();
    return;
  }
  place.querySelector(".state").textContent = state;
  place.querySelector(".done").textContent = progress.done;
  Object.assign(place.querySelector("progress"), { max: progress.total, value: progress.done });
});
