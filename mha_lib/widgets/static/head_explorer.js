// @ts-check
// Draws what its traits say: thumbnails of all heads, or some heads' maps with one word's lines
// and numbers. Weights come as thousandths, rounded in Python, so no number is rounded here.
// Heads are counted through all blocks: head i of block b is b · heads + i.

export const NAN = 65535;
export const MASKED = 65534;
const SMALL_NAN = 255;
const SMALL_MASKED = 254;
const BAD = "#ffe9a8";
const GREY = "#d9d9d9";
const ROW = 26; // pixels a word takes in the list: a target for a finger
const NUMBERED = 44; // pixels: a cell that holds its number
const THUMB = 32; // rows and columns of a thumbnail at most
const FEW = 4; // heads that need no overview

/** @typedef {Uint16Array | Uint8Array} Numbers */
/** @typedef {{get: (name: string) => any, set: (name: string, value: unknown) => void, save_changes: () => void,
 *   on: (event: string, call: () => void) => void, off: (event: string, call: () => void) => void}} Model */
/** @typedef {Record<string, any>} Text */

// ---- numbers, names, geometry: pure, tested without a page

/** Thousandths as they are shown: 931 → "0.931".
 * @param {number} value @param {Text} text */
export function number(value, text) {
  if (value === NAN) return text.nan;
  if (value === MASKED) return text.none;
  return `${Math.floor(value / 1000)}.${String(value % 1000).padStart(3, "0")}`;
}

/** "{word} gets {weight}" with its braces filled from `values`.
 * @param {string} template @param {Record<string, unknown>} values */
export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
}

/** Pixels a word takes at the size of a label; Chinese signs are twice as wide.
 * @param {string} word */
export function wordWidth(word) {
  let width = 0;
  for (const sign of word) width += (sign.codePointAt(0) ?? 0) > 0x2e7f ? 14.5 : 8.6;
  return width;
}

/** A word as it fits beside a map.
 * @param {string} word @param {number} most */
export function shorten(word, most = 12) {
  const signs = [...word];
  return signs.length <= most ? word : `${signs.slice(0, most - 1).join("")}…`;
}

/** A word that reads from right to left keeps to itself within a sentence.
 * @param {string} word */
export function apart(word) {
  return /[\u0590-\u08ff\ufb1d-\ufeff]/.test(word) ? `\u2068${word}\u2069` : word;
}

/** The side of a cell, so that `count` maps of `queries` × `keys` share a page `page` pixels wide.
 * @param {number} count @param {number} queries @param {number} keys @param {number} page */
export function cellSize(count, queries, keys, page = 900) {
  const room = Math.min(count === 1 ? 400 : count === 2 ? 320 : count <= 4 ? 250 : 122, page);
  const side = Math.min(NUMBERED, room / Math.max(queries, keys, 1));
  return side < 8 ? side : Math.floor(side);
}

/** The sizes that a cell can be zoomed to: its own, doubled until it holds its number.
 * @param {number} base */
export function zooms(base) {
  const sizes = [base];
  while (sizes[sizes.length - 1] < NUMBERED) sizes.push(Math.min(NUMBERED, Math.max(8, sizes[sizes.length - 1] * 2)));
  return sizes;
}

/** A head's name: "3 J", or "J" where there is one block.
 * @param {number} head @param {number[]} shape @param {Array<{letter: string}>} heads */
export function headName(head, shape, heads) {
  const letter = heads[head % shape[1]].letter;
  return shape[0] > 1 ? `${Math.floor(head / shape[1]) + 1} ${letter}` : letter;
}

/** The heads of a block, counted through all blocks.
 * @param {number} block @param {number[]} shape */
export function headsOf(block, shape) {
  return Array.from({ length: shape[1] }, (_, i) => block * shape[1] + i);
}

/** The index of the largest weight of a line, or -1 where there is none.
 * @param {Numbers} line */
export function largest(line) {
  let best = -1;
  line.forEach((value, i) => {
    if (value < MASKED && (best < 0 || value > line[best])) best = i;
  });
  return best;
}

/** [first, length] of each run of masked keys in a row.
 * @param {Numbers} row */
export function maskedRuns(row) {
  /** @type {Array<[number, number]>} */
  const runs = [];
  row.forEach((value, i) => {
    if (value !== MASKED) return;
    const last = runs[runs.length - 1];
    if (last && last[0] + last[1] === i) last[1] += 1;
    else runs.push([i, 1]);
  });
  return runs;
}

/** A query's row or a key's column of a map.
 * @param {Numbers} map @param {string} side @param {number} index @param {number[]} shape */
export function line(map, side, index, shape) {
  const [, , queries, keys] = shape;
  if (side === "query") return map.subarray(index * keys, (index + 1) * keys);
  return Uint16Array.from({ length: queries }, (_, q) => map[q * keys + index]);
}

/** A map made small: a cell is the largest weight of those that it stands for; NaN wins, masked loses.
 * @param {Numbers} map @param {number} queries @param {number} keys @param {number} most
 * @returns {[Uint16Array, number, number]} */
export function pool(map, queries, keys, most = THUMB) {
  const [high, wide] = [Math.max(1, Math.ceil(queries / most)), Math.max(1, Math.ceil(keys / most))];
  const [rows, columns] = [Math.ceil(queries / high), Math.ceil(keys / wide)];
  const small = new Uint16Array(rows * columns).fill(MASKED);
  map.forEach((value, i) => {
    const at = Math.floor(Math.floor(i / keys) / high) * columns + Math.floor((i % keys) / wide);
    const before = small[at];
    if (value === NAN || before === MASKED || (value !== MASKED && before !== NAN && value > before)) small[at] = value;
  });
  return [small, rows, columns];
}

/** The order in which heads are shown: by a score, the best first, heads without one last.
 * @param {{low_first: boolean, values: Array<number | null>} | undefined} score @param {number} count */
export function sorted(score, count) {
  const order = Array.from({ length: count }, (_, i) => i);
  if (!score) return order;
  /** @param {number} head */
  const rank = (head) => {
    const value = score.values[head];
    return value === null ? Infinity : score.low_first ? value : -value;
  };
  return order.sort((a, b) => rank(a) - rank(b) || a - b);
}

/** Where a key takes the focus in a grid of `count` thumbnails, `columns` wide.
 * @param {string} key @param {number} at @param {number} count @param {number} columns */
export function step(key, at, count, columns) {
  const moves = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns, Home: -at, End: count - 1 - at };
  const to = at + (/** @type {Record<string, number>} */ (moves)[key] ?? 0);
  return to < 0 || to >= count ? at : to;
}

