// Draws what its traits say: a map a head, and for one query its lines and its numbers.
// Weights come as thousandths, rounded in Python, so no number is rounded here.

export const NAN = 65535;
export const MASKED = 65534;

/** Thousandths as they are shown: 931 → "0.931". */
export function number(value, text) {
  if (value === NAN) return text.nan;
  if (value === MASKED) return text.none;
  return `${Math.floor(value / 1000)}.${String(value % 1000).padStart(3, "0")}`;
}

/** "{word} gets {weight}" with its braces filled from `values`. */
export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** Pixels a word takes at the size of a label; Chinese signs are twice as wide. */
export function wordWidth(word) {
  let width = 0;
  for (const sign of word) width += sign.codePointAt(0) > 0x2e7f ? 14 : 7.6;
  return width;
}

/** A word as it fits beside a map. */
export function shorten(word, most = 12) {
  const signs = [...word];
  return signs.length <= most ? word : signs.slice(0, most - 1).join("") + "…";
}

/** The side of a cell, so that `count` maps of `queries` × `keys` share a page. */
export function cellSize(count, queries, keys) {
  const room = count === 1 ? 460 : count === 2 ? 320 : count <= 4 ? 250 : 122;
  const side = Math.min(44, room / Math.max(queries, keys, 1));
  return side < 8 ? side : Math.floor(side);
}

/** Where one head's map lies in the buffer, and where one of its rows. */
export function offset(shape, layer, head, query = 0) {
  const [, heads, queries, keys] = shape;
  return ((layer * heads + head) * queries + query) * keys;
}

/** The index of the largest weight of a row, or -1 where there is none. */
export function largest(row) {
  let best = -1;
  row.forEach((value, i) => {
    if (value < MASKED && (best < 0 || value > row[best])) best = i;
  });
  return best;
}

/** [first, length] of each run of masked keys in a row. */
export function maskedRuns(row) {
  const runs = [];
  row.forEach((value, i) => {
    if (value !== MASKED) return;
    const last = runs[runs.length - 1];
    if (last && last[0] + last[1] === i) last[1] += 1;
    else runs.push([i, 1]);
  });
  return runs;
}

const ROW = 26; // pixels a word takes in the list: a target for a finger
const LINES = 90; // pixels between the queries and the keys

function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "image", "rect", "path", "text", "g", "title", "defs", "pattern"].includes(tag);
  const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  // Arrows and Enter are the control's own, not the notebook's.
  if (["button", "input", "select"].includes(tag) || "tabindex" in attributes)
    node.setAttribute("data-lm-suppress-shortcuts", "true");
  node.append(...children);
  return node;
}

