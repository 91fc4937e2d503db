// @ts-check
// Moves what Python has drawn: the query's arrow, the bars, the context and its lines.

const SUPPRESS = "data-lm-suppress-shortcuts"; // JupyterLab leaves keys to what is inside

/**
 * What attention makes of one query.
 * @param {number[]} query @param {number[][]} keys @param {number[][]} values @param {number} scale
 */
export function attend(query, keys, values, scale) {
  const scores = keys.map((key) => key.reduce((sum, number, i) => sum + number * query[i], 0));
  const top = Math.max(...scores);
  const powers = scores.map((score) => Math.exp((score - top) * scale));
  const total = powers.reduce((sum, power) => sum + power, 0);
  const weights = powers.map((power) => power / total);
  const scaled = scores.map((score) => score * scale);
  const context = values[0].map((_, i) => values.reduce((sum, value, j) => sum + weights[j] * value[i], 0));
  return { scores, scaled, weights, context };
}

/**
 * Where a point of the plane lies in a drawing, in pixels; and back.
 * @param {{x: number, y: number, unit: number}} box @param {number[]} point
 */
export const place = (box, point) => [box.x + point[0] * box.unit, box.y - point[1] * box.unit];
/** @param {{x: number, y: number, unit: number}} box @param {number[]} at */
export const pointAt = (box, at) => [(at[0] - box.x) / box.unit, (box.y - at[1]) / box.unit];

/**
 * A query moved by some steps, held inside the picture and on whole steps.
 * @param {number[]} query @param {number[]} by @param {number} step @param {number} limit
 */
export const moved = (query, by, step, limit) =>
  query.map((number, i) => Math.min(limit, Math.max(-limit, Math.round((number + by[i]) / step) * step)));

/**
 * Where q's letter stands beside its handle: in the far corner it turns inward, away from the heading.
 * @param {number[]} query @param {number} limit
 */
export const letterAt = (query, limit) => ({
  x: query[0] > limit - 0.5 ? -18 : 18,
  y: query[1] > limit - 0.5 ? 16 : -6,
  "text-anchor": query[0] > limit - 0.5 ? "end" : "start",
});

/**
 * A bar of a row, in percent of its cell: where it begins and how long it is. Scores grow both ways from the middle.
 * @param {number} number @param {number} most @param {boolean} bothWays
 */
export function bar(number, most, bothWays) {
  const long = Math.min(100, (Math.abs(number) / (most || 1)) * 100);
  if (!bothWays) return [0, long];
  return [number < 0 ? 50 - long / 2 : 50, long / 2];
}

/** @param {number} number */
export const shown = (number) => (Math.abs(number) < 0.005 ? 0 : number).toFixed(2);

/** "{word} gets {weight}" with its braces filled. @param {string} template @param {Record<string, string>} values */
export const fill = (template, values) => template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);

/**
 * Keys that run a cell, and Escape, reach the notebook; arrows and letters stay here. The mark that says so has to
 * be on the control that has the focus: JupyterLab's own selectors match it before they look at what it stands in.
 */
function letPass(root) {
  root.addEventListener("focusin", (event) => event.target.setAttribute(SUPPRESS, "true"));
  const pass = (event) => {
    const control = event.composedPath()[0];
    const runs = event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey);
    if (!root.contains(control) || !(runs || event.key === "Escape")) return;
    control.removeAttribute(SUPPRESS);
    if (control.matches("input")) root.focus({ preventScroll: true }); // in a field JupyterLab runs no cell
    root.removeAttribute(SUPPRESS);
    setTimeout(() => document.activeElement === control && control.setAttribute(SUPPRESS, "true"));
  };
  window.addEventListener("keydown", pass, true);
  return () => window.removeEventListener("keydown", pass, true);
}

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** The buttons that take a word's query, and a slider for each of its two numbers. */
function controls(get, put) {
  const { text, queries, limit, step } = { text: get("text"), queries: get("query_points"), limit: get("limit"), step: get("step") };
  const buttons = get("words").map((word, i) =>
    make("button", { type: "button", onclick: () => put(queries[i]) }, word));
  const sliders = text.numbers.map((name, i) => make("input", {
    type: "range", min: -limit, max: limit, step, "aria-label": name,
    oninput: (event) => put(get("query").map((number, j) => (j === i ? Number(event.target.value) : number))),
  }));
  const node = make("div", { class: "mha-plane-controls" },
    make("div", { role: "group", "aria-label": text.ask }, `${text.ask} `, ...buttons),
    ...sliders.map((slider, i) => make("label", {}, `${text.numbers[i]} `, slider)));
  const draw = (query) => {
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(queries[i].every((n, j) => n === query[j]))));
    sliders.forEach((slider, i) => { slider.value = String(query[i]); });
  };
  return { node, draw };
}