/** Pixels that the letters of `count` heads take at one place.
 * @param {number} count */
export function lettersWide(count) {
  return count <= 2 ? 28 : 58;
}

/** Letters that share a place, so that none lies on another: "A C +3".
 * @param {string[]} letters */
export function together(letters) {
  const all = letters.join(" ");
  if (letters.length <= 2 || all.length <= 5) return all;
  const few = letters[0].length + letters[1].length <= 3 ? letters.slice(0, 2) : letters.slice(0, 1);
  return `${few.join(" ")} +${letters.length - few.length}`;
}

/** A colour as a pixel's number: alpha, blue, green, red.
 * @param {string} colour #rrggbb */
function pixel(colour) {
  const [red, green, blue] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** The pixel of each thousandth, and of each shade of a thumbnail.
 * @param {string[]} palette */
export function inks(palette) {
  const thousandths = new Uint32Array(NAN + 1).fill(pixel(palette[255]));
  for (let i = 0; i < 1000; i += 1) thousandths[i] = pixel(palette[Math.min(255, Math.floor((i * 256) / 1000))]);
  [thousandths[NAN], thousandths[MASKED]] = [pixel(BAD), pixel(GREY)];
  const shades = Uint32Array.from(palette, pixel);
  [shades[SMALL_NAN], shades[SMALL_MASKED]] = [pixel(BAD), pixel(GREY)];
  return { thousandths, shades };
}

// ---- the page

const SVG = new Set(["svg", "image", "rect", "path", "text", "g", "title", "defs", "pattern"]);

/** Make an element with attributes, listeners (on…) and children.
 * @param {string} tag @param {Record<string, any>} attributes @param {...(Node | string)} children
 * @returns {any} */
function make(tag, attributes = {}, ...children) {
  const node = SVG.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false && value !== undefined) node.setAttribute(name, value === true ? "" : value);
  }
  // Arrows, letters and Enter are the control's own, not the notebook's.
  if (["button", "input", "select"].includes(tag) || "tabindex" in attributes)
    node.setAttribute("data-lm-suppress-shortcuts", "true");
  node.append(...children);
  return node;
}

/** A menu whose first line names it.
 * @param {string} name @param {Array<[string | number, string]>} options @param {(value: string) => void} choose */
function menu(name, options, choose) {
  const select = make("select", { onchange: (/** @type {any} */ e) => choose(e.target.value) },
    ...options.map(([value, label]) => make("option", { value }, label)));
  return { select, label: make("label", {}, `${name} `, select) };
}

/** What every part of the page shares: traits, names, colours, and the numbers.
 * @param {Model} model */
function context(model) {
  const get = model.get.bind(model);
  const shape = get("shape");
  return {
    get, shape,
    inks: inks(get("palette")),
    text: get("text"),
    heads: get("heads"),
    words: { query: get("query_words"), key: get("key_words") },
    total: shape[0] * shape[1],
    sums: { query: numbers(get("row_sums")), key: numbers(get("column_sums")) },
    off: offOf(model),
    /** @param {number} head */
    name: (head) => headName(head, shape, get("heads")),
    /** @param {number} head */
    head: (head) => get("heads")[head % shape[1]],
    /** @param {Record<string, unknown>} values */
    put: (values) => {
      const changed = Object.entries(values).filter(([name, value]) => JSON.stringify(get(name)) !== JSON.stringify(value));
      for (const [name, value] of changed) model.set(name, value);
      if (changed.length) model.save_changes();
    },
    /** @param {number} head @returns {string} */
    style: (head) => `--head:${get("heads")[head % shape[1]].colour};--on:${get("heads")[head % shape[1]].ink}`,
  };
}
/** @typedef {ReturnType<typeof context>} Context */

/** A trait's bytes as numbers; a copy, since they may start at an odd address.
 * @param {DataView | undefined} view */
function numbers(view) {
  if (!view || !view.byteLength) return new Uint16Array(0);
  return new Uint16Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
}

/** The weights: those that came with the traits, and those that the kernel was asked for.
 * @param {Context} ctx @param {Model} model */
function store(ctx, model) {
  const { get, shape, total } = ctx;
  const [, count, queries, keys] = shape;
  const held = { weights: numbers(get("weights")), moved: numbers(get("moved")) };
  /** @type {Map<string, Uint16Array>} */
  const maps = new Map();
  /** @type {Map<string, Uint16Array>} */
  const lines = new Map();
  let asked = 0;
  /** @type {{heads: number[], index: number} | null} */
  let waiting = null;
  /** @param {number} head @returns {Numbers | undefined} */
  const map = (head) => {
    const measure = /** @type {"weights" | "moved"} */ (get("measure"));
    const at = get("held").indexOf(Math.floor(head / count));
    const size = queries * keys;
    const start = (at * count + (head % count)) * size;
    return at >= 0 ? held[measure].subarray(start, start + size) : maps.get(`${measure} ${head}`);
  };
  const lineKey = (/** @type {number} */ head, /** @type {number} */ index) => `${get("measure")} ${get("side")} ${index} ${head}`;
  const send = (/** @type {number[]} */ heads, /** @type {number} */ index) => {
    asked += 1;
    model.set("ask", { id: asked, heads, measure: get("measure"), side: get("side"), index });
    model.save_changes();
  };
  return {
    map,
    /** @param {number} head @param {number} index @returns {Numbers | undefined} */
    line: (head, index) => {
      const whole = map(head);
      return whole ? line(whole, get("side"), index, shape) : lines.get(lineKey(head, index));
    },
    /** Ask for heads that are not here, and for a word's line in all heads; the last question wins.
     * @param {number[]} heads @param {number} index */
    need: (heads, index = -1) => {
      const lacking = heads.filter((head) => !map(head));
      const lineless = index >= 0 && Array.from({ length: total }, (_, head) => head)
        .some((head) => !map(head) && !lines.has(lineKey(head, index)));
      if (get("offline") || (!lacking.length && !lineless)) return;
      if (waiting) waiting = { heads: lacking, index: lineless ? index : -1 };
      else {
        waiting = { heads: [], index: -1 };
        send(lacking, lineless ? index : -1);
      }
    },
    /** Take what the kernel sent, and ask what was wanted in the meantime. */
    receive: () => {
      const { heads, measure, side, index, maps: sent, line: row, id } = get("answer");
      if (!heads) return;
      const all = numbers(sent);
      heads.forEach((/** @type {number} */ head, /** @type {number} */ i) =>
        maps.set(`${measure} ${head}`, all.slice(i * queries * keys, (i + 1) * queries * keys)));
      const length = side === "query" ? keys : queries;
      if (row) for (let head = 0; head < total; head += 1)
        lines.set(`${measure} ${side} ${index} ${head}`, numbers(row).slice(head * length, (head + 1) * length));
      if (id !== asked) return;
      const next = waiting;
      waiting = null;
      if (next && (next.heads.length || next.index >= 0)) {
        waiting = { heads: [], index: -1 };
        send(next.heads.filter((head) => !map(head)), next.index);
      }
    },
  };
}
/** @typedef {ReturnType<typeof store>} Store */