function render({ model, el }) {
  const get = (name) => model.get(name);
  const uint16 = (name) => {
    const view = get(name); // a copy, since the buffer may start at an odd address
    return new Uint16Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  };
  const text = get("text");
  const shape = get("shape");
  const [layers, , Lq, Lk] = shape;
  const queries = get("query_words");
  const keys = get("key_words");
  const heads = get("heads");
  const palette = get("palette");
  const weights = uint16("weights");
  const sums = uint16("sums");
  const id = `mha-heads-${Math.random().toString(36).slice(2)}`;

  const put = (name, value) => {
    if (JSON.stringify(get(name)) === JSON.stringify(value)) return;
    model.set(name, value);
    model.save_changes();
  };
  // Pointing chooses a query; a click holds it, so that the pointer is free for the table.
  let held = false;
  const point = (query) => { if (!held) put("query", query); };
  const hold = (query) => {
    held = !(held && get("query") === query);
    put("query", query);
    hint.textContent = held ? text.hint_held : text.hint;
  };
  const row = (head, query) => {
    const start = offset(shape, get("layer"), head, query);
    return weights.subarray(start, start + Lk);
  };
  const sum = (head, query) => sums[offset(shape, get("layer"), head, query) / Math.max(Lk, 1)];
  const colour = (value) => palette[Math.min(255, Math.floor((value * 256) / 1000))];

  // ---- the frame, made once: controls, maps, and the list of queries beside their numbers

  const layerPicker = make("select", { onchange: (e) => put("layer", Number(e.target.value)) });
  for (let i = 0; i < layers; i += 1) layerPicker.append(make("option", { value: i }, String(i + 1)));
  const layerLabel = make("label", { hidden: layers < 2 }, `${text.layer} `, layerPicker);
  const buttons = heads.map((head, i) =>
    make("button", {
      type: "button",
      title: fill(text.toggle, { letter: head.letter }),
      style: `--head:${head.colour};--on:${head.ink}`,
      onclick: () => {
        const shown = get("shown");
        const next = shown.includes(i) ? shown.filter((h) => h !== i) : [...shown, i].sort((a, b) => a - b);
        if (next.length) put("shown", next);
      },
    }, head.letter),
  );
  const picker = make("div", { class: "mha-heads-picker", role: "group", "aria-label": text.heads },
    make("span", { "aria-hidden": "true" }, text.heads), ...buttons);
  const maps = make("div", { class: "mha-heads-maps" });
  const radios = queries.map((word, i) =>
    make("input", { type: "radio", name: id, value: i, onchange: () => put("query", i) }));
  const list = make("div", { class: "mha-heads-queries", role: "radiogroup", "aria-label": text.queries },
    make("div", { class: "mha-heads-top", "aria-hidden": "true" }, text.queries),
    ...queries.map((word, i) =>
      make("label", { title: word, onpointerenter: () => point(i), onpointerup: () => hold(i) }, radios[i],
        make("span", { dir: "auto" }, word))));
  const lines = make("svg", { class: "mha-heads-lines", width: LINES, height: (Math.max(Lq, Lk) + 1) * ROW,
    "aria-hidden": "true" });
  const table = make("table");
  const look = make("div", { class: "mha-heads-look", tabindex: "0", role: "group", "aria-label": text.numbers },
    list, lines, table);
  const status = make("p", { class: "mha-heads-status", "aria-live": "polite" });
  const hint = make("p", { class: "mha-heads-hint" }, text.hint);
  const root = make("div", { class: "mha-theme mha-heads" },
    make("div", { class: "mha-heads-controls" }, layerLabel, picker, scale()),
    make("div", { class: "mha-heads-body" }, maps, look), status, hint);
  el.replaceChildren(root);

  function scale() {
    const stops = [0, 64, 128, 192, 255].map((i) => palette[i]).join(",");
    const marks = [make("span", {}, "0"),
      make("span", { class: "mha-heads-scale", style: `background:linear-gradient(90deg,${stops})` }),
      make("span", {}, "1")];
    if (weights.includes(MASKED)) marks.push(make("span", { class: "mha-heads-hatch" }), make("span", {}, text.masked));
    if (weights.includes(NAN)) marks.push(make("span", { class: "mha-heads-nan" }, "×"), make("span", {}, text.not_a_number));
    return make("div", { class: "mha-heads-key", role: "img", "aria-label": text.scale }, ...marks);
  }

  // ---- the maps: drawn anew when the layer or the heads change

  function picture(head) {
    const canvas = make("canvas", { width: Math.max(Lk, 1), height: Math.max(Lq, 1) });
    const context = canvas.getContext("2d");
    for (let q = 0; q < Lq; q += 1) {
      row(head, q).forEach((value, k) => {
        context.fillStyle = value === NAN ? "#ffe9a8" : value === MASKED ? "#d9d9d9" : colour(value);
        context.fillRect(k, q, 1, 1);
      });
    }
    return canvas.toDataURL();
  }

  function marks(head, cell) {
    let hatch = "";
    let cross = "";
    const numbers = [];
    for (let q = 0; q < Lq; q += 1) {
      const values = row(head, q);
      for (const [first, length] of maskedRuns(values))
        hatch += `M${first * cell} ${q * cell}h${length * cell}v${cell}h${-length * cell}z`;
      values.forEach((value, k) => {
        const [x, y] = [(k + 0.5) * cell, (q + 0.5) * cell];
        if (value === NAN) cross += `M${x - cell / 4} ${y - cell / 4}l${cell / 2} ${cell / 2}m0 ${-cell / 2}l${-cell / 2} ${cell / 2}`;
        else if (value !== MASKED && cell >= 44)
          numbers.push(make("text", { x, y: y + 4, "text-anchor": "middle", class: "mha-heads-number",
            fill: value * 256 >= get("dark_from") * 1000 ? "#fff" : "#000" }, number(value, text)));
      });
    }
    return [make("path", { d: hatch, fill: `url(#${id})` }),
      make("path", { d: cross, stroke: "#000", "stroke-width": cell > 16 ? 2 : 1 }), ...numbers];
  }

  function names(cell, labelled) {
    const nodes = [];
    const step = Math.ceil(15 / cell);
    const flat = keys.every((word) => wordWidth(shorten(word)) <= cell);
    for (let q = 0; labelled && q < Lq; q += step)
      nodes.push(make("text", { x: -5, y: (q + 0.5) * cell + 5, "text-anchor": "end" }, shorten(queries[q])));
    for (let k = 0; labelled && k < Lk; k += step) {
      const [x, y] = [(k + 0.5) * cell, Lq * cell];
      nodes.push(flat
        ? make("text", { x, y: y + 17, "text-anchor": "middle" }, shorten(keys[k]))
        : make("text", { x: 0, y: 0, "text-anchor": "end", transform: `translate(${x + 5} ${y + 5}) rotate(-90)` }, shorten(keys[k])));
    }
    return [nodes, flat ? 22 : 10 + Math.max(0, ...keys.map((word) => wordWidth(shorten(word))))];
  }

  function drawMaps() {
    const shown = get("shown");
    const cell = cellSize(shown.length, Lq, Lk);
    const labelled = shown.length <= 4;
    const left = labelled ? 8 + Math.max(0, ...queries.map((word) => wordWidth(shorten(word)))) : 2;
    maps.replaceChildren(...shown.map((head) => {
      const [words, below] = names(cell, labelled);
      const [width, height] = [Lk * cell, Lq * cell];
      const tall = height + (labelled ? below : 4) + 4;
      const at = (act) => (event) => {
        const box = svg.getBoundingClientRect();
        const q = Math.floor((((event.clientY - box.top) / box.height) * tall - 3) / cell);
        if (q < 0 || q >= Lq) return;
        act(q);
        const place = (get("query") + 1.5) * ROW - look.scrollTop; // show it in a long list, too
        if (place < 2 * ROW || place > look.clientHeight - ROW) look.scrollTop += place - look.clientHeight / 2;
      };
      const svg = make("svg", { width: left + width + 3, height: tall, role: "img",
        viewBox: `${-left} -3 ${left + width + 3} ${tall}`,
        "aria-label": fill(text.map, { letter: heads[head].letter }),
        onpointermove: at(point), onpointerup: at(hold) },
        make("defs", {}, make("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
          make("rect", { width: 2, height: 6, fill: "#8c8c8c" }))),
        make("image", { width, height, href: picture(head), preserveAspectRatio: "none" }),
        ...marks(head, cell), ...words);
      if (cell >= 16) {
        let grid = "";
        for (let q = 1; q < Lq; q += 1) grid += `M0 ${q * cell}h${width}`;
        for (let k = 1; k < Lk; k += 1) grid += `M${k * cell} 0v${height}`;
        svg.append(make("path", { d: grid, class: "mha-heads-grid" }));
      }
      const out = cell < 10 ? 2 : 0; // a small row would vanish under its own frame
      for (const [frame, pen] of [["outer", out ? 3 : 5], ["inner", out ? 1.2 : 2.5]])
        svg.append(make("rect", { class: `mha-heads-${frame}`, x: -out, width: width + 2 * out,
          height: cell + 2 * out, "stroke-width": pen, rx: 2 }));
      return make("figure", {}, make("figcaption", { style: `--head:${heads[head].colour};--on:${heads[head].ink}` },
        fill(text.head, { name: heads[head].letter })), svg);
    }));
    makeTable(shown);
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(shown.includes(i))));
    layerPicker.value = String(get("layer"));
    drawQuery();
  }

  // ---- one query: its row in every map, its lines, its numbers

  let cells = []; // a list a head: a cell a key, and the sum

  function makeTable(shown) {
    cells = shown.map((head) => Array.from({ length: Lk + 1 }, () =>
      make("td", { style: `--head:${heads[head].colour}` })));
    const across = (k) => cells.map((column) => column[k]);
    table.replaceChildren(make("caption"),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, text.keys), ...shown.map((head) =>
        make("th", { scope: "col", style: `--head:${heads[head].colour};--on:${heads[head].ink}` },
          make("span", {}, heads[head].letter))))),
      make("tbody", {}, ...keys.map((word, k) =>
        make("tr", {}, make("th", { scope: "row", title: word, dir: "auto" }, word), ...across(k)))),
      make("tfoot", {}, make("tr", {}, make("th", { scope: "row" }, text.sum), ...across(Lk))));
  }

  function drawQuery() {
    const query = get("query");
    const shown = get("shown");
    if (!Lq) return;
    const cell = cellSize(shown.length, Lq, Lk);
    for (const frame of maps.querySelectorAll(".mha-heads-outer, .mha-heads-inner"))
      frame.setAttribute("y", query * cell - (cell < 10 ? 2 : 0));
    radios.forEach((radio, i) => { radio.checked = i === query; });
    const rows = shown.map((head) => row(head, query));

    lines.replaceChildren();
    shown.forEach((head, n) => {
      const best = largest(rows[n]);
      rows[n].forEach((value, k) => {
        if (value >= MASKED || value < 5) return;
        const weight = Math.min(value / 1000, 1);
        const shift = shown.length > 1 ? (n / (shown.length - 1) - 0.5) * 10 : 0;
        const [from, to] = [(query + 1.5) * ROW, (k + 1.5) * ROW + shift];
        lines.append(make("path", { d: `M2 ${from}C${LINES / 2} ${from} ${LINES / 2} ${to} ${LINES - 16} ${to}`,
          stroke: heads[head].colour, "stroke-width": 0.8 + 5 * weight, "stroke-opacity": 0.3 + 0.7 * weight }));
        if (k === best) lines.append(make("text", { x: LINES - 12, y: to + 4 }, heads[head].letter));
      });
    });

    table.caption.textContent = fill(text.caption, { query: queries[query] });
    rows.forEach((values, n) => {
      values.forEach((value, k) => {
        const cell = cells[n][k];
        cell.textContent = number(value, text);
        cell.className = value === MASKED ? "mha-heads-hatch" : "";
        cell.style.backgroundSize = `${value < MASKED ? Math.min(100, value / 10) : 0}% 4px`;
      });
      cells[n][Lk].textContent = number(sum(shown[n], query), text);
    });

    const parts = shown.map((head, n) => {
      const best = largest(rows[n]);
      const values = { letter: heads[head].letter, key: keys[best], weight: best < 0 ? "" : number(rows[n][best], text) };
      const seen = rows[n].filter((value) => value < MASKED);
      if (seen.length > 1 && seen.every((value) => value === seen[0]) && !rows[n].includes(NAN))
        return fill(text.looks_even, { ...values, count: seen.length });
      return fill(rows[n].includes(NAN) ? text.looks_nan : best < 0 ? text.looks_nothing : text.looks, values);
    });
    status.textContent = fill(text.status, { query: queries[query], looks: parts.slice(0, 4).join(text.and) });
  }

  model.on("change:layer", drawMaps);
  model.on("change:shown", drawMaps);
  model.on("change:query", drawQuery);
  drawMaps();
  return () => {
    model.off("change:layer", drawMaps);
    model.off("change:shown", drawMaps);
    model.off("change:query", drawQuery);
  };
}

export default { render };