/** The handle at the query's tip: to be dragged, or moved by the arrow keys. */
function makeMovable(handle, svg, get, put) {
  const [step, limit, box] = [get("step"), get("limit"), get("plane")];
  const attributes = { tabindex: "0", role: "slider", "aria-label": get("text").handle, "aria-valuemin": -limit, "aria-valuemax": limit };
  for (const [name, value] of Object.entries(attributes)) handle.setAttribute(name, String(value));
  svg.setAttribute("role", "group"); // it holds a control now, so it is more than a picture
  const by = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
  handle.addEventListener("keydown", (event) => {
    if (!by[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    put(moved(get("query"), by[event.key], step, limit));
  });
  const drag = (event) => {
    const seen = svg.getBoundingClientRect();
    const scale = box.width / seen.width; // a narrow page shows the drawing smaller
    const at = [(event.clientX - seen.left) * scale, (event.clientY - seen.top) * scale];
    put(moved(pointAt(box, at), [0, 0], 0.05, limit));
  };
  svg.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    svg.setPointerCapture(event.pointerId);
    handle.focus({ preventScroll: true });
    drag(event);
  });
  svg.addEventListener("pointermove", (event) => svg.hasPointerCapture(event.pointerId) && drag(event));
}

const set = (piece, values) => Object.entries(values).forEach(([name, value]) => piece.setAttribute(name, String(value)));

/** Returns what moves the arrow, the context and the bars to where a query's numbers put them. */
function picture(root, get) {
  const find = (name) => [...root.querySelectorAll(`.mha-plane-${name}`)];
  const [[arrow], [handle], [context], [taken]] = ["query", "handle", "context", "taken"].map(find);
  const [shares, cells] = [find("share"), find("bar")];
  const most = get("limit") * Math.max(...get("key_points").map((key) => Math.abs(key[0]) + Math.abs(key[1])));
  return (now) => {
    const query = get("query");
    const [x, y] = place(get("plane"), query);
    const [cx, cy] = place(get("triangle"), now.context);
    set(arrow, { x2: x, y2: y });
    set(handle, { transform: `translate(${x} ${y})`, "aria-valuenow": query[0], "aria-valuetext": query.map(shown).join(", ") });
    set(handle.querySelector("text"), letterAt(query, get("limit")));
    set(context, { cx, cy });
    shares.forEach((line, i) => set(line, { x1: cx, y1: cy, "stroke-width": 1 + 7 * now.weights[i] }));
    taken.textContent = `[${now.context.map(shown).join(", ")}]`;
    const columns = [now.scores, now.scaled, now.weights];
    cells.forEach((cell, i) => { // a row: three numbers of one key
      const [row, column] = [Math.floor(i / columns.length), i % columns.length];
      const number = columns[column][row];
      const [from, long] = column === columns.length - 1 ? bar(number, 1, false) : bar(number, most, true);
      cell.textContent = shown(number);
      cell.style.setProperty("--from", `${from}%`);
      cell.style.setProperty("--to", `${from + long}%`);
    });
  };
}

function render({ model, el }) {
  const get = (name) => model.get(name);
  const put = (query) => {
    model.set("query", query);
    model.save_changes();
  };
  const { node, draw: drawControls } = controls(get, put);
  const status = make("p", { class: "mha-plane-status", role: "status" });
  const root = make("div", { class: "mha-theme mha-plane", tabindex: "-1" }, node);
  root.insertAdjacentHTML("beforeend", get("still")); // words in it were escaped in Python
  root.append(status);
  el.replaceChildren(root);

  const handle = root.querySelector(".mha-plane-handle");
  makeMovable(handle, handle.closest("svg"), get, put);
  const drawPicture = picture(root, get);
  const draw = () => {
    const now = attend(get("query"), get("key_points"), get("value_points"), get("scale"));
    drawPicture(now);
    drawControls(get("query"));
    const rows = Object.entries({ query: get("query"), ...now });
    status.textContent = fill(get("text").status, Object.fromEntries(rows.map(([name, row]) => [name, row.map(shown).join(", ")])));
  };
  model.on("change:query", draw);
  draw();
  const release = letPass(root);
  return () => {
    release();
    model.off("change:query", draw);
  };
}

export default { render };
