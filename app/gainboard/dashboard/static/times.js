// Each time also in the reader's own zone: as a tip, and in words at the dates of a campaign.
const own = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function tell(root) {
  for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
    time.title = `${own.format(new Date(time.dateTime))} your time`;
    const due = time.nextElementSibling;
    if (due?.matches(".due")) due.textContent = due.textContent.replace("(", `(${time.title}; `);
  }
}

tell(document);
document.addEventListener("htmx:after:swap", () => tell(document));