/** A picture of numbers, a pixel a cell, each in the colour that `inks` has for it.
 * @param {number} rows @param {number} columns @param {Numbers} cells @param {Uint32Array} inks */
function paint(rows, columns, cells, inks) {
  const canvas = make("canvas", { width: Math.max(columns, 1), height: Math.max(rows, 1), "aria-hidden": "true" });
  const pen = canvas.getContext("2d");
  const pixels = pen.createImageData(canvas.width, canvas.height);
  const out = new Uint32Array(pixels.data.buffer);
  for (let i = 0; i < rows * columns; i += 1) out[i] = inks[cells[i]];
  pen.putImageData(pixels, 0, 0);
  return canvas;
}

// ---- the overview: every head a thumbnail

/** @param {Context} ctx @param {Store} weights */
function overview(ctx, weights) {
  const { get, text, shape, total } = ctx;
  const [blocks, count, queries, keys] = shape;
  const grid = make("div", { class: "mha-heads-grid", role: "group", "aria-label": text.overview });
  const open = make("button", { type: "button", class: "mha-heads-open", hidden: true, onclick: () => openPicked() });
  /** @type {Set<number>} */
  let picked = new Set();
  /** @type {number[]} */
  let order = [];
  let focus = 0;
  let whose = -1; // the word whose line is shown; -1 for whole maps
  const openPicked = () => show(ctx, [...picked].sort((a, b) => a - b));
  // A sorted list may wrap where the page is narrow; blocks stay rows.
  const columns = () => (get("order") < 0 && blocks > 1 ? count : Math.max(1, Math.min(count, blocks > 1 ? 12 : 8, Math.floor((grid.clientWidth || 700) / 54))));

  const pick = (/** @type {number} */ head) => {
    if (!picked.delete(head)) picked.add(head);
    mark();
  };
  const mark = () => {
    buttons().forEach((button, i) => {
      button.setAttribute("aria-pressed", String(picked.has(order[i])));
      button.tabIndex = i === focus ? 0 : -1;
    });
    open.hidden = picked.size === 0;
    open.textContent = fill(text.open, { count: picked.size });
  };
  /** @returns {HTMLButtonElement[]} */
  const buttons = () => [...grid.querySelectorAll("button")];
  const onkeydown = (/** @type {KeyboardEvent} */ event) => {
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === " ") pick(order[focus]);
    else if (event.key === "Enter") (picked.has(order[focus]) ? openPicked : () => show(ctx, [order[focus]]))();
    else {
      const to = step(event.key, focus, total, columns());
      if (to === focus && !event.key.startsWith("Arrow")) return;
      focus = to;
      mark();
      buttons()[focus].focus();
    }
    event.preventDefault();
  };
  const onclick = (/** @type {MouseEvent} */ event, /** @type {number} */ i) => {
    focus = i;
    if (event.ctrlKey || event.metaKey) pick(order[i]);
    else if (event.detail) show(ctx, [order[i]]); // 0: a key pressed it, which onkeydown has done
  };

  const picture = (/** @type {number} */ head) => {
    if (whose >= 0) {
      const row = weights.line(head, whose);
      return row ? paint(1, row.length, row, ctx.inks.thousandths) : make("span", {}, get("offline") ? text.absent : text.loading);
    }
    const small = get("small_shape");
    if (small.length) {
      const all = new Uint8Array(get("small").buffer, get("small").byteOffset, get("small").byteLength);
      const size = small[0] * small[1];
      return paint(small[0], small[1], all.subarray(head * size, (head + 1) * size), ctx.inks.shades);
    }
    const [cells, rows, wide] = pool(/** @type {Numbers} */ (weights.map(head)), queries, keys);
    return paint(rows, wide, cells, ctx.inks.thousandths);
  };
  const thumbnail = (/** @type {number} */ head, /** @type {number} */ i, /** @type {any} */ score) => {
    const value = score && score.values[head] !== null ? score.values[head].toFixed(2) : text.none;
    const label = score ? fill(text.thumbnail_score, { name: ctx.name(head), score: score.name, value }) : fill(text.thumbnail, { name: ctx.name(head) });
    const first = score && i === 0;
    return make("button", { type: "button", class: `mha-heads-thumb${first ? " mha-heads-first" : ""}`, "data-head": head,
      "aria-label": first ? `${label}, ${text.best}` : label, style: ctx.style(head), onkeydown,
      onkeyup: (/** @type {KeyboardEvent} */ e) => e.key === " " && e.preventDefault(),
      onclick: (/** @type {MouseEvent} */ e) => onclick(e, i),
      onpointermove: (/** @type {PointerEvent} */ e) => readOut(ctx, weights, head, whose, e) },
      make("span", { class: "mha-heads-name" }, `${first ? "★ " : ""}${ctx.name(head)}`),
      ...(score ? [make("span", { class: "mha-heads-name" }, value)] : []), picture(head));
  };
  return {
    el: make("div", { class: "mha-heads-overview" }, grid, open),
    /** @param {number} index */
    choose: (index) => { whose = index; },
    whose: () => whose,
    draw: () => {
      const score = get("scores")[get("order")];
      const ready = score && score.values ? score : undefined;
      order = sorted(ready, total);
      if (whose >= 0) weights.need([], whose);
      grid.style.setProperty("--columns", String(columns()));
      grid.classList.toggle("mha-heads-strips", whose >= 0);
      grid.style.setProperty("--thumb", `${Math.max(38, Math.min(120, 480 / Math.ceil(total / columns()) - 22))}px`);
      grid.style.setProperty("--ratio", String(Math.min(2, Math.max(0.4, keys / Math.max(queries, 1)))));
      grid.replaceChildren(...order.map((head, i) => thumbnail(head, i, ready)));
      picked = new Set([...picked].filter((head) => head < total));
      mark();
    },
    focus: () => buttons()[focus]?.focus(),
  };
}

