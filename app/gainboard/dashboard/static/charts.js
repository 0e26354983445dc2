// Draws every figure of every page. A figure is a value: panels with series over two axes, or heat maps.
/* global Plot, d3 */

const COLOURS = ["#0b63bd", "#c2571a", "#17803f", "#8e44ad", "#b3261e", "#0f7f8b", "#8a6d00", "#d1478c"];
const COLOURS_DARK = ["#6cb2ff", "#f0a06a", "#5fce95", "#c69bea", "#ff8a80", "#5ecbd6", "#d9bc4a", "#f291c0"];
const DASHES = ["", "6 3", "2 3", "9 3 2 3"];
const SYMBOLS = ["circle", "triangle", "square", "diamond", "star", "cross"];
const HEIGHT = 340;
const NARROWEST = 300;

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
const probe = document.body.appendChild(Object.assign(document.createElement("span"), { hidden: true }));
/** Returns a colour of the style sheet as the browser resolves it for this theme. */
function colour(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}
const style = (number) => ({
  stroke: (isDark() ? COLOURS_DARK : COLOURS)[number % COLOURS.length],
  dash: DASHES[Math.floor(number / COLOURS.length) % DASHES.length],
  symbol: SYMBOLS[number % SYMBOLS.length],
});
const heading = (axis) => (axis.unit ? `${axis.title} (${axis.unit})` : axis.title);
const short = d3.format(".4~g");

/** Returns the options of Plot for an axis, and a function from values to places on it. */
function scaleOf(axis, values, width) {
  const known = values.filter((value) => value !== null);
  if (axis.categories.length) {
    const count = axis.categories.length;
    const longest = d3.max(axis.categories, (name) => name.length);
    const every = Math.ceil((count * (longest > 5 ? 15 : 7 * longest + 8)) / width); // long names are turned
    return {
      options: { domain: [-0.5, count - 0.5], ticks: d3.range(0, count, every), tickFormat: (i) => axis.categories[i] ?? "" },
      at: (value) => value,
    };
  }
  const [low, high] = axis.limits ?? [null, null];
  if (axis.scale !== "log") {
    const extent = d3.extent(known);
    const domain = [low ?? extent[0], high ?? extent[1]];
    const ticks = axis.counts ? { ticks: d3.ticks(...domain, 8).filter(Number.isInteger) } : {};
    return { options: { domain, nice: low === null && high === null, tickFormat: short, ...ticks }, at: (value) => value };
  }
  const positive = known.filter((value) => value > 0);
  const least = low > 0 ? low : d3.min(positive);
  const most = high ?? d3.max(positive);
  if (!known.includes(0)) return { options: { type: "log", domain: [least, most], tickFormat: short, ticks: 5 }, at: (value) => (value > 0 ? value : null) };
  // A log axis has no 0, which has a place of its own below all others.
  const zero = least / (most / least) ** 0.12;
  const ticks = [zero, ...d3.scaleLog([least, most], [0, 1]).ticks(5)];
  return {
    options: { type: "log", domain: [zero, most], ticks, tickFormat: (value) => (value === zero ? "0" : short(value)) },
    at: (value) => (value === 0 ? zero : value > 0 ? value : null),
  };
}

const kindOf = (series) => series.style ?? "line+points";
/** Whether a curve has marks on its points: many points would hide their line. */
const hasMarks = (series) =>
  kindOf(series) === "points" || (!["step", "bars", "intervals"].includes(kindOf(series)) && series.x.length <= 60);

function marksOf(series, number, x, y) {
  const { stroke, dash, symbol } = style(number);
  const points = series.x.map((value, i) => ({ x: x.at(value), y: y.at(series.y[i]), was: [value, series.y[i]], i }));
  const shown = { x: "x", y: "y" };
  const marks = [];
  const kind = kindOf(series);
  if (kind === "bars") {
    const bars = { x1: (point) => point.x - 0.4, x2: (point) => point.x + 0.4, y1: 0, y2: "y", fill: stroke };
    return { marks: [Plot.rect(points, bars)], points };
  }
  if (kind !== "points") marks.push(Plot.line(points, { ...shown, stroke, strokeDasharray: dash, curve: kind === "step" ? "step-after" : "linear" }));
  const every = kind === "line" ? Math.ceil(points.length / 8) : 1;
  if (hasMarks(series)) marks.push(Plot.dot(points.filter((_, i) => i % every === 0), { ...shown, fill: stroke, symbol, r: 3.2 }));
  const ringed = points.filter((point) => series.highlighted?.includes(point.i));
  marks.push(Plot.dot(ringed, { ...shown, stroke: colour("--ink"), r: 6.5, strokeWidth: 1.5 }));
  return { marks, points };
}

