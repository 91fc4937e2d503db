// @ts-check
// Shows what Python has measured: for the width that is chosen, ten bars twice, and a table of means.

const SUPPRESS = "data-lm-suppress-shortcuts"; // on the control that has the focus: its arrows are its own
const [BAR, TALL, EDGE] = [22, 150, 8]; // pixels: a bar with its gap, a weight of 1, room for a number over the first or last bar

/** The bars of one row of weights, as SVG. @param {number[]} weights @param {string} colour */
export function bars(weights, colour) {
  const top = weights.indexOf(Math.max(...weights));
  return weights.map((weight, i) => {
    const [x, tall] = [i * BAR, weight * TALL];
    const number = i === top ? `<text x="${x + BAR / 2}" y="${TALL - tall + 12}" text-anchor="middle">${weight.toFixed(2)}</text>` : "";
    return `<rect x="${x + 2}" y="${TALL - tall + 16}" width="${BAR - 4}" height="${tall}" fill="${colour}"/>${number}`;
  }).join("");
}

/** One row of weights as a drawing that says its numbers. @param {number[]} weights @param {string} words @param {string} colour */
function drawing(weights, words, colour) {
  const label = words.replace("{weights}", weights.map((weight) => weight.toFixed(2)).join(", "));
  const [wide, high] = [BAR * weights.length + 2 * EDGE, TALL + 18];
  const size = `width="${wide}" height="${high}" viewBox="${-EDGE} 0 ${wide} ${high}"`;
  const ground = `<path d="M0 ${TALL + 16.5}H${BAR * weights.length}"/>`;
  return `<svg ${size} role="img" aria-label="${label}">${bars(weights, colour)}${ground}</svg>`;
}

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** Keys that run a cell, and Escape, go to the notebook: the slider lets go of them. */
function letPass(slider) {
  slider.addEventListener("focus", () => slider.setAttribute(SUPPRESS, "true"));
  const pass = (event) => {
    const runs = event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey);
    if (event.composedPath()[0] !== slider || !(runs || event.key === "Escape")) return;
    slider.removeAttribute(SUPPRESS);
    slider.parentElement.focus({ preventScroll: true });
  };
  window.addEventListener("keydown", pass, true);
  return () => window.removeEventListener("keydown", pass, true);
}

function render({ model, el }) {
  const get = (name) => model.get(name);
  const [text, widths] = [get("text"), get("widths")];
  const slider = make("input", { type: "range", min: 0, max: widths.length - 1, step: 1, "aria-label": text.width });
  const chosen = make("output");
  const label = make("label", { tabindex: "-1" }, text.width, slider, chosen);
  const figures = text.bars_title.map((title) => make("figure", {}, make("figcaption", {}, title), make("div")));
  const cells = text.titles.map(() => text.scalings.map(() => make("td")));
  const table = make("table", {}, make("caption", {}, text.means),
    make("thead", {}, make("tr", {}, make("td"), ...text.scalings.map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...text.titles.map((name, i) => make("tr", {}, make("th", { scope: "row" }, name), ...cells[i]))));
  const status = make("p", { role: "status" });
  el.replaceChildren(make("div", { class: "mha-theme mha-scale" }, label,
    make("div", { class: "mha-scale-body" }, ...figures, table), status));

  const draw = () => {
    const at = widths.indexOf(get("d"));
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", `d = ${widths[at]}`);
    chosen.textContent = `d = ${widths[at]}`;
    get("bars")[at].forEach((weights, i) => {
      figures[i].lastElementChild.innerHTML = drawing(weights, text.bars[i], text.colours[i]);
    });
    get("means")[at].forEach((row, i) => row.forEach((mean, j) => { cells[i][j].textContent = mean; }));
    status.textContent = get("reports")[at];
  };
  slider.addEventListener("input", () => {
    model.set("d", widths[Number(slider.value)]);
    model.save_changes();
  });
  model.on("change:d", draw);
  draw();
  const release = letPass(slider);
  return () => {
    release();
    model.off("change:d", draw);
  };
}

export default { render };