/** Open some heads.
 * @param {Context} ctx @param {number[]} heads */
function show(ctx, heads) {
  ctx.put({ view: "some", layer: Math.floor(heads[0] / ctx.shape[1]), shown: heads });
}

/** Say in the status line which cell of a thumbnail is pointed at.
 * @param {Context} ctx @param {Store} weights @param {number} head @param {number} whose @param {PointerEvent} event */
function readOut(ctx, weights, head, whose, event) {
  const { text, shape, words, get } = ctx;
  const canvas = /** @type {HTMLElement} */ (event.currentTarget).querySelector("canvas");
  if (!canvas) return;
  const box = canvas.getBoundingClientRect();
  const across = (event.clientX - box.left) / box.width;
  const down = (event.clientY - box.top) / box.height;
  if (across < 0 || across >= 1 || down < 0 || down >= 1) return;
  let [q, k] = [Math.floor(down * shape[2]), Math.floor(across * shape[3])];
  if (whose >= 0) [q, k] = get("side") === "query" ? [whose, k] : [Math.floor(across * shape[2]), whose];
  const value = whose >= 0 ? weights.line(head, whose)?.[get("side") === "query" ? k : q] : weights.map(head)?.[q * shape[3] + k];
  const status = canvas.closest(".mha-heads")?.querySelector(".mha-heads-status");
  if (status) status.textContent = fill(text.cell, { name: ctx.name(head), query: apart(words.query[q]), key: apart(words.key[k]),
    weight: value === undefined ? "" : number(value, text) });
}

// ---- some heads: a map each

/** The rows and columns of a map that are in sight: [top, bottom, first, end]; of a small one all.
 * @param {HTMLElement} frame @param {number} cell @param {number} queries @param {number} keys */
function inSight(frame, cell, queries, keys) {
  if (queries * keys <= 4096) return [0, queries, 0, keys];
  const [top, high] = [Math.floor(frame.scrollTop / cell), Math.ceil(frame.clientHeight / cell) + 1];
  const [first, wide] = [Math.floor(frame.scrollLeft / cell), Math.ceil(frame.clientWidth / cell) + 1];
  return [Math.max(0, top - 1), Math.min(queries, top + high), Math.max(0, first - 1), Math.min(keys, first + wide)];
}

/** What stands on the colours: hatching, crosses, lines between the cells, numbers where there is room.
 * @param {Context} ctx @param {Numbers} map @param {number} cell @param {number[]} sight @param {string} id of the hatching */
function marksOf(ctx, map, cell, [top, bottom, first, end], id) {
  const { get, text, shape } = ctx;
  let [hatch, cross, grid] = ["", "", ""];
  const figures = [];
  for (let q = top; q < bottom; q += 1) {
    const row = map.subarray(q * shape[3] + first, q * shape[3] + end);
    for (const [start, length] of maskedRuns(row)) hatch += `M${(first + start) * cell} ${q * cell}h${length * cell}v${cell}h${-length * cell}z`;
    row.forEach((value, i) => {
      const [x, y] = [(first + i + 0.5) * cell, (q + 0.5) * cell];
      if (value === NAN) cross += `M${x - cell / 4} ${y - cell / 4}l${cell / 2} ${cell / 2}m0 ${-cell / 2}l${-cell / 2} ${cell / 2}`;
      else if (value !== MASKED && cell >= NUMBERED) figures.push(make("text", { x, y: y + 4, "text-anchor": "middle",
        class: "mha-heads-number", fill: value * 256 >= get("dark_from") * 1000 ? "#fff" : "#000" }, number(value, text)));
    });
    if (cell >= 16 && q > top) grid += `M${first * cell} ${q * cell}H${end * cell}`;
  }
  for (let k = first + 1; cell >= 16 && k < end; k += 1) grid += `M${k * cell} ${top * cell}V${bottom * cell}`;
  return [make("path", { d: hatch, fill: `url(#${id})` }), make("path", { d: cross, stroke: "#000", "stroke-width": cell > 16 ? 2 : 1 }),
    make("path", { d: grid, class: "mha-heads-lattice" }), ...figures];
}

/** A bar at the end of each row that sums to something else than 1.
 * @param {Context} ctx @param {number} head @param {Numbers} map @param {number} cell */
function wrongSums(ctx, head, map, cell) {
  let d = "";
  for (let q = 0; q < ctx.shape[2]; q += 1)
    if (ctx.off(head, q, map)) d += `M${ctx.shape[3] * cell - 3} ${q * cell + 1}v${Math.max(1, cell - 2)}`;
  return make("path", { d, class: "mha-heads-off" });
}

/** The words at the left of a map or below it; every n-th where all would touch.
 * @param {Context} ctx @param {"query" | "key"} side @param {number} cell @param {number} left */
function namesOf(ctx, side, cell, left) {
  const below = side === "key";
  const list = /** @type {string[]} */ (ctx.words[side]).map((word) => shorten(word));
  const longest = Math.max(0, ...list.map(wordWidth));
  const flat = longest <= cell;
  const nodes = [];
  for (let i = 0; i < list.length; i += Math.ceil(15 / cell)) {
    const middle = (i + 0.5) * cell;
    const place = !below ? { x: left - 5, y: middle + 5, "text-anchor": "end" }
      : flat ? { x: middle, y: 17, "text-anchor": "middle" }
        : { x: 0, y: 0, "text-anchor": "end", transform: `translate(${middle + 5} 5) rotate(-90)` };
    nodes.push(make("text", place, list[i]));
  }
  const size = below ? { width: list.length * cell + 3, height: flat ? 22 : 10 + longest } : { width: left, height: list.length * cell };
  return make("svg", { class: below ? "mha-heads-below" : "mha-heads-left", "aria-hidden": "true", ...size }, ...nodes);
}