function referenceOf({ of, value, label }, x, y) {
  const options = { stroke: colour("--soft"), strokeDasharray: "4 4" };
  const text = { text: () => label, fill: colour("--soft"), textAnchor: "start", dx: 4, dy: -6 };
  return of === "x"
    ? [Plot.ruleX([x.at(value)], options), Plot.text([x.at(value)], { ...text, x: (v) => v, frameAnchor: "top", dy: 6 })]
    : [Plot.ruleY([y.at(value)], options), Plot.text([y.at(value)], { ...text, y: (v) => v, frameAnchor: "left" })];
}

function drawPanel(panel, labels, width, caption) {
  const all = (axis) => panel.series.flatMap((series) => series[axis]);
  const over = (axis) => panel.references.filter((each) => each.of === axis).map((each) => each.value);
  const withZero = panel.series.some((series) => series.style === "bars") ? [0] : [];
  const x = scaleOf(panel.x, [...all("x"), ...over("x")], width - 70);
  const y = scaleOf(panel.y, [...all("y"), ...over("y"), ...withZero], HEIGHT);
  const drawn = panel.series.map((series) => ({ label: series.label, ...marksOf(series, labels.indexOf(series.label), x, y) }));
  const points = drawn.flatMap(({ label, points: own }) => own.map((point) => ({ ...point, label })));
  const name = (axis, value) => panel[axis].categories[value] ?? short(value);
  const title = (point) => `${point.label}\n${panel.x.title}: ${name("x", point.was[0])}\n${panel.y.title}: ${name("y", point.was[1])}`;
  const names = panel.x.categories;
  const isCrowded = names.length > 0 && d3.max(names, (each) => each.length) > 5;
  const svg = Plot.plot({
    className: "plot",
    width,
    height: HEIGHT,
    marginLeft: panel.y.categories.length ? 110 : 56,
    marginBottom: isCrowded ? 84 : 44,
    marginTop: 28,
    style: { background: "none", fontSize: "12px", fontFamily: "inherit", overflow: "visible" },
    x: { ...x.options, label: heading(panel.x), labelAnchor: "center", labelArrow: "none", tickRotate: isCrowded ? -60 : 0 },
    y: { ...y.options, label: heading(panel.y), labelArrow: "none", grid: true },
    marks: [
      ...withZero.map(() => Plot.ruleY([0], { stroke: colour("--soft") })),
      ...panel.references.flatMap((each) => referenceOf(each, x, y)),
      panel.has_diagonal ? Plot.link([0], { x1: x.options.domain[0], y1: x.options.domain[0], x2: x.options.domain[1], y2: x.options.domain[1], stroke: colour("--soft"), strokeDasharray: "4 4" }) : null,
      ...drawn.flatMap(({ marks }) => marks),
      Plot.tip(points, Plot.pointer({ x: "x", y: "y", title, fill: colour("--card"), stroke: colour("--line") })),
    ],
  });
  return accessible(svg, panel.title || caption);
}

/** The drawing as one image with a name: what Plot says of its parts would be read aloud one by one. */
function accessible(svg, label) {
  for (const part of svg.querySelectorAll("[aria-label], [aria-description]")) {
    part.removeAttribute("aria-label");
    part.removeAttribute("aria-description");
  }
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  return svg;
}

