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
/** @typedef {{cells: Numbers, rows: number, columns: number}} Picture a map, or a map made small */
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

/** How many of `count` rows one row of a map with at most `most` stands for; as in heatmaps/pool.py.
 * @param {number} count @param {number} most */
export function binSize(count, most) {
  return Math.max(1, Math.ceil(count / most));
}

/** A map made small: a cell is the largest weight of those that it stands for; NaN wins, masked loses.
 * @param {Numbers} map @param {number} queries @param {number} keys @param {number} most
 * @returns {Picture} */
export function pool(map, queries, keys, most = THUMB) {
  const [high, wide] = [binSize(queries, most), binSize(keys, most)];
  const [rows, columns] = [Math.ceil(queries / high), Math.ceil(keys / wide)];
  const small = new Uint16Array(rows * columns).fill(MASKED);
  const across = Uint16Array.from({ length: keys }, (_, k) => Math.floor(k / wide));
  for (let q = 0, i = 0; q < queries; q += 1) {
    const start = Math.floor(q / high) * columns;
    for (let k = 0; k < keys; k += 1, i += 1) {
      const [value, at] = [map[i], start + across[k]];
      const before = small[at];
      if (value === NAN || before === MASKED || (value !== MASKED && before !== NAN && value > before)) small[at] = value;
    }
  }
  return { cells: small, rows, columns };
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
      // After the page has asked for what it lacks now, so that all goes in one message.
      if (changed.length) queueMicrotask(() => model.save_changes());
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

/** The weights: those that came with the traits, and those that the kernel was asked for. */
class Store {
  /** @param {Context} ctx @param {Model} model */
  constructor(ctx, model) {
    this.ctx = ctx;
    this.model = model;
    this.held = { weights: numbers(ctx.get("weights")), moved: numbers(ctx.get("moved")) };
    /** @type {Map<string, Uint16Array>} */
    this.maps = new Map();
    /** @type {Map<string, Uint16Array>} */
    this.small = new Map(); // maps made small
    /** @type {Map<string, Uint16Array>} */
    this.lines = new Map();
    this.asked = 0;
    this.open = false; // whether a question waits for its answer
  }

  /** A head's weights, or what it moves, if they are here.
   * @param {number} head @returns {Numbers | undefined} */
  map(head) {
    const { get, shape: [, count, queries, keys] } = this.ctx;
    const measure = /** @type {"weights" | "moved"} */ (get("measure"));
    const at = get("held").indexOf(Math.floor(head / count));
    const size = queries * keys;
    const start = (at * count + (head % count)) * size;
    return at >= 0 ? this.held[measure].subarray(start, start + size) : this.maps.get(`${measure} ${head}`);
  }

  /** @param {number} head @param {number} index @returns {Numbers | undefined} */
  line(head, index) {
    const { get, shape } = this.ctx;
    const whole = this.map(head);
    return whole ? line(whole, get("side"), index, shape) : this.lines.get(this.lineKey(head, index));
  }

  /** A head's map with at most `most` rows and columns, or with all of them where `most` is 0, if it is here.
   * @param {number} head @param {number} most @returns {Picture | undefined} */
  picture(head, most) {
    const { get, shape: [, , queries, keys] } = this.ctx;
    const whole = this.map(head);
    if (whole) return most ? pool(whole, queries, keys, most) : { cells: whole, rows: queries, columns: keys };
    const cells = this.small.get(`${get("measure")} ${most} ${head}`);
    return cells && { cells, rows: Math.ceil(queries / binSize(queries, most)), columns: Math.ceil(keys / binSize(keys, most)) };
  }

  /** @param {number} head @param {number} index */
  lineKey(head, index) {
    const { get } = this.ctx;
    return `${get("measure")} ${get("side")} ${index} ${head}`;
  }

  /** Ask for maps that are not here, with at most `most` rows and columns, and for a word's line in all heads.
   * One question is open at a time: what is still wanted is asked for when its answer is drawn.
   * @param {number[]} heads @param {number} most @param {number} index of the word, or -1 */
  need(heads, most, index) {
    const { get } = this.ctx;
    if (this.open || get("offline")) return;
    const lacking = heads.filter((head) => !this.map(head) && !this.small.has(`${get("measure")} ${most} ${head}`));
    const lineless = index >= 0 && everyHead(this.ctx).some((head) => !this.map(head) && !this.lines.has(this.lineKey(head, index)));
    if (!lacking.length && !lineless) return;
    this.open = true;
    this.asked += 1;
    this.model.set("ask", { id: this.asked, heads: lacking, most, measure: get("measure"), side: get("side"), index: lineless ? index : -1 });
    this.model.save_changes();
  }

  /** Take what the kernel sent; whatever it is, no question is open any more. */
  receive() {
    const { heads, most, measure, side, index, maps, line: row } = this.ctx.get("answer");
    this.open = false;
    if (!heads) return;
    const [, , queries, keys] = this.ctx.shape;
    const all = numbers(maps);
    const size = all.length / heads.length;
    heads.forEach((/** @type {number} */ head, /** @type {number} */ i) => {
      const cells = all.subarray(i * size, (i + 1) * size);
      if (most) this.small.set(`${measure} ${most} ${head}`, cells);
      else this.maps.set(`${measure} ${head}`, cells);
    });
    if (!row) return;
    const [lines, length] = [numbers(row), side === "query" ? keys : queries];
    for (const head of everyHead(this.ctx))
      this.lines.set(`${measure} ${side} ${index} ${head}`, lines.subarray(head * length, (head + 1) * length));
  }
}

/** @param {Context} ctx @returns {number[]} */
function everyHead(ctx) {
  return Array.from({ length: ctx.total }, (_, head) => head);
}

/** Numbers drawn a pixel a cell, each in the colour that `inks` has for it.
 * @param {Picture} picture @param {Uint32Array} inks */
function paint({ cells, rows, columns }, inks) {
  const canvas = make("canvas", { width: Math.max(columns, 1), height: Math.max(rows, 1), "aria-hidden": "true" });
  const pen = canvas.getContext("2d");
  const pixels = pen.createImageData(canvas.width, canvas.height);
  const out = new Uint32Array(pixels.data.buffer);
  for (let i = 0; i < rows * columns; i += 1) out[i] = inks[cells[i]];
  pen.putImageData(pixels, 0, 0);
  return canvas;
}

// ---- the overview: every head a thumbnail

class Overview {
  /** @param {Context} ctx @param {Store} weights */
  constructor(ctx, weights) {
    this.ctx = ctx;
    this.weights = weights;
    this.grid = make("div", { class: "mha-heads-grid", role: "group", "aria-label": ctx.text.overview });
    this.opener = make("button", { type: "button", class: "mha-heads-open", hidden: true, onclick: () => this.openPicked() });
    this.el = make("div", { class: "mha-heads-overview" }, this.grid, this.opener);
    /** @type {Set<number>} */
    this.picked = new Set();
    /** @type {number[]} */
    this.order = [];
    this.focus = 0;
    this.whose = -1; // the word whose line is shown; -1 for whole maps
  }

  draw() {
    const { get, shape: [, , queries, keys], total } = this.ctx;
    const score = get("scores")[get("order")];
    const ready = score && score.values ? score : undefined;
    this.order = sorted(ready, total);
    const columns = this.columns();
    this.grid.style.setProperty("--columns", String(columns));
    this.grid.classList.toggle("mha-heads-strips", this.whose >= 0);
    this.grid.style.setProperty("--thumb", `${Math.max(38, Math.min(120, 450 / Math.ceil(total / columns) - 22))}px`);
    this.grid.style.setProperty("--ratio", String(Math.min(2, Math.max(0.4, keys / Math.max(queries, 1)))));
    this.grid.replaceChildren(...this.order.map((head, i) => this.thumbnail(head, i, ready)));
    this.picked = new Set([...this.picked].filter((head) => head < total));
    this.mark();
  }

  /** A sorted list may wrap where the page is narrow; blocks stay rows. */
  columns() {
    const { get, shape: [blocks, count] } = this.ctx;
    if (get("order") < 0 && blocks > 1) return count;
    return Math.max(1, Math.min(count, blocks > 1 ? 12 : 8, Math.floor((this.grid.clientWidth || 700) / 54)));
  }

  /** @param {number} head @param {number} i @param {any} score */
  thumbnail(head, i, score) {
    const { ctx, weights } = this;
    const { text } = ctx;
    const value = score && score.values[head] !== null ? score.values[head].toFixed(2) : text.none;
    const label = score ? fill(text.thumbnail_score, { name: ctx.name(head), score: score.name, value }) : fill(text.thumbnail, { name: ctx.name(head) });
    const first = score && i === 0;
    return make("button", { type: "button", class: `mha-heads-thumb${first ? " mha-heads-first" : ""}`, "data-head": head,
      "aria-label": first ? `${label}, ${text.best}` : label, style: ctx.style(head),
      onkeydown: (/** @type {KeyboardEvent} */ e) => this.onkeydown(e),
      onkeyup: (/** @type {KeyboardEvent} */ e) => e.key === " " && e.preventDefault(),
      onclick: (/** @type {MouseEvent} */ e) => this.onclick(e, i),
      onpointermove: (/** @type {PointerEvent} */ e) => readOut(ctx, weights, head, this.whose, e) },
      make("span", { class: "mha-heads-name" }, `${first ? "★ " : ""}${ctx.name(head)}`),
      ...(score ? [make("span", { class: "mha-heads-name" }, value)] : []), this.picture(head));
  }

  /** @param {number} head */
  picture(head) {
    const { get, text, inks: ink } = this.ctx;
    if (this.whose >= 0) {
      const row = this.weights.line(head, this.whose);
      return row ? paint({ cells: row, rows: 1, columns: row.length }, ink.thousandths) : make("span", {}, get("offline") ? text.absent : text.loading);
    }
    const [rows, columns] = get("small_shape");
    if (!rows) return paint(/** @type {Picture} */ (this.weights.picture(head, THUMB)), ink.thousandths);
    const all = new Uint8Array(get("small").buffer, get("small").byteOffset, get("small").byteLength);
    return paint({ cells: all.subarray(head * rows * columns, (head + 1) * rows * columns), rows, columns }, ink.shades);
  }

  openPicked() {
    show(this.ctx, [...this.picked].sort((a, b) => a - b));
  }

  /** @param {number} head */
  pick(head) {
    if (!this.picked.delete(head)) this.picked.add(head);
    this.mark();
  }

  mark() {
    this.buttons().forEach((button, i) => {
      button.setAttribute("aria-pressed", String(this.picked.has(this.order[i])));
      button.tabIndex = i === this.focus ? 0 : -1;
    });
    this.opener.hidden = this.picked.size === 0;
    this.opener.textContent = fill(this.ctx.text.open, { count: this.picked.size });
  }

  /** @returns {HTMLButtonElement[]} */
  buttons() {
    return [...this.grid.querySelectorAll("button")];
  }

  /** @param {KeyboardEvent} event */
  onkeydown(event) {
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    const head = this.order[this.focus];
    if (event.key === " ") this.pick(head);
    else if (event.key === "Enter" && this.picked.has(head)) this.openPicked();
    else if (event.key === "Enter") show(this.ctx, [head]);
    else {
      const to = step(event.key, this.focus, this.ctx.total, this.columns());
      if (to === this.focus && !event.key.startsWith("Arrow")) return;
      this.focus = to;
      this.mark();
      this.buttons()[to].focus();
    }
    event.preventDefault();
  }

  /** @param {MouseEvent} event @param {number} i */
  onclick(event, i) {
    this.focus = i;
    if (event.ctrlKey || event.metaKey) this.pick(this.order[i]);
    else if (event.detail) show(this.ctx, [this.order[i]]); // 0: a key pressed it, which onkeydown has done
  }
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

/** @typedef {{top: number, bottom: number, first: number, end: number}} Sight rows and columns of a map */

/** The rows and columns of a map that are in sight; of a small one all.
 * @param {HTMLElement} frame @param {Picture} picture @param {number} cell @returns {Sight} */
function inSight(frame, { rows, columns }, cell) {
  if (cell < 1 || rows * columns <= 4096) return { top: 0, bottom: rows, first: 0, end: columns };
  const [top, high] = [Math.floor(frame.scrollTop / cell), Math.ceil(frame.clientHeight / cell) + 1];
  const [first, wide] = [Math.floor(frame.scrollLeft / cell), Math.ceil(frame.clientWidth / cell) + 1];
  return { top: Math.max(0, top - 1), bottom: Math.min(rows, top + high), first: Math.max(0, first - 1), end: Math.min(columns, first + wide) };
}

/** Hatching on what is masked, and crosses on what is no number.
 * @param {Picture} picture @param {number[]} cell wide and high @param {Sight} sight @param {string} id of the hatching */
function signsOf({ cells, columns }, [wide, high], { top, bottom, first, end }, id) {
  let [hatch, cross] = ["", ""];
  for (let q = top; q < bottom; q += 1) {
    const row = cells.subarray(q * columns + first, q * columns + end);
    for (const [start, length] of maskedRuns(row)) hatch += `M${(first + start) * wide} ${q * high}h${length * wide}v${high}h${-length * wide}z`;
    row.forEach((value, i) => {
      if (value === NAN) cross += `M${(first + i + 0.25) * wide} ${(q + 0.25) * high}l${wide / 2} ${high / 2}m0 ${-high / 2}l${-wide / 2} ${high / 2}`;
    });
  }
  return [make("path", { d: hatch, fill: `url(#${id})` }), make("path", { d: cross, stroke: "#000", "stroke-width": wide > 16 ? 2 : 1 })];
}

/** Lines between large cells, and the number of each where there is room.
 * @param {Context} ctx @param {Picture} picture @param {number} cell @param {Sight} sight */
function numbersOf({ get, text }, { cells, columns }, cell, { top, bottom, first, end }) {
  let grid = "";
  for (let q = top + 1; q < bottom; q += 1) grid += `M${first * cell} ${q * cell}H${end * cell}`;
  for (let k = first + 1; k < end; k += 1) grid += `M${k * cell} ${top * cell}V${bottom * cell}`;
  const figures = [];
  for (let q = top; cell >= NUMBERED && q < bottom; q += 1)
    for (let k = first; k < end; k += 1) {
      const value = cells[q * columns + k];
      if (value < MASKED) figures.push(make("text", { x: (k + 0.5) * cell, y: (q + 0.5) * cell + 4, "text-anchor": "middle",
        class: "mha-heads-number", fill: value * 256 >= get("dark_from") * 1000 ? "#fff" : "#000" }, number(value, text)));
    }
  return [make("path", { d: grid, class: "mha-heads-lattice" }), ...figures];
}

/** A bar at the end of each row that sums to something else than 1.
 * @param {Context} ctx @param {number} head @param {number} cell */
function wrongSums(ctx, head, cell) {
  let d = "";
  for (let q = 0; q < ctx.shape[2]; q += 1)
    if (ctx.off(head, q)) d += `M${ctx.shape[3] * cell - 3} ${q * cell + 1}v${Math.max(1, cell - 2)}`;
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

/** @typedef {{point: (index: number) => void, hold: (index: number) => void}} Pointing what a pointer at a word does */
/** @typedef {{frame: HTMLElement, picture: Picture | undefined, marks: any}} Framed a head's map in the frame that it scrolls in */

class Heatmaps {
  /** @param {Context} ctx @param {Store} weights @param {Pointing} pointing */
  constructor(ctx, weights, pointing) {
    this.ctx = ctx;
    this.weights = weights;
    this.pointing = pointing;
    this.id = `mha-heads-${Math.random().toString(36).slice(2)}`;
    this.el = make("div", { class: "mha-heads-maps" });
    this.zoom = 0;
    this.page = 900;
    this.cell = NUMBERED;
    this.most = 0;
    /** @type {Framed[]} */
    this.frames = [];
  }

  /** Choose the size of a cell; say how many rows and columns the page can show of a map, 0 for all.
   * Below a pixel a cell the largest of its neighbours is drawn, so that no thin line is lost. */
  fit() {
    const { shape: [, , queries, keys] } = this.ctx;
    this.zoom = Math.min(this.zoom, this.sizes().length - 1);
    this.cell = this.sizes()[this.zoom];
    this.most = this.cell < 1 ? Math.round(Math.max(queries, keys) * this.cell) : 0;
    return this.most;
  }

  draw() {
    this.fit();
    this.frames = [];
    this.el.replaceChildren(...this.ctx.get("shown").map((/** @type {number} */ head) => this.figure(head)));
    this.frames.forEach((one) => this.drawMarks(one));
  }

  left() {
    return 8 + Math.max(0, ...this.ctx.words.query.map((/** @type {string} */ word) => wordWidth(shorten(word))));
  }

  labelled() {
    return this.ctx.get("shown").length <= 4 || this.zoom > 0;
  }

  sizes() {
    const { get, shape: [, , queries, keys] } = this.ctx;
    const room = this.page - (this.labelled() ? this.left() : 2) - 24;
    return zooms(cellSize(get("shown").length, queries, keys, Math.max(90, room)));
  }

  canZoom() {
    return [this.zoom > 0, this.zoom < this.sizes().length - 1];
  }

  /** Say whether another width of the page changes the cells. @param {number} width */
  resize(width) {
    this.page = width;
    return this.sizes()[Math.min(this.zoom, this.sizes().length - 1)] !== this.cell;
  }

  /** @param {number} head */
  figure(head) {
    const { ctx, cell } = this;
    const name = fill(ctx.text.head, { name: ctx.name(head) });
    const picture = this.weights.picture(head, this.most);
    const { body: drawn, marks } = this.bodyOf(head, picture);
    const names = this.labelled() ? [namesOf(ctx, "query", cell, this.left()), drawn, make("span"), namesOf(ctx, "key", cell, this.left())] : [drawn];
    const zoomed = { class: "mha-heads-frame mha-heads-zoomed", tabindex: "0", role: "group", "aria-label": name };
    const frame = make("div", this.zoom ? zoomed : { class: "mha-heads-frame" }, make("div", { class: "mha-heads-body-grid" }, ...names));
    frame.addEventListener("scroll", () => this.scrollTo(frame));
    this.frames.push({ frame, picture, marks });
    return make("figure", { style: ctx.style(head) }, make("figcaption", {}, name), frame);
  }

  /** Let every map show what one of them was scrolled to. @param {HTMLElement} frame */
  scrollTo(frame) {
    for (const other of this.frames) {
      other.frame.scrollLeft = frame.scrollLeft;
      other.frame.scrollTop = frame.scrollTop;
      this.drawMarks(other);
    }
  }

  /** What stands on the colours. @param {Framed} framed */
  drawMarks({ frame, picture, marks }) {
    const { ctx, cell } = this;
    if (!picture) return;
    const sight = inSight(frame, picture, cell);
    const place = [ctx.shape[3] * cell / picture.columns, ctx.shape[2] * cell / picture.rows];
    // Most maps of a long text have nothing masked and no NaN: they are not looked through.
    marks.replaceChildren(...(ctx.get("marks").length ? signsOf(picture, place, sight, this.id) : []),
      ...(cell >= 16 ? numbersOf(ctx, picture, cell, sight) : []));
  }

  /** @param {number} head @param {Picture | undefined} picture */
  bodyOf(head, picture) {
    const { ctx, cell } = this;
    const { get, text } = ctx;
    const marks = make("g");
    const svg = this.surface(head);
    if (!picture) {
      svg.append(make("text", { x: 8, y: 24 }, get("offline") ? text.absent : text.loading));
      return { body: make("div", { class: "mha-heads-map" }, svg), marks };
    }
    svg.append(marks, wrongSums(ctx, head, cell), ...this.wordFrame());
    return { body: make("div", { class: "mha-heads-map" }, this.colours(picture), svg), marks };
  }

  /** What lies over a map's colours, and is pointed at. @param {number} head */
  surface(head) {
    const { ctx, cell, id } = this;
    const { text, shape: [, , queries, keys] } = ctx;
    const [width, height] = [keys * cell + 6, queries * cell + 6];
    const { point, hold } = this.pointing;
    return make("svg", { width, height, viewBox: `-3 -3 ${width} ${height}`, role: "img",
      "aria-label": fill(text.map, { name: ctx.name(head), size: text.size }),
      onpointermove: (/** @type {PointerEvent} */ e) => this.at(e, point), onpointerup: (/** @type {PointerEvent} */ e) => this.at(e, hold) },
      make("defs", {}, make("pattern", { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        make("rect", { width: 2, height: 6, class: "mha-heads-ink" }))));
  }

  /** Do something with the word that is pointed at. @param {PointerEvent} event @param {(index: number) => void} act */
  at(event, act) {
    const { get, shape: [, , queries, keys] } = this.ctx;
    const box = /** @type {Element} */ (event.currentTarget).getBoundingClientRect();
    const query = get("side") === "query";
    const i = Math.floor((query ? event.clientY - box.top - 3 : event.clientX - box.left - 3) / this.cell);
    if (i >= 0 && i < (query ? queries : keys)) act(i);
  }

  /** @param {Picture} picture */
  colours(picture) {
    const { ctx: { inks: ink, shape: [, , queries, keys] }, cell } = this;
    const canvas = paint(picture, ink.thousandths);
    canvas.setAttribute("style", `width:${keys * cell}px;height:${queries * cell}px`);
    return canvas;
  }

  /** Pixels by which the frame of a word stands out: a small row would vanish under its own frame. */
  out() {
    return this.cell < 10 ? 2 : 0;
  }

  wordFrame() {
    const pens = this.out() ? { outer: 3, inner: 1.2 } : { outer: 5, inner: 2.5 };
    return Object.entries(pens).map(([name, pen]) => make("rect", { class: `mha-heads-${name}`, "stroke-width": pen, rx: 2 }));
  }

  /** Move the frame to the chosen word, and the word into sight. @param {boolean} follow */
  frame(follow) {
    const { get, shape: [, , queries, keys] } = this.ctx;
    const query = get("side") === "query";
    const at = get(get("side")) * this.cell;
    const out = this.out();
    const [length, thick] = [(query ? keys : queries) * this.cell + 2 * out, this.cell + 2 * out];
    const place = query ? { x: -out, y: at - out, width: length, height: thick } : { x: at - out, y: -out, width: thick, height: length };
    for (const rect of this.el.querySelectorAll(".mha-heads-outer, .mha-heads-inner"))
      for (const [name, value] of Object.entries(place)) rect.setAttribute(name, String(value));
    if (follow && this.zoom) for (const { frame } of this.frames) {
      if (query) frame.scrollTop = at - frame.clientHeight / 3;
      else frame.scrollLeft = at - frame.clientWidth / 3;
    }
  }
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

class Look {
  /** @param {Context} ctx @param {Store} weights @param {Pointing} pointing */
  constructor(ctx, weights, pointing) {
    this.ctx = ctx;
    this.weights = weights;
    this.pointing = pointing;
    this.id = `mha-heads-${Math.random().toString(36).slice(2)}`;
    this.list = make("div", { class: "mha-heads-queries", role: "radiogroup" });
    this.lines = make("svg", { class: "mha-heads-lines", "aria-hidden": "true" });
    this.table = make("table");
    this.el = make("div", { class: "mha-heads-look", tabindex: "0", role: "group", "aria-label": ctx.text.numbers }, this.list, this.lines, this.table);
    /** @type {HTMLInputElement[]} */
    this.radios = [];
    /** @type {HTMLElement[][]} */
    this.cells = []; // a list a head: a cell a word, and the sum
    /** @type {HTMLElement[]} */
    this.tops = []; // the heads' names above their columns
    this.made = ""; // what list and table were made for
    this.seen = { top: 0, high: 440, page: 900 }; // pixels: what is in sight, read before anything changes
    this.later = 0;
    /** @type {Array<Numbers | undefined>} */
    this.rows = []; // the chosen word's line of each shown head
    this.el.addEventListener("scroll", () => { this.measure(); this.drawInSight(); });
  }

  side() {
    return /** @type {"query" | "key"} */ (this.ctx.get("side"));
  }

  /** The words to choose from. @returns {string[]} */
  chosen() {
    return this.ctx.words[this.side()];
  }

  /** The words whose weights are shown. @returns {string[]} */
  others() {
    return this.ctx.words[this.side() === "query" ? "key" : "query"];
  }

  /** Read where the list stands; after a change that would lay the whole page out. */
  measure() {
    const { el } = this;
    this.seen = { top: el.scrollTop, high: el.clientHeight || 440, page: el.closest(".mha-heads")?.clientWidth || 900 };
  }

  /** Make list and table; another block has the same words and colours, so only its heads' names change. */
  arrange() {
    const { get, shape } = this.ctx;
    const shown = get("shown");
    const made = JSON.stringify([this.side(), get("measure"), shown.map((/** @type {number} */ head) => head % shape[1])]);
    if (made !== this.made) {
      this.made = made;
      this.makeList();
      this.makeTable(shown);
    }
    this.tops.forEach((top, n) => { top.textContent = this.ctx.name(shown[n]); });
  }

  makeList() {
    const { ctx, pointing } = this;
    const side = this.side();
    const name = side === "query" ? ctx.text.queries : ctx.text.keys;
    this.radios = this.chosen().map((_, i) => make("input", { type: "radio", name: this.id, value: i, onchange: () => ctx.put({ [side]: i }) }));
    this.list.setAttribute("aria-label", name);
    this.list.replaceChildren(make("div", { class: "mha-heads-top", "aria-hidden": "true" }, name),
      ...this.chosen().map((word, i) => make("label", { title: word, onpointerenter: () => pointing.point(i), onpointerup: () => pointing.hold(i) },
        this.radios[i], make("span", { dir: "auto" }, word))));
  }

  /** @param {number[]} shown */
  makeTable(shown) {
    const { ctx } = this;
    const { text } = ctx;
    const count = this.others().length;
    this.cells = shown.map((head) => Array.from({ length: count + 1 }, () => make("td", { style: ctx.style(head) })));
    this.tops = shown.map(() => make("span"));
    const across = (/** @type {number} */ i) => this.cells.map((column) => column[i]);
    const foot = make("tfoot", {}, make("tr", {}, make("th", { scope: "row" }, text.sum), ...across(count)));
    this.table.replaceChildren(make("caption"),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, this.side() === "query" ? text.keys : text.queries), ...shown.map((head, n) =>
        make("th", { scope: "col", style: ctx.style(head) }, this.tops[n])))),
      make("tbody", {}, ...this.others().map((word, i) =>
        make("tr", {}, make("th", { scope: "row", title: word, dir: "auto" }, word), ...across(i)))),
      ...(ctx.get("measure") === "weights" ? [foot] : []));
  }

  /** Show the chosen word, and say what the heads do with it. @param {boolean} follow */
  draw(follow) {
    const { ctx, el, lines, seen } = this;
    const { get, words } = ctx;
    const index = get(this.side());
    if (!this.chosen().length) return "";
    const shown = get("shown");
    const rows = shown.map((/** @type {number} */ head) => this.weights.line(head, index));
    this.radios.forEach((radio, i) => { radio.checked = i === index; });
    // Pixels between the words: for the lines, and for the letters at their ends.
    const wide = (seen.page < 480 ? 46 : 76) + lettersWide(shown.length);
    lines.setAttribute("width", String(wide));
    lines.setAttribute("height", String((Math.max(words.query.length, words.key.length) + 1) * ROW));
    lines.replaceChildren(...linesOf(ctx, shown, rows, index, wide));
    this.drawNumbers(shown, rows, index);
    const place = (index + 1.5) * ROW - seen.top; // show it in a long list, too
    if (follow && (place < 2 * ROW || place > seen.high - ROW)) el.scrollTop = seen.top + place - seen.high / 2;
    return say(ctx, shown, rows, index);
  }

  /** The numbers in sight at once, those of a long text that are not when the page has time.
   * @param {number[]} shown @param {Array<Numbers | undefined>} rows @param {number} index */
  drawNumbers(shown, rows, index) {
    const { text } = this.ctx;
    this.table.caption.textContent = fill(this.side() === "query" ? text.caption_query : text.caption_key, { word: this.chosen()[index] });
    const count = this.others().length;
    this.rows = rows;
    clearTimeout(this.later);
    this.drawInSight();
    shown.forEach((head, n) => this.drawSum(this.cells[n][count], head, index));
    /** @param {number} at */
    const drawRest = (at) => {
      this.drawRows(rows, at, Math.min(count, at + 64));
      if (at + 64 < count) this.later = setTimeout(drawRest, 0, at + 64);
      else if (rows.every(Boolean) || this.ctx.get("offline")) this.table.removeAttribute("aria-busy");
    };
    this.table.setAttribute("aria-busy", "true");
    if (count <= 64) drawRest(0);
    else this.later = setTimeout(drawRest, 100, 0);
  }

  drawInSight() {
    const [first, end] = [Math.floor(this.seen.top / ROW), Math.ceil((this.seen.top + this.seen.high) / ROW)];
    this.drawRows(this.rows, Math.max(0, first - 1), Math.min(this.others().length, end));
  }

  /** @param {Array<Numbers | undefined>} rows @param {number} first @param {number} end */
  drawRows(rows, first, end) {
    const { text } = this.ctx;
    rows.forEach((row, n) => {
      for (let i = first; i < end; i += 1) {
        const [cell, value] = [this.cells[n][i], row ? row[i] : MASKED];
        const told = row ? number(value, text) : text.loading;
        if (cell.textContent === told) continue; // most cells of a long text are the same 0.000
        cell.textContent = told;
        cell.className = row && value === MASKED ? "mha-heads-hatch" : "";
        cell.style.backgroundSize = `${value < MASKED ? Math.min(100, value / 10) : 0}% 4px`;
      }
    });
  }

  /** @param {HTMLElement} cell @param {number} head @param {number} index */
  drawSum(cell, head, index) {
    const { ctx } = this;
    const query = this.side() === "query";
    const sum = ctx.sums[this.side()][head * this.chosen().length + index];
    const off = query && ctx.off(head, index);
    const shown = query || sum === NAN ? number(sum === MASKED ? 0 : sum, ctx.text) : `${Math.floor(sum / 100)}.${String(sum % 100).padStart(2, "0")}`;
    cell.textContent = off ? `${shown} ${ctx.text.off}` : shown;
    cell.classList.toggle("mha-heads-wrong", Boolean(off));
  }
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

/** The menus above the picture. */
class Controls {
  /** @param {Context} ctx @param {Overview} thumbs @param {Heatmaps} maps @param {() => void} redraw */
  constructor(ctx, thumbs, maps, redraw) {
    const { text, shape } = ctx;
    this.ctx = ctx;
    this.thumbs = thumbs;
    this.maps = maps;
    this.listed = ""; // the side whose words the menu of lines has
    this.all = make("button", { type: "button", class: "mha-heads-all", onclick: () => ctx.put({ view: "all" }) }, text.all_heads);
    this.block = menu(text.block, Array.from({ length: shape[0] }, (_, i) => [i, String(i + 1)]), (value) =>
      ctx.put({ layer: Number(value), shown: headsOf(Number(value), shape) }));
    this.order = menu(text.order, [[-1, text.as_made], ...ctx.get("scores").map((/** @type {any} */ score, /** @type {number} */ i) => [i, score.name])],
      (value) => ctx.put({ order: Number(value) }));
    this.side = menu(text.way, [["query", text.from_query], ["key", text.from_key]], (value) => ctx.put({ side: value }));
    this.measure = menu(text.measure, [["weights", text.weights], ["moved", text.moved]], (value) => ctx.put({ measure: value }));
    this.lines = menu(text.thumbs, [], (value) => { thumbs.whose = Number(value); redraw(); });
    const zoomBy = (/** @type {number} */ by) => () => { maps.zoom += by; redraw(); };
    this.out = make("button", { type: "button", "aria-label": text.zoom_out, title: text.zoom_out, onclick: zoomBy(-1) }, "−");
    this.into = make("button", { type: "button", "aria-label": text.zoom_in, title: text.zoom_in, onclick: zoomBy(1) }, "+");
    this.zoom = make("span", { class: "mha-heads-zoom" }, this.out, this.into);
    this.heads = picker(ctx);
    this.el = make("div", { class: "mha-heads-controls" }, this.all, this.block.label, this.heads.el, this.order.label, this.lines.label,
      this.side.label, this.measure.label, this.zoom);
  }

  draw() {
    const { get, total, shape } = this.ctx;
    const over = get("view") === "all";
    this.listLines();
    this.all.hidden = over || total <= FEW;
    this.block.label.hidden = over || shape[0] < 2;
    this.heads.el.hidden = over;
    this.order.label.hidden = this.lines.label.hidden = !over;
    this.measure.label.hidden = !get("longest");
    this.block.select.value = String(get("layer"));
    this.order.select.value = String(get("order"));
    this.side.select.value = get("side");
    this.measure.select.value = get("measure");
    this.lines.select.value = String(this.thumbs.whose);
    this.heads.draw();
    const [less, more] = over ? [false, false] : this.maps.canZoom();
    this.zoom.hidden = !less && !more;
    this.out.disabled = !less;
    this.into.disabled = !more;
  }

  listLines() {
    const { get, text, words } = this.ctx;
    const side = /** @type {"query" | "key"} */ (get("side"));
    if (this.listed === side) return;
    this.listed = side;
    const form = side === "query" ? text.row_of : text.column_of;
    const labels = [text.whole, ...words[side].map((/** @type {string} */ word) => fill(form, { word }))];
    this.lines.select.replaceChildren(...labels.map((label, i) => make("option", { value: i - 1 }, label)));
  }
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

/** The page for the sentence that the traits hold. */
class Page {
  /** @param {Model} model @param {HTMLElement} el @param {string} typed @param {boolean} typing */
  constructor(model, el, typed, typing) {
    const ctx = context(model);
    this.ctx = ctx;
    this.weights = new Store(ctx, model);
    this.held = false; // the chosen word stays, wherever the pointer is
    const pointing = { point: (/** @type {number} */ i) => this.point(i), hold: (/** @type {number} */ i) => this.hold(i) };
    this.thumbs = new Overview(ctx, this.weights);
    this.maps = new Heatmaps(ctx, this.weights, pointing);
    this.words = new Look(ctx, this.weights, pointing);
    this.controls = new Controls(ctx, this.thumbs, this.maps, () => this.draw());
    this.own = ownSentence(ctx, typed);
    this.key = scale(ctx, everyHead(ctx).some((head) => offAnywhere(ctx, head)));
    this.status = make("p", { class: "mha-heads-status", "aria-live": "polite" });
    this.hint = make("p", { class: "mha-heads-hint" });
    this.trouble = make("p", { class: "mha-heads-trouble", role: "alert" });
    this.body = make("div", { class: "mha-heads-body" }, this.maps.el, this.words.el);
    this.root = make("div", { class: "mha-theme mha-heads", tabindex: "-1" }, this.own.el, this.trouble, this.controls.el, this.key.el,
      this.thumbs.el, this.body, this.status, this.hint);
    el.replaceChildren(this.root);
    this.maps.resize(this.root.clientWidth || 900);
    this.due = false; // whether the page is drawn anew when all that changes together has changed
    this.stopped = false;
    this.stops = [leaveKeys(this.root), ...this.follow(model), this.followWidth()];
    this.draw();
    this.tell();
    if (typing) this.own.box.focus();
  }

  /** @param {Model} model */
  follow(model) {
    const draw = () => this.drawSoon();
    const word = () => this.drawWord();
    const receive = () => this.receive();
    return listen(model, { answer: receive, trouble: () => this.tell(), query: word, key: word,
      view: draw, layer: draw, shown: draw, side: draw, measure: draw, order: draw, scores: draw, small: draw });
  }

  followWidth() {
    const watch = new ResizeObserver(([entry]) => {
      if (entry.contentRect.width && this.maps.resize(entry.contentRect.width) && this.ctx.get("view") === "some") this.draw();
    });
    watch.observe(this.root);
    return () => watch.disconnect();
  }

  /** @param {number} i */
  point(i) {
    if (!this.held) this.ctx.put({ [this.ctx.get("side")]: i });
  }

  /** @param {number} i */
  hold(i) {
    const { get, put, text } = this.ctx;
    this.held = !(this.held && get(get("side")) === i);
    put({ [get("side")]: i });
    this.hint.textContent = this.held ? text.hint_held : text.hint;
  }

  /** Draw once, however many traits change together: a click sets two or three. */
  drawSoon() {
    if (this.due) return;
    this.due = true;
    queueMicrotask(() => { if (!this.stopped) this.draw(); });
  }

  receive() {
    const { heads } = this.ctx.get("answer");
    this.weights.receive();
    if (this.ctx.get("view") === "some" && heads && !heads.length) this.drawWord(); // a line and no map
    else this.drawSoon();
  }

  /** Ask the kernel for what is to be shown and is not here. */
  ask() {
    const { get } = this.ctx;
    if (get("view") === "all") this.weights.need([], 0, this.thumbs.whose);
    else this.weights.need(get("shown"), this.maps.fit(), this.ctx.words[/** @type {"query" | "key"} */ (get("side"))].length ? get(get("side")) : -1);
  }

  draw() {
    const { get, text } = this.ctx;
    const over = get("view") === "all";
    this.due = false;
    this.ask(); // the kernel works while the page draws
    this.words.measure();
    this.thumbs.el.hidden = !over;
    this.body.hidden = over;
    this.hint.textContent = over ? text.hint_overview : this.held ? text.hint_held : text.hint;
    if (over) {
      this.thumbs.draw();
      this.status.textContent = "";
    } else {
      this.maps.draw();
      this.words.arrange();
    }
    this.controls.draw();
    this.key.draw();
    this.putWord();
  }

  drawWord() {
    if (this.due) return; // all will be drawn
    this.ask();
    this.words.measure();
    this.putWord();
  }

  putWord() {
    if (this.ctx.get("view") !== "some") return;
    const inside = this.root.querySelector(".mha-heads-maps:hover") !== null;
    this.maps.frame(!inside);
    this.status.textContent = this.words.draw(inside || !this.root.querySelector(".mha-heads-queries:hover"));
  }

  tell() {
    this.trouble.textContent = this.ctx.get("trouble");
    if (this.ctx.get("trouble")) this.own.done();
  }

  stop() {
    this.stopped = true;
    clearTimeout(this.words.later);
    this.stops.forEach((stop) => stop());
  }
}

/** Whether a row of a head sums to something else than 1, though it may see a key.
 * @param {Model} model */
function offOf(model) {
  const queries = model.get("shape")[2];
  const sums = numbers(model.get("row_sums")); // MASKED where a row may see nothing
  const slack = model.get("slack");
  return (/** @type {number} */ head, /** @type {number} */ query) => {
    const sum = sums[head * queries + query];
    return model.get("measure") === "weights" && sum !== NAN && sum !== MASKED && Math.abs(sum - 1000) > slack;
  };
}

/** @param {Context} ctx @param {number} head */
function offAnywhere(ctx, head) {
  for (let query = 0; query < ctx.shape[2]; query += 1) if (ctx.off(head, query)) return true;
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
  let page = new Page(model, el, "", false);
  const again = () => {
    const { box } = page.own;
    const typing = document.activeElement === box;
    page.stop();
    page = new Page(model, el, box.value, typing);
  };
  model.on("change:version", again);
  return () => {
    page.stop();
    model.off("change:version", again);
  };
}

export default { render };