/** @param {Context} ctx @param {Store} weights @param {(index: number) => void} point @param {(index: number) => void} hold */
function heatmaps(ctx, weights, point, hold) {
  const { get, text, shape, words } = ctx;
  const [, , queries, keys] = shape;
  const id = `mha-heads-${Math.random().toString(36).slice(2)}`;
  const el = make("div", { class: "mha-heads-maps" });
  let zoom = 0;
  let page = 900;
  let cell = NUMBERED;
  /** @type {Array<{frame: HTMLElement, head: number, marks: any}>} */
  let frames = [];

  const left = () => 8 + Math.max(0, ...words.query.map((/** @type {string} */ word) => wordWidth(shorten(word))));
  const sizes = () => zooms(cellSize(get("shown").length, queries, keys, Math.max(90, page - (labelled() ? left() : 2) - 24)));
  const labelled = () => get("shown").length <= 4 || zoom > 0;

  const drawMarks = (/** @type {{frame: HTMLElement, head: number, marks: any}} */ { frame, head, marks }) => {
    const map = weights.map(head);
    if (map) marks.replaceChildren(...marksOf(ctx, map, cell, inSight(frame, cell, queries, keys), id));
  };
  const bodyOf = (/** @type {number} */ head) => {
    const map = weights.map(head);
    const [width, height] = [keys * cell, queries * cell];
    const marks = make("g");
    let canvas = null;
    const at = (/** @type {(index: number) => void} */ act) => (/** @type {PointerEvent} */ event) => {
      const box = svg.getBoundingClientRect();
      const query = get("side") === "query";
      const i = Math.floor((query ? event.clientY - box.top - 3 : event.clientX - box.left - 3) / cell);
      if (i >= 0 && i < (query ? queries : keys)) act(i);
    };
    const svg = make("svg", { width: width + 6, height: height + 6, viewBox: `-3 -3 ${width + 6} ${height + 6}`, role: "img",
      "aria-label": fill(text.map, { name: ctx.name(head), size: text.size }), onpointermove: at(point), onpointerup: at(hold) },
      make("defs", {}, make("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        make("rect", { width: 2, height: 6, class: "mha-heads-ink" }))));
    if (map) {
      // Below a pixel a cell the largest of its neighbours is drawn, so that no thin line is lost.
      const [cells, rows, columns] = cell < 1 ? pool(map, queries, keys, Math.ceil(Math.max(width, height))) : [map, queries, keys];
      canvas = paint(rows, columns, cells, ctx.inks.thousandths);
      canvas.setAttribute("style", `width:${width}px;height:${height}px`);
      svg.append(marks, wrongSums(ctx, head, map, cell));
      const out = cell < 10 ? 2 : 0; // a small row would vanish under its own frame
      for (const [frame, pen] of [["outer", out ? 3 : 5], ["inner", out ? 1.2 : 2.5]])
        svg.append(make("rect", { class: `mha-heads-${frame}`, x: -out, y: -out, width: width + 2 * out, height: height + 2 * out, "stroke-width": pen, rx: 2 }));
    } else svg.append(make("text", { x: 8, y: 24 }, get("offline") ? text.absent : text.loading));
    return { body: make("div", { class: "mha-heads-map" }, ...(canvas ? [canvas] : []), svg), marks };
  };
  const figure = (/** @type {number} */ head) => {
    const { body: drawn, marks } = bodyOf(head);
    const body = make("div", { class: "mha-heads-body-grid" }, ...(labelled() ? [namesOf(ctx, "query", cell, left()), drawn, make("span"), namesOf(ctx, "key", cell, left())] : [drawn]));
    const frame = make("div", zoom ? { class: "mha-heads-frame mha-heads-zoomed", tabindex: "0", role: "group",
      "aria-label": fill(text.head, { name: ctx.name(head) }) } : { class: "mha-heads-frame" }, body);
    const entry = { frame, head, marks };
    frame.addEventListener("scroll", () => {
      for (const other of frames) {
        other.frame.scrollLeft = frame.scrollLeft;
        other.frame.scrollTop = frame.scrollTop;
        drawMarks(other);
      }
    });
    frames.push(entry);
    return make("figure", { style: ctx.style(head) }, make("figcaption", {}, fill(text.head, { name: ctx.name(head) })), frame);
  };
  return {
    el,
    canZoom: () => [zoom > 0, zoom < sizes().length - 1],
    /** @param {number} by */
    zoom: (by) => { zoom += by; },
    /** Say whether another width of the page changes the cells. @param {number} width */
    resize: (width) => {
      page = width;
      return sizes()[Math.min(zoom, sizes().length - 1)] !== cell;
    },
    draw: () => {
      weights.need(get("shown"));
      zoom = Math.min(zoom, sizes().length - 1);
      cell = sizes()[zoom];
      frames = [];
      el.replaceChildren(...get("shown").map(figure));
      frames.forEach(drawMarks);
    },
    /** Move the frame to the chosen word, and the word into sight. @param {boolean} follow */
    frame: (follow) => {
      const query = get("side") === "query";
      const at = get(get("side")) * cell;
      const out = cell < 10 ? 2 : 0;
      const [length, thick] = [(query ? keys : queries) * cell + 2 * out, cell + 2 * out];
      for (const rect of el.querySelectorAll(".mha-heads-outer, .mha-heads-inner")) {
        const place = query ? { x: -out, y: at - out, width: length, height: thick } : { x: at - out, y: -out, width: thick, height: length };
        for (const [name, value] of Object.entries(place)) rect.setAttribute(name, String(value));
      }
      if (follow && zoom) for (const { frame } of frames) {
        if (query) frame.scrollTop = at - frame.clientHeight / 3;
        else frame.scrollLeft = at - frame.clientWidth / 3;
      }
    },
  };
}

// ---- one word: its lines and its numbers

/** A line from the chosen word to each that it looks at (or that looks at it), as thick as the weight, and
 * at the largest of each head its letter.
 * @param {Context} ctx @param {number[]} shown @param {Array<Numbers | undefined>} rows @param {number} index @param {number} wide */
function linesOf(ctx, shown, rows, index, wide) {
  /** @type {Map<number, string[]>} */
  const letters = new Map();
  const paths = [];
  const pen = Math.min(5, 18 / shown.length);
  const least = shown.length * (rows[0]?.length ?? 0) > 1000 ? 20 : 5; // thousandths: thinner lines would be a haze
  const oneBlock = new Set(shown.map((head) => Math.floor(head / ctx.shape[1]))).size === 1;
  const end = wide - lettersWide(shown.length);
  const from = (index + 1.5) * ROW;
  shown.forEach((head, n) => {
    const row = rows[n];
    if (!row) return;
    const best = largest(row);
    if (best >= 0) letters.set(best, [...(letters.get(best) ?? []), oneBlock ? ctx.head(head).letter : ctx.name(head)]);
    const shift = shown.length > 1 ? (n / (shown.length - 1) - 0.5) * 12 : 0;
    row.forEach((value, k) => {
      if (value >= MASKED || value < least) return;
      const weight = Math.min(value / 1000, 1);
      const to = (k + 1.5) * ROW + shift;
      paths.push(make("path", { d: `M2 ${from}C${end / 2} ${from} ${end / 2} ${to} ${end} ${to}`,
        class: "mha-heads-line", style: ctx.style(head), "stroke-width": 0.8 + pen * weight, "stroke-opacity": 0.3 + 0.7 * weight }));
    });
  });
  const told = [...letters].map(([k, names]) =>
    make("text", { x: end + 4, y: (k + 1.5) * ROW + 5 }, make("title", {}, names.join(", ")), together(names)));
  return [...paths, ...told];
}

/** @param {Context} ctx @param {Store} weights @param {(index: number) => void} point @param {(index: number) => void} hold */
function look(ctx, weights, point, hold) {
  const { get, text, words } = ctx;
  const id = `mha-heads-${Math.random().toString(36).slice(2)}`;
  const list = make("div", { class: "mha-heads-queries", role: "radiogroup" });
  const lines = make("svg", { class: "mha-heads-lines", "aria-hidden": "true" });
  const table = make("table");
  const el = make("div", { class: "mha-heads-look", tabindex: "0", role: "group", "aria-label": text.numbers }, list, lines, table);
  /** @type {HTMLInputElement[]} */
  let radios = [];
  /** @type {HTMLElement[][]} */
  let cells = []; // a list a head: a cell a word, and the sum
  const side = () => /** @type {"query" | "key"} */ (get("side"));
  const chosen = () => words[side()];
  const others = () => words[side() === "query" ? "key" : "query"];
  // Pixels between the words: for the lines, and for the letters at their ends.
  const wide = () => (el.closest(".mha-heads")?.clientWidth < 480 ? 46 : 76) + lettersWide(get("shown").length);

  const makeList = () => {
    const name = side() === "query" ? text.queries : text.keys;
    radios = chosen().map((/** @type {string} */ word, /** @type {number} */ i) => make("input", { type: "radio", name: id, value: i, onchange: () => ctx.put({ [side()]: i }) }));
    list.setAttribute("aria-label", name);
    list.replaceChildren(make("div", { class: "mha-heads-top", "aria-hidden": "true" }, name),
      ...chosen().map((/** @type {string} */ word, /** @type {number} */ i) => make("label", { title: word, onpointerenter: () => point(i), onpointerup: () => hold(i) },
        radios[i], make("span", { dir: "auto" }, word))));
  };
  const makeTable = (/** @type {number[]} */ shown) => {
    const count = others().length;
    const name = side() === "query" ? text.keys : text.queries;
    cells = shown.map((head) => Array.from({ length: count + 1 }, () => make("td", { style: ctx.style(head) })));
    const across = (/** @type {number} */ i) => cells.map((column) => column[i]);
    const foot = make("tfoot", {}, make("tr", {}, make("th", { scope: "row" }, text.sum), ...across(count)));
    table.replaceChildren(make("caption"),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, name), ...shown.map((head) =>
        make("th", { scope: "col", style: ctx.style(head) }, make("span", {}, ctx.name(head)))))),
      make("tbody", {}, ...others().map((/** @type {string} */ word, /** @type {number} */ i) =>
        make("tr", {}, make("th", { scope: "row", title: word, dir: "auto" }, word), ...across(i)))),
      ...(get("measure") === "weights" ? [foot] : []));
  };
  const drawNumbers = (/** @type {number[]} */ shown, /** @type {Array<Numbers | undefined>} */ rows, /** @type {number} */ index) => {
    table.caption.textContent = fill(side() === "query" ? text.caption_query : text.caption_key, { word: chosen()[index] });
    shown.forEach((head, n) => {
      const row = rows[n];
      others().forEach((/** @type {string} */ _, /** @type {number} */ i) => {
        const [cell, value] = [cells[n][i], row ? row[i] : MASKED];
        const told = row ? number(value, text) : text.loading;
        if (cell.textContent === told) return; // most cells of a long text are the same 0.000
        cell.textContent = told;
        cell.className = row && value === MASKED ? "mha-heads-hatch" : "";
        cell.style.backgroundSize = `${value < MASKED ? Math.min(100, value / 10) : 0}% 4px`;
      });
      const sum = ctx.sums[side()][head * chosen().length + index];
      const off = side() === "query" && row && ctx.off(head, index, row, true);
      const shownSum = side() === "query" || sum === NAN ? number(sum, text) : `${Math.floor(sum / 100)}.${String(sum % 100).padStart(2, "0")}`;
      cells[n][others().length].textContent = off ? `${shownSum} ${text.off}` : shownSum;
      cells[n][others().length].classList.toggle("mha-heads-wrong", Boolean(off));
    });
  };
  return {
    el,
    arrange: () => {
      makeList();
      makeTable(get("shown"));
    },
    /** @param {boolean} follow */
    draw: (follow) => {
      const index = get(side());
      if (!chosen().length) return "";
      const shown = get("shown");
      const rows = shown.map((/** @type {number} */ head) => weights.line(head, index));
      radios.forEach((radio, i) => { radio.checked = i === index; });
      lines.setAttribute("width", String(wide()));
      lines.setAttribute("height", String((Math.max(words.query.length, words.key.length) + 1) * ROW));
      lines.replaceChildren(...linesOf(ctx, shown, rows, index, wide()));
      drawNumbers(shown, rows, index);
      const place = (index + 1.5) * ROW - el.scrollTop; // show it in a long list, too
      if (follow && (place < 2 * ROW || place > el.clientHeight - ROW)) el.scrollTop += place - el.clientHeight / 2;
      return say(ctx, shown, rows, index);
    },
  };
}