/** Draws a matrix on a canvas, whose time does not grow much with the number of cells. */
function drawHeatMap(map, width, caption) {
  // A large one comes in steps of its range, which needs a fifth of the bytes.
  const exact = (value) => (value === null ? null : map.step.from + map.step.size * value);
  if (map.step) map.values = map.values.map((values) => values.map(exact));
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d");
  const font = "11px system-ui, sans-serif";
  context.font = font;
  const room = Math.min(120, 12 + d3.max(map.rows, (row) => context.measureText(row).width));
  const top = Math.min(100, 12 + d3.max(map.columns, (column) => context.measureText(column).width));
  const cell = (width - room) / map.columns.length;
  const row = Math.max(map.rows.length > 100 ? 900 / map.rows.length : 12, Math.min(22, cell));
  const ratio = devicePixelRatio;
  const height = top + row * map.rows.length + 4;
  Object.assign(canvas, { width: width * ratio, height: height * ratio });
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.scale(ratio, ratio);
  const [low, high] = map.scale.limits ?? [null, null];
  const extent = d3.extent(map.values.flat().filter((value) => value !== null));
  const shade = d3.scaleLinear([low ?? extent[0], high ?? extent[1]], [0, 255]).clamp(true);
  const shades = d3.range(256).map((i) => d3.rgb(d3.interpolateLab(colour("--bg"), colour("--accent"))(i / 255)));
  const image = new ImageData(map.columns.length, map.rows.length);
  map.values.forEach((values, i) =>
    values.forEach((value, j) => {
      if (value === null) return;
      const { r, g, b } = shades[Math.round(shade(value))];
      image.data.set([r, g, b, 255], 4 * (i * map.columns.length + j));
    }),
  );
  const small = new OffscreenCanvas(map.columns.length, map.rows.length);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, room, top, cell * map.columns.length, row * map.rows.length);
  context.font = font;
  context.fillStyle = colour("--soft");
  context.textBaseline = "middle";
  context.textAlign = "right";
  const everyRow = Math.ceil(11 / row);
  map.rows.forEach((name, i) => i % everyRow || context.fillText(name, room - 6, top + row * (i + 0.5), room - 8));
  const everyColumn = Math.ceil(11 / cell);
  context.textAlign = "left";
  map.columns.forEach((name, j) => {
    if (j % everyColumn) return;
    context.save();
    context.translate(room + cell * (j + 0.5), top - 6);
    context.rotate(-Math.PI / 2);
    context.fillText(name, 0, 0, top - 8);
    context.restore();
  });
  if (cell >= 34) {
    context.textAlign = "center";
    map.values.forEach((values, i) =>
      values.forEach((value, j) => {
        if (value === null) return;
        context.fillStyle = d3.lab(shades[Math.round(shade(value))]).l > 55 ? "#14171a" : "#ffffff";
        context.fillText(value.toFixed(map.digits ?? 2), room + cell * (j + 0.5), top + row * (i + 0.5));
      }),
    );
  }
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", map.title || caption);
  canvas.addEventListener("mousemove", (event) => {
    const i = Math.floor((event.offsetY - top) / row);
    const j = Math.floor((event.offsetX - room) / cell);
    const value = map.values[i]?.[j];
    const note = map.notes?.[i] ? `\n${map.notes[i]}` : "";
    canvas.title = value === undefined ? "" : `${map.rows[i]}, ${map.columns[j]}: ${value === null ? "none" : map.step ? `about ${short(value)}` : value.toFixed(4)}${note}`;
  });
  return canvas;
}

/** A legend shows what its curve has: a line, marks, or both. */
function legendOf(labels, every, highlight) {
  const list = document.createElement("ul");
  list.className = "legend";
  labels.forEach((label, number) => {
    const item = list.appendChild(document.createElement("li"));
    const { stroke, dash } = style(number);
    const own = every.filter((series) => series.label === label);
    const mark = d3.create("svg").attr("width", 22).attr("height", 10).attr("aria-hidden", "true");
    if (own.some((series) => kindOf(series) === "bars")) mark.append("rect").attr("x", 6).attr("width", 10).attr("height", 10).attr("fill", stroke);
    if (own.some((series) => !["points", "bars"].includes(kindOf(series)))) mark.append("line").attr("x2", 22).attr("y1", 5).attr("y2", 5).attr("stroke", stroke).attr("stroke-width", 2).attr("stroke-dasharray", dash);
    if (own.some(hasMarks)) mark.append("path").attr("transform", "translate(11,5)").attr("fill", stroke).attr("d", d3.symbol(d3[`symbol${SYMBOLS[number % SYMBOLS.length].replace(/^./, (c) => c.toUpperCase())}`], 40));
    item.append(mark.node(), label);
  });
  if (highlight) list.appendChild(document.createElement("li")).textContent = `○ ${highlight}`;
  return list;
}

function draw(place) {
  const began = performance.now();
  const figure = JSON.parse(place.querySelector("script[type='application/json']").textContent);
  const every = figure.panels.flatMap((panel) => panel.series ?? []);
  const labels = [...new Set(every.map((series) => series.label))];
  const across = Math.max(1, Math.min(figure.panels.length, Math.floor(place.clientWidth / NARROWEST)));
  const width = place.clientWidth / across - (across > 1 ? 12 : 0);
  const drawing = document.createElement("div");
  drawing.className = "drawing";
  if (labels.length > 1 || figure.highlight) drawing.append(legendOf(labels, every, figure.highlight));
  const panels = drawing.appendChild(document.createElement("div"));
  panels.className = "panels";
  for (const panel of figure.panels) {
    const holder = panels.appendChild(document.createElement("div"));
    if (panel.title) holder.appendChild(document.createElement("p")).textContent = panel.title;
    holder.append(panel.series ? drawPanel(panel, labels, width, figure.caption) : drawHeatMap(panel, width, figure.caption));
  }
  place.querySelector(".drawing")?.remove();
  place.prepend(drawing);
  place.dataset.drawn = Math.round(performance.now() - began);
}

/** Draws all figures of a part of the page, and again when their width or the theme changes. */
export function drawAll(root = document) {
  for (const place of root.querySelectorAll("figure[data-figure]")) {
    let width = 0;
    new ResizeObserver(() => {
      if (place.clientWidth === width) return;
      width = place.clientWidth;
      draw(place);
    }).observe(place);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw(place));
  }
}

drawAll();
