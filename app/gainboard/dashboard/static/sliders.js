// A slider beside each box that has steps. Boxes hold the values, so forms work without this script.

/** Adds a slider for each label that has `data-slider` or `data-cutoffs`. */
export function addSliders(form) {
  for (const label of form.querySelectorAll("[data-slider=gains]")) addGains(label);
  for (const label of form.querySelectorAll("[data-slider]:not([data-slider=gains])")) addNumber(label);
  for (const label of form.querySelectorAll("[data-cutoffs]")) addCutoff(label);
}

const texts = (json) => JSON.parse(json).map(String);

/** Makes a slider over `steps`, whose texts are shown. Returns it with a function that moves it to a text. */
function slider(title, steps, onMove) {
  const label = document.createElement("label");
  label.className = "slider";
  const shown = document.createElement("output");
  const range = document.createElement("input");
  Object.assign(range, { type: "range", min: 0, max: steps.length - 1, step: 1 });
  const say = () => {
    shown.value = steps[range.value];
    range.setAttribute("aria-valuetext", steps[range.value]);
  };
  range.addEventListener("input", (event) => {
    event.stopPropagation();
    say();
    onMove(steps[range.value]);
  });
  range.addEventListener("change", (event) => event.stopPropagation());
  label.append(title, shown, range);
  const show = (text) => {
    const distance = (step) => Math.abs(Math.log((Number(step) + 0.01) / (Number(text) + 0.01)));
    const nearest = () => steps.reduce((best, step, i) => (distance(step) < distance(steps[best]) ? i : best), 0);
    range.value = steps.includes(text) ? steps.indexOf(text) : nearest();
    say();
    shown.value = text;
  };
  return { label, show };
}

/** Writes a text into a box as if somebody had typed it. */
function write(box, text) {
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
}

function addNumber(label) {
  const box = label.querySelector("input");
  const steps = texts(label.dataset.steps);
  const isNamed = label.dataset.slider === "rel"; // the box has the number of a level, the slider its name
  const made = slider(label.firstChild.textContent.trim(), steps, (text) => write(box, isNamed ? steps.indexOf(text) + 1 : text));
  const show = () => {
    const text = box.value || box.placeholder;
    made.show(isNamed ? (steps[Number(text) - 1] ?? steps[0]) : text);
  };
  show();
  box.addEventListener("change", show);
  label.before(made.label);
  if (isNamed) label.hidden = true;
  else {
    // The box takes the place of the slider's own text, so that each value is seen once.
    made.label.querySelector("output").replaceWith(box);
    label.remove();
  }
}

/** One slider for each level. A higher level is never worth less than a lower one. */
function addGains(label) {
  const box = label.querySelector("input");
  const levels = texts(label.dataset.levels);
  const parse = () => (/^[\d.:]+$/.test(box.value || box.placeholder) ? (box.value || box.placeholder).split(":") : null);
  let gains = parse() ?? levels.map((_, i) => String(levels.length - i));
  const made = levels.map((level, moved) =>
    slider(`Gain of ${level}`, texts(label.dataset.steps), (text) => {
      gains = gains.map((gain, i) => {
        if (i === moved) return text;
        const wrong = i < moved ? Number(gain) < Number(text) : Number(gain) > Number(text);
        return wrong ? text : gain;
      });
      made.forEach((each, i) => each.show(gains[i]));
      write(box, gains.join(":"));
    }),
  );
  const show = () => {
    gains = parse() ?? gains;
    made.forEach((each, i) => each.show(gains[i]));
  };
  show();
  box.addEventListener("change", show);
  label.before(...made.map((each) => each.label));
  label.classList.add("exact");
}

/** The cut-off is a part of the metric's expression: nDCG@10. */
function addCutoff(label) {
  const box = label.querySelector("input");
  const steps = [...texts(label.dataset.cutoffs), "none"];
  const cutoff = () => box.value.match(/@(\d+)$/)?.[1] ?? "none";
  const made = slider("Cut-off", steps, (text) => {
    const bare = box.value.replace(/@\w+$/, "");
    write(box, text === "none" ? bare : `${bare}@${text}`);
  });
  made.show(cutoff());
  box.addEventListener("change", () => made.show(cutoff()));
  label.parentElement.querySelector("#metric-help").after(made.label);
}