/** One sentence on what the shown heads do with the chosen word.
 * @param {Context} ctx @param {number[]} shown @param {Array<Numbers | undefined>} rows @param {number} index */
function say(ctx, shown, rows, index) {
  const { get, text, words } = ctx;
  const query = get("side") === "query";
  const parts = shown.slice(0, 4).map((head, n) => {
    const row = rows[n];
    if (!row) return text.loading;
    const best = largest(row);
    const other = (query ? words.key : words.query)[best];
    const values = { name: ctx.name(head), key: other === undefined ? "" : apart(other), weight: best < 0 ? "" : number(row[best], text) };
    if (row.includes(NAN)) return fill(text.looks_nan, values);
    if (best < 0) return fill(query ? text.looks_nothing : text.looked_nothing, values);
    const seen = row.filter((/** @type {number} */ value) => value < MASKED);
    if (query && seen.length > 1 && seen.every((/** @type {number} */ value) => value === seen[0])) return fill(text.looks_even, { ...values, count: seen.length });
    return fill(query ? text.looks : text.looked, values);
  });
  const more = shown.length > 4 ? fill(text.more, { count: shown.length - 4 }) : "";
  return fill(text.status, { word: apart(words[/** @type {"query" | "key"} */ (get("side"))][index]), looks: parts.join(text.and) + more });
}

// ---- controls

/** The buttons of the heads: click or Space for one more or less, double click or Enter for one alone.
 * @param {Context} ctx */
function picker(ctx) {
  const { get, text, shape } = ctx;
  const el = make("div", { class: "mha-heads-picker", role: "group", "aria-label": text.heads });
  /** @type {number[]} */
  let offered = [];
  const toggle = (/** @type {number} */ head) => {
    const shown = get("shown");
    const next = shown.includes(head) ? shown.filter((/** @type {number} */ h) => h !== head) : [...shown, head].sort((a, b) => a - b);
    if (next.length) ctx.put({ shown: next });
  };
  const alone = (/** @type {number} */ head) => ctx.put({ shown: get("shown").length === 1 && get("shown")[0] === head ? offered : [head] });
  const onkeydown = (/** @type {KeyboardEvent} */ event, /** @type {number} */ head) => {
    if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault(); // Enter would click
    alone(head);
  };
  return {
    el,
    draw: () => {
      const shown = get("shown");
      const block = get("layer");
      const within = shown.every((/** @type {number} */ head) => Math.floor(head / shape[1]) === block);
      const next = within ? headsOf(block, shape) : [...new Set([...offered.filter((head) => !within && shown.includes(head)), ...shown])].sort((a, b) => a - b);
      if (next.join() !== offered.join()) {
        offered = next;
        el.replaceChildren(make("span", { "aria-hidden": "true" }, text.heads), ...offered.map((head) =>
          make("button", { type: "button", title: fill(text.toggle, { name: ctx.name(head) }), style: ctx.style(head), "data-head": head,
            onclick: () => toggle(head), ondblclick: () => alone(head), onkeydown: (/** @type {KeyboardEvent} */ e) => onkeydown(e, head) },
            within ? ctx.head(head).letter : ctx.name(head))));
      }
      for (const button of el.querySelectorAll("button")) button.setAttribute("aria-pressed", String(shown.includes(Number(button.dataset.head))));
    },
  };
}

/** The scale, and what hatching, crosses and bars mean; only what is in the picture.
 * @param {Context} ctx @param {boolean} anyOff */
function scale(ctx, anyOff) {
  const { get, text } = ctx;
  const palette = get("palette");
  const stops = [0, 64, 128, 192, 255].map((i) => palette[i]).join(",");
  const marks = [make("span", {}, "0"), make("span", { class: "mha-heads-scale", style: `background:linear-gradient(90deg,${stops})` }), make("span", {}, "1")];
  if (get("marks").includes("masked")) marks.push(make("span", { class: "mha-heads-hatch" }), make("span", {}, text.masked));
  if (get("marks").includes("nan")) marks.push(make("span", { class: "mha-heads-nan" }, "×"), make("span", {}, text.not_a_number));
  if (anyOff) marks.push(make("span", { class: "mha-heads-bar" }), make("span", {}, text.not_one));
  const key = make("div", { class: "mha-heads-key", role: "img", "aria-label": text.scale }, ...marks);
  const unit = make("span", { class: "mha-heads-unit" });
  return { el: make("div", { class: "mha-heads-key" }, key, unit), draw: () => {
    unit.textContent = get("measure") === "moved" ? fill(text.unit, { longest: get("longest") }) : "";
  } };
}

/** The menus above the picture.
 * @param {Context} ctx @param {ReturnType<typeof overview>} thumbs @param {ReturnType<typeof heatmaps>} maps @param {() => void} redraw */
function controls(ctx, thumbs, maps, redraw) {
  const { get, text, shape, words } = ctx;
  const all = make("button", { type: "button", class: "mha-heads-all", onclick: () => ctx.put({ view: "all" }) }, text.all_heads);
  const block = menu(text.block, Array.from({ length: shape[0] }, (_, i) => [i, String(i + 1)]), (value) =>
    ctx.put({ layer: Number(value), shown: headsOf(Number(value), shape) }));
  const order = menu(text.order, [[-1, text.as_made], ...get("scores").map((/** @type {any} */ score, /** @type {number} */ i) => [i, score.name])], (value) => ctx.put({ order: Number(value) }));
  const side = menu(text.way, [["query", text.from_query], ["key", text.from_key]], (value) => ctx.put({ side: value }));
  const measure = menu(text.measure, [["weights", text.weights], ["moved", text.moved]], (value) => ctx.put({ measure: value }));
  const lines = menu(text.thumbs, [], (value) => { thumbs.choose(Number(value)); redraw(); });
  const zoomBy = (/** @type {number} */ by) => () => { maps.zoom(by); redraw(); };
  const out = make("button", { type: "button", "aria-label": text.zoom_out, title: text.zoom_out, onclick: zoomBy(-1) }, "−");
  const into = make("button", { type: "button", "aria-label": text.zoom_in, title: text.zoom_in, onclick: zoomBy(1) }, "+");
  const zoom = make("span", { class: "mha-heads-zoom" }, out, into);
  const heads = picker(ctx);
  let asked = "";
  return {
    el: make("div", { class: "mha-heads-controls" }, all, block.label, heads.el, order.label, lines.label, side.label, measure.label, zoom),
    draw: () => {
      const over = get("view") === "all";
      if (asked !== get("side")) {
        asked = get("side");
        const form = asked === "query" ? text.row_of : text.column_of;
        lines.select.replaceChildren(...[text.whole, ...words[/** @type {"query" | "key"} */ (asked)].map((/** @type {string} */ word) => fill(form, { word }))]
          .map((label, i) => make("option", { value: i - 1 }, label)));
      }
      all.hidden = over || ctx.total <= FEW;
      block.label.hidden = over || shape[0] < 2;
      heads.el.hidden = over;
      order.label.hidden = lines.label.hidden = !over;
      measure.label.hidden = !get("longest");
      block.select.value = String(get("layer"));
      order.select.value = String(get("order"));
      side.select.value = get("side");
      measure.select.value = get("measure");
      lines.select.value = String(thumbs.whose());
      heads.draw();
      const [less, more] = over ? [false, false] : maps.canZoom();
      zoom.hidden = !less && !more;
      [out.disabled, into.disabled] = [!less, !more];
    },
  };
}

/** A text box for a sentence of one's own; nothing runs until Enter.
 * @param {Context} ctx @param {string} typed */
function ownSentence(ctx, typed) {
  const { get, text } = ctx;
  const state = make("span", { class: "mha-heads-reading", role: "status" });
  const box = make("input", { type: "text", class: "mha-heads-sentence", "aria-label": text.sentence });
  box.value = typed;
  const submit = () => {
    state.textContent = text.reading;
    ctx.put({ trouble: "" });
    ctx.put({ sentence: box.value || " " });
  };
  box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  const el = make("div", { class: "mha-heads-own", hidden: !get("can_read") },
    make("span", { "aria-hidden": "true" }, text.sentence), box, make("button", { type: "button", onclick: submit }, text.read), state);
  return { el, box, done: () => { state.textContent = ""; } };
}

/** Leave Shift+Enter, Ctrl+Enter, Alt+Enter and Escape to the notebook, wherever the focus is in `root`.
 * @param {HTMLElement} root @returns {() => void} */
function leaveKeys(root) {
  const onkeydown = (/** @type {KeyboardEvent} */ event) => {
    const target = event.target instanceof HTMLElement && root.contains(event.target) ? event.target : null;
    const theirs = event.key === "Escape" || (event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey));
    if (!target || !theirs) return;
    const own = target.getAttribute("data-lm-suppress-shortcuts");
    target.removeAttribute("data-lm-suppress-shortcuts");
    // JupyterLab runs a cell only where nothing can be written.
    if (target instanceof HTMLInputElement && target.type === "text") root.focus();
    setTimeout(() => { if (own) target.setAttribute("data-lm-suppress-shortcuts", own); }, 0);
  };
  window.addEventListener("keydown", onkeydown, true);
  return () => window.removeEventListener("keydown", onkeydown, true);
}

// ---- all of it

/** Build the page for the sentence that the traits hold; returns what takes it down.
 * @param {Model} model @param {HTMLElement} el @param {string} typed @param {boolean} typing */
function build(model, el, typed, typing) {
  const ctx = context(model);
  const { get, text } = ctx;
  const weights = store(ctx, model);
  let held = false;
  const point = (/** @type {number} */ i) => { if (!held) ctx.put({ [get("side")]: i }); };
  const hold = (/** @type {number} */ i) => {
    held = !(held && get(get("side")) === i);
    ctx.put({ [get("side")]: i });
    hint.textContent = held ? text.hint_held : text.hint;
  };
  const thumbs = overview(ctx, weights);
  const maps = heatmaps(ctx, weights, point, hold);
  const words = look(ctx, weights, point, hold);
  const above = controls(ctx, thumbs, maps, () => draw());
  const own = ownSentence(ctx, typed);
  const anyOff = Array.from({ length: ctx.total }, (_, head) => head).some((head) => offAnywhere(ctx, weights, head));
  const key = scale(ctx, anyOff);
  const status = make("p", { class: "mha-heads-status", "aria-live": "polite" });
  const hint = make("p", { class: "mha-heads-hint" });
  const trouble = make("p", { class: "mha-heads-trouble", role: "alert" });
  const body = make("div", { class: "mha-heads-body" }, maps.el, words.el);
  const root = make("div", { class: "mha-theme mha-heads", tabindex: "-1" }, own.el, trouble, above.el, key.el, thumbs.el, body, status, hint);
  el.replaceChildren(root);

  const drawWord = () => {
    if (get("view") !== "some") return;
    const inside = root.querySelector(".mha-heads-maps:hover") !== null;
    maps.frame(!inside);
    status.textContent = words.draw(inside || !root.querySelector(".mha-heads-queries:hover"));
  };
  const draw = () => {
    const over = get("view") === "all";
    thumbs.el.hidden = !over;
    body.hidden = over;
    hint.textContent = over ? text.hint_overview : held ? text.hint_held : text.hint;
    if (over) {
      thumbs.draw();
      status.textContent = "";
    } else {
      maps.draw();
      words.arrange();
    }
    above.draw();
    key.draw();
    drawWord();
  };
  const tell = () => {
    trouble.textContent = get("trouble");
    if (get("trouble")) own.done();
  };
  const receive = () => { weights.receive(); draw(); };
  const stops = [leaveKeys(root), ...listen(model, { answer: receive, trouble: tell, query: drawWord, key: drawWord,
    view: draw, layer: draw, shown: draw, side: draw, measure: draw, order: draw, scores: draw, small: draw })];
  const watch = new ResizeObserver(([entry]) => {
    if (entry.contentRect.width && maps.resize(entry.contentRect.width) && get("view") === "some") draw();
  });
  watch.observe(root);
  maps.resize(root.clientWidth || 900);
  draw();
  tell();
  if (typing) own.box.focus();
  return { stop: () => { stops.forEach((stop) => stop()); watch.disconnect(); }, box: own.box };
}

/** Whether a row of a head sums to something else than 1, though it may see a key.
 * @param {Model} model */
function offOf(model) {
  const [, , queries, keys] = model.get("shape");
  const sums = numbers(model.get("row_sums"));
  const slack = model.get("slack");
  return (/** @type {number} */ head, /** @type {number} */ query, /** @type {Numbers | undefined} */ map, alone = false) => {
    const sum = sums[head * queries + query];
    if (model.get("measure") !== "weights" || sum === NAN || Math.abs(sum - 1000) <= slack) return false;
    return !map || (alone ? map : map.subarray(query * keys, (query + 1) * keys)).some((/** @type {number} */ value) => value !== MASKED);
  };
}

/** @param {Context} ctx @param {Store} weights @param {number} head */
function offAnywhere(ctx, weights, head) {
  const map = weights.map(head);
  for (let query = 0; map && query < ctx.shape[2]; query += 1) if (ctx.off(head, query, map)) return true;
  return false;
}

/** Call back on changes of traits; returns what ends each.
 * @param {Model} model @param {Record<string, () => void>} calls */
function listen(model, calls) {
  return Object.entries(calls).map(([name, call]) => {
    model.on(`change:${name}`, call);
    return () => model.off(`change:${name}`, call);
  });
}

/** @param {{model: Model, el: HTMLElement}} context */
function render({ model, el }) {
  let page = build(model, el, "", false);
  const again = () => {
    const { value } = page.box;
    const typing = document.activeElement === page.box;
    page.stop();
    page = build(model, el, value, typing);
  };
  model.on("change:version", again);
  return () => {
    page.stop();
    model.off("change:version", again);
  };
}

export default { render };
