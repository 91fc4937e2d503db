// @ts-check
// TensorMoves: draws what Python recorded. A cell's place is read off its index, digit by
// digit, from the layout that came with the recording; no operation's rule is known here.

/** @typedef {[number, number]} Slice  where numbers stand in the blob: the first, and how many */
/** @typedef {[string, number]} Part  a piece of a label and the tone of its axis */
/** @typedef {[number, number, number, Part[]]} Label  x, y, width, parts */
/** @typedef {[[number, number], [number, number, number][][]]} Piece  where its first cell is; each axis' digits: size, dx, dy */
/** @typedef {{size: [number, number], pieces: Piece[], blocks: Label[], rows: Label[], brackets: Label[]}} Layout */
/** @typedef {{shape: number[], stride: number[], offset: number, start: number, contiguous: boolean,
 *    axes: Part[][], ids: Int32Array, texts: Int32Array | null}} Step */
/** @typedef {{name: string, operation: string, within: string, sentence: string, tape: string, copied: boolean,
 *    steps: Step[], memory: Int32Array, memoryTexts: Int32Array | null, layouts: Layout[]}} Frame */
/** @typedef {{id: number, key: string, x: number, y: number, text: number, order: number, piece: number,
 *    flat: number, index: number[]}} Cell */
/** @typedef {{cell: Cell, x: number, y: number, fresh: boolean, wait: number}} Move */
/** @typedef {{moves: Move[], leaving: Cell[], lasts: number}} Plan */

const SECONDS = { slow: 2.6, normal: 1.3, fast: 0.6 }; // that a step travels
const REST = 0.9; // of a travel, between steps while playing
const SPREAD = 0.5; // of a travel, until the last group of cells sets off
const READ_CELL = 0.09; // seconds the reading head takes to the next cell
const READ_MOST = 10; // seconds it takes at most, however many cells there are
const JUMP = 6; // cells' time that a jump takes, so that an eye can follow
const AIRY = 3; // pixels that a cell of the tape may be wider than it must
const MOST_ARCS = 200;
const SMALLEST = 0.65; // that the wide layout is zoomed to before the narrow one is taken
const SVG = "http://www.w3.org/2000/svg";
const SUPPRESS = "data-lm-suppress-shortcuts"; // JupyterLab leaves keys to what is inside

// ---- geometry and time, free of the page (tests import these) ----

/**
 * The index along each axis of the cell that is `flat`-th in reading order.
 * @param {number} flat @param {number[]} shape @returns {number[]}
 */
export function unravel(flat, shape) {
  const index = new Array(shape.length);
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    index[axis] = flat % shape[axis];
    flat = Math.floor(flat / shape[axis]);
  }
  return index;
}

/**
 * x and y of the cell at `index`: every digit of every index moves it by (dx, dy).
 * @param {Piece} piece @param {number[]} index @returns {[number, number]}
 */
export function place([[x, y], axes], index) {
  index.forEach((i, axis) => {
    for (let k = axes[axis].length - 1; k >= 0; k--) {
      const [size, dx, dy] = axes[axis][k], digit = k ? i % size : i;
      x += digit * dx;
      y += digit * dy;
      i = Math.floor(i / size);
    }
  });
  return [x, y];
}

/**
 * The addresses that the strides pass through on the way to `index`, the offset first.
 * @param {number[]} index @param {number[]} stride @param {number} offset @returns {number[]}
 */
export function walk(index, stride, offset) {
  const stops = [offset];
  index.forEach((i, axis) => stops.push(stops[axis] + i * stride[axis]));
  return stops;
}

/** Gives each cell a key; a number that stands several times gets several. */
function keys() {
  const seen = new Map();
  return (/** @type {number} */ id) => {
    const again = seen.get(id) || 0;
    seen.set(id, again + 1);
    return `${id}/${again}`;
  };
}

/**
 * All cells of a frame, in reading order.
 * @param {Frame} frame @param {Layout} layout @returns {Cell[]}
 */
export function cellsOf(frame, layout) {
  const cells = /** @type {Cell[]} */ ([]), key = keys();
  frame.steps.forEach((step, piece) => step.ids.forEach((id, flat) => {
    const index = unravel(flat, step.shape);
    const [x, y] = place(layout.pieces[piece], index);
    const text = step.texts ? step.texts[flat] : -1;
    cells.push({ id, key: key(id), x, y, text, order: cells.length, piece, flat, index });
  }));
  return cells;
}

/**
 * The memory in address order, `columns` to a row; a row has room `above` it for arrows.
 * @param {Int32Array} memory @param {Int32Array | null} texts @param {number} columns
 * @param {[number, number]} size @param {number} above @returns {Cell[]}
 */
export function tapeOf(memory, texts, columns, [width, height], above) {
  const key = keys();
  return Array.from(memory, (id, order) => ({
    id, key: key(id), order, text: texts ? texts[order] : -1, piece: 0, flat: order, index: [order],
    x: (order % columns) * width, y: Math.floor(order / columns) * (height + above) + above,
  }));
}

/**
 * How many tape cells stand in a row: a round number, so that addresses are easily read.
 * @param {number} available @param {number} width @returns {number}
 */
export function columnsFor(available, width) {
  const most = Math.max(1, Math.floor(available / width));
  return [400, 200, 100, 40, 30, 20, 10, 8, 5].find(few => few <= most) || most;
}

/**
 * The nearest cell in direction (dx, dy): straight ahead counts more than to the side.
 * @param {Cell[]} cells @param {{x: number, y: number}} from @param {number} dx @param {number} dy
 */
export function nearest(cells, from, dx, dy) {
  let best = null, least = Infinity;
  for (const cell of cells) {
    const ahead = (cell.x - from.x) * dx + (cell.y - from.y) * dy;
    const aside = Math.abs((cell.x - from.x) * dy) + Math.abs((cell.y - from.y) * dx);
    if (ahead > 0.5 && ahead + 4 * aside < least) [best, least] = [cell, ahead + 4 * aside];
  }
  return best;
}

/**
 * How the cells get from where they are to where they go. Cells that travel together set off
 * together, one group after another in reading order. A copy sets off from the first of its number.
 * @param {Map<string, Cell>} from @param {Cell[]} to @returns {Plan}
 */
export function plan(from, to) {
  const moves = to.map(cell => {
    const start = from.get(cell.key) ?? (cell.id < 0 ? undefined : from.get(`${cell.id}/0`));
    return { cell, x: start ? start.x : cell.x, y: start ? start.y : cell.y, fresh: !start, wait: 0 };
  });
  let groups = 0, along = 0, down = 0;
  for (const move of moves) {
    const dx = Math.round(move.cell.x - move.x), dy = Math.round(move.cell.y - move.y);
    if ((dx || dy) && (dx !== along || dy !== down)) groups++;
    move.wait = groups - 1;
    [along, down] = [dx, dy];
  }
  const spread = groups > 1 ? SPREAD : 0;
  for (const move of moves) move.wait = groups > 1 ? (Math.max(move.wait, 0) / (groups - 1)) * spread : 0;
  const arriving = new Set(to.map(cell => cell.key));
  return { moves, leaving: [...from.values()].filter(cell => !arriving.has(cell.key)), lasts: 1 - spread };
}

const within = (/** @type {number} */ t) => Math.min(1, Math.max(0, t));
const eased = (/** @type {number} */ t) => t * t * (3 - 2 * t);

/**
 * Where a cell is at time t of its step, from 0 to 1.
 * @param {Move} move @param {number} t @param {number} lasts @returns {[number, number]}
 */
export function during(move, t, lasts) {
  const part = eased(within((t - move.wait) / lasts));
  return [move.x + (move.cell.x - move.x) * part, move.y + (move.cell.y - move.y) * part];
}

/**
 * The addresses in reading order, and before which of them the reading head has to jump.
 * @param {Step[]} steps @returns {{addresses: number[], jumps: boolean[], count: number}}
 */
export function reading(steps) {
  const addresses = /** @type {number[]} */ ([]), jumps = /** @type {boolean[]} */ ([]);
  for (const step of steps) {
    step.ids.forEach((_, flat) => {
      const stops = walk(unravel(flat, step.shape), step.stride, step.offset + step.start);
      const address = stops[stops.length - 1];
      jumps.push(flat > 0 && address !== addresses[addresses.length - 1] + 1);
      addresses.push(address);
    });
  }
  return { addresses, jumps, count: jumps.filter(Boolean).length };
}

/**
 * The stretches above the tape's rows that an arrow runs along: row, from column, to column.
 * At the end of a row it leaves at the edge and goes on at the next row's other edge.
 * @param {number} from @param {number} to @param {number} columns @returns {[number, number, number][]}
 */
export function stretches(from, to, columns) {
  const [low, high] = from < to ? [from, to] : [to, from];
  const first = Math.floor(low / columns), last = Math.floor(high / columns);
  const rows = /** @type {[number, number, number][]} */ ([]);
  for (let row = first; row <= last; row++) {
    rows.push([row, row === first ? low % columns : -0.5, row === last ? high % columns : columns - 0.5]);
  }
  return from < to ? rows : rows.reverse().map(([row, a, b]) => [row, b, a]);
}

/**
 * Which of the names along the slider can be read together: the present step's first, then
 * the two ends, then from the left whatever touches none of these.
 * @param {[number, number][]} spans  where each name begins and ends @param {number} now @returns {Set<number>}
 */
export function namesWithRoom(spans, now) {
  const shown = new Set(), apart = 8;
  const free = (/** @type {number} */ k) => [...shown].every(
    other => spans[k][0] >= spans[other][1] + apart || spans[k][1] <= spans[other][0] - apart);
  for (const k of [now, 0, spans.length - 1, ...spans.keys()]) if (spans[k] && free(k)) shown.add(k);
  return shown;
}

/**
 * Name each column by its axis, so that an axis is found again where it has changed places.
 * @param {Part[][]} axes @returns {string[]}
 */
export function columnKeys(axes) {
  const seen = new Map();
  return axes.map(parts => {
    const name = JSON.stringify(parts);
    seen.set(name, (seen.get(name) || 0) + 1);
    return `${name}${seen.get(name)}`;
  });
}

/**
 * Cut the numbers that came from Python by the offsets that came with them.
 * @param {any} pictures @param {DataView} view @returns {any[]}
 */
export function decode(pictures, view) {
  const all = new Int32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  const cut = (/** @type {Slice | null} */ slice) => slice && all.subarray(slice[0], slice[0] + slice[1]);
  const lanes = pictures.lanes.map(lane => ({
    ...lane,
    colours: cut(lane.colours),
    corners: cut(lane.corners),
    ticks: cut(lane.ticks),
    wrong: null,
    frames: lane.frames.map(frame => ({
      ...frame,
      memory: cut(frame.memory),
      memoryTexts: cut(frame.memoryTexts),
      steps: frame.steps.map(step => ({ ...step, ids: cut(step.ids), texts: cut(step.texts) })),
    })),
  }));
  if (pictures.compare) {
    lanes[1].wrong = cut(pictures.compare.wrong);
    lanes[1].belongs = cut(pictures.compare.belongs);
  }
  return lanes;
}

/** @param {string} pattern @param {Record<string, any>} values */
const fill = (pattern, values) => pattern.replace(/\{(\w+)\}/g, (_, name) => values[name]);

/** @returns {any} */
function make(tag, className = "", parent = null, text = undefined) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

/** Write the parts of a name, each in the tone of its axis. */
function writeParts(node, parts, between) {
  parts.forEach(([text, tone], i) => {
    if (i) make("span", "", node, between);
    make("span", `mha-tone${tone}`, node, text);
  });
}

// ---- arrows ----

class Arrows {
  constructor(box) {
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("class", "mha-way");
    this.svg.setAttribute("aria-hidden", "true");
    box.append(this.svg);
  }
  clear() {
    this.svg.replaceChildren();
  }
  add(tag, attributes) {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    this.svg.append(node);
    return node;
  }
  /** A path with a head at its end, which points along (dx, dy). */
  arrow(path, [x, y], [dx, dy], kind) {
    const far = Math.hypot(dx, dy) || 1, [u, v] = [dx / far, dy / far];
    this.add("path", { d: path, class: `mha-line ${kind}` });
    const corner = side => `${x - 7 * u - 4 * side * v} ${y - 7 * v + 4 * side * u}`;
    this.add("path", { d: `M${x} ${y}L${corner(1)}L${corner(-1)}Z`, class: `mha-arrowhead ${kind}` });
  }
  /** From cell to cell through the picture, bent a little so that it passes beside the numbers. */
  through([x, y], [u, v], kind) {
    const far = Math.hypot(u - x, v - y), bend = Math.min(16, far / 4);
    const [mx, my] = [(x + u) / 2, (y + v) / 2 - bend];
    this.arrow(`M${x} ${y}Q${mx} ${my} ${u} ${v}`, [u, v], [u - mx, v - my], kind);
  }
  /** Above the tape's numbers, from address to address; what it adds stands in it. */
  along(from, to, { columns, size: [width, height], above }, kind, text = "", lift = 6) {
    const rows = stretches(from, to, columns);
    const middle = (/** @type {number} */ column) => (column + 0.5) * width;
    let longest = rows[0];
    rows.forEach(stretch => {
      const [row, a, b] = stretch, floor = row * (height + above) + above - 1, top = floor - lift;
      const up = row === rows[0][0] ? `M${middle(a)} ${floor}V${top}` : `M${middle(a)} ${top}`;
      if (row !== rows[rows.length - 1][0]) this.add("path", { d: `${up}H${middle(b)}`, class: `mha-line ${kind}` });
      else this.arrow(`${up}H${middle(b)}V${floor - 4}`, [middle(b), floor], [0, 1], kind);
      if (Math.abs(b - a) > Math.abs(longest[2] - longest[1])) longest = stretch;
    });
    const [row, a, b] = longest, y = row * (height + above) + above - 1 - lift;
    if (text) {
      const x = Math.min(Math.max((middle(a) + middle(b)) / 2, 14), columns * width - 14);
      this.add("text", { x, y: y + 4, class: `mha-added ${kind}` }).textContent = text;
    }
  }
}

// ---- two ways to draw a set of cells: an element each, or paint ----

class Elements {
  plan = /** @type {any} */ (null);
  constructor(box) {
    this.box = box;
    this.nodes = /** @type {Map<string, any>} */ (new Map());
    this.cells = new WeakMap();
  }
  show(plan, look) {
    const kept = new Map();
    for (const cell of [...plan.moves.map(move => move.cell), ...plan.leaving]) {
      const node = this.nodes.get(cell.key) ?? this.born(cell, look(cell));
      const { text } = look(cell);
      if (node.textContent !== text) node.textContent = text;
      node.classList.toggle("mha-small", text.length > 3);
      this.cells.set(node, cell);
      this.nodes.delete(cell.key);
      kept.set(cell.key, node);
    }
    for (const node of this.nodes.values()) node.remove();
    [this.nodes, this.plan] = [kept, plan];
  }
  born(cell, { address, origin, background, ink, corner, ticks }) {
    const node = make("div", `mha-cell mha-corner${corner} mha-ticks${ticks}`, this.box);
    Object.assign(node.dataset, { address, origin });
    if (background) Object.assign(node.style, { background, color: ink });
    else node.classList.add("mha-blank");
    return node;
  }
  pose(t) {
    for (const move of this.plan.moves) {
      const node = this.nodes.get(move.cell.key), [x, y] = during(move, t, this.plan.lasts);
      node.style.transform = `translate(${x}px, ${y}px)`;
      node.style.opacity = move.fresh ? within(2 * t - 1) : 1;
    }
    for (const cell of this.plan.leaving) {
      const node = this.nodes.get(cell.key);
      if (t >= 1) node.remove();
      else if (!node.isConnected) this.box.append(node);
      node.style.transform = `translate(${cell.x}px, ${cell.y}px)`;
      node.style.opacity = within(1 - 2 * t);
    }
  }
  mark(id, wrong) {
    for (const node of this.nodes.values()) {
      const cell = this.cells.get(node);
      node.classList.toggle("mha-followed", id !== null && cell.id === id);
      node.classList.toggle("mha-wrong", Boolean(wrong && wrong[cell.order]));
    }
  }
  hit(event) {
    const node = event.target.closest(".mha-cell");
    return node ? this.cells.get(node) : null;
  }
}

class Painted {
  plan = /** @type {any} */ (null); look; box; size; id; wrong;
  constructor(box, size) {
    [this.box, this.size, this.id, this.wrong, this.t] = [box, size, null, null, 1];
    this.canvas = make("canvas", "mha-canvas", box);
  }
  show(plan, look) {
    [this.plan, this.look] = [plan, look];
  }
  pose(t) {
    this.t = t;
    const width = this.box.offsetWidth, height = this.box.offsetHeight;
    const dense = Math.min(window.devicePixelRatio || 1, 4096 / Math.max(width, height, 1));
    this.canvas.width = Math.ceil(width * dense);
    this.canvas.height = Math.ceil(height * dense);
    const draw = this.canvas.getContext("2d");
    draw.scale(dense, dense);
    Object.assign(draw, { textAlign: "center", textBaseline: "middle", font: "12px monospace" });
    this.plan.moves.forEach(move => this.cell(draw, move, ...during(move, t, this.plan.lasts)));
  }
  cell(draw, { cell }, x, y) {
    const [w, h] = this.size, edge = w > 6 ? 1 : 0, { background, ink, text } = this.look(cell);
    draw.fillStyle = background || "#8888";
    draw.fillRect(x + edge / 2, y + edge / 2, w - edge, h - edge);
    draw.strokeStyle = draw.fillStyle = ink;
    if (w >= 26 && text) draw.fillText(text, x + w / 2, y + h / 2);
    if (this.wrong && this.wrong[cell.order]) {
      draw.beginPath();
      draw.moveTo(x + 1, y + 1);
      draw.lineTo(x + w - 1, y + h - 1);
      draw.stroke();
    }
    if (cell.id === this.id) {
      Object.assign(draw, { lineWidth: 3, strokeStyle: getComputedStyle(this.box).getPropertyValue("--mha-mark") });
      draw.strokeRect(x, y, w, h);
      draw.lineWidth = 1;
    }
  }
  mark(id, wrong) {
    if (this.id === id && this.wrong === wrong) return;
    [this.id, this.wrong] = [id, wrong];
    this.pose(this.t);
  }
  hit(event) {
    const box = this.canvas.getBoundingClientRect(), zoom = box.width / this.box.offsetWidth || 1;
    const x = (event.clientX - box.left) / zoom, y = (event.clientY - box.top) / zoom;
    const [w, h] = this.size, inside = c => x >= c.x && x < c.x + w && y >= c.y && y < c.y + h;
    return this.plan.moves.map(move => move.cell).find(inside) || null;
  }
}

/** The names of blocks and rows: what stays stays, what changes fades. */
class Labels {
  going = /** @type {any[]} */ ([]); coming = /** @type {any[]} */ ([]);
  constructor(box) {
    this.box = make("div", "mha-labels", box);
    this.nodes = new Map();
  }
  show(layout) {
    for (const node of this.going) node.remove(); // a move that was broken off
    const fresh = new Map();
    for (const [kind, labels] of [["bracket", layout.brackets], ["block", layout.blocks], ["row", layout.rows]]) {
      for (const label of labels) fresh.set(JSON.stringify([kind, label]), [kind, label]);
    }
    this.going = [...this.nodes].filter(([key]) => !fresh.has(key)).map(([, node]) => node);
    this.coming = [];
    const kept = new Map();
    for (const [key, [kind, label]] of fresh) {
      const node = this.nodes.get(key) ?? this.born(kind, label);
      if (!this.nodes.has(key)) this.coming.push(node);
      else node.style.opacity = 1; // it may have been on its way
      kept.set(key, node);
    }
    this.nodes = kept;
  }
  born(kind, [x, y, width, parts]) {
    const tone = parts.length ? parts[parts.length - 1][1] : 5;
    const node = make("div", `mha-label mha-${kind} mha-edge${tone}`, this.box);
    Object.assign(node.style, { left: `${x}px`, top: `${y}px`, width: `${width}px` });
    writeParts(node, parts, " · ");
    return node;
  }
  pose(t) {
    for (const node of this.coming) node.style.opacity = within(2 * t - 1);
    for (const node of this.going) {
      if (t >= 1) node.remove();
      else if (!node.isConnected) this.box.append(node);
      node.style.opacity = within(1 - 2 * t);
    }
  }
}

// ---- the parts of a lane: the picture, the tape, the facts ----

/** What picture and tape share: cells that can be drawn, travel, be hit and be marked. */
class Surface {
  plan = /** @type {any} */ (null); t = 1; box; size;
  constructor(box, painted, size, actions) {
    [this.box, this.size] = [box, size];
    this.drawer = painted ? new Painted(box, size) : new Elements(box);
    this.cells = /** @type {Cell[]} */ ([]);
    this.arrows = new Arrows(box);
    this.head = make("div", "mha-reading", box);
    Object.assign(this.head.style, { width: `${size[0]}px`, height: `${size[1]}px` });
    this.head.hidden = true;
    box.addEventListener("click", event => {
      const cell = this.drawer.hit(event);
      if (cell) actions.follow(cell.id);
    });
    box.addEventListener("pointermove", event => actions.hover((this.drawer.hit(event) || { id: null }).id));
    box.addEventListener("pointerleave", () => actions.hover(null));
  }
  /** The cells where they are now, on their way or not. */
  now() {
    if (this.t >= 1) return keyed(this.cells);
    const here = new Map();
    for (const move of this.plan.moves) {
      const [x, y] = during(move, this.t, this.plan.lasts);
      here.set(move.cell.key, { ...move.cell, x, y });
    }
    return here;
  }
  show(cells, from, look) {
    this.cells = cells;
    this.plan = plan(from, cells);
    this.drawer.show(this.plan, look);
  }
  pose(t) {
    this.t = t;
    this.drawer.pose(t);
  }
  /** @returns {[number, number]} */
  middle({ x, y }) {
    return [x + this.size[0] / 2, y + this.size[1] / 2];
  }
}

/** Cells by their keys; made once for each list. */
const byKey = new WeakMap();
function keyed(/** @type {Cell[]} */ cells) {
  if (!byKey.has(cells)) byKey.set(cells, new Map(cells.map(cell => [cell.key, cell])));
  return byKey.get(cells);
}

/** What `make` makes of each thing, made once for each. */
function remembered(known, thing, make) {
  if (!known.has(thing)) known.set(thing, make());
  return known.get(thing);
}

/** The tensor: every cell in its place, with the names of rows and blocks. */
class Picture {
  lane; painted; zoom; variant; known = new Map();
  constructor(parent, lane, { words, pictures, actions, painted }) {
    Object.assign(this, { lane, painted });
    this.stage = make("div", "mha-stage", parent);
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "application");
    this.stage.setAttribute("aria-label", words.picture);
    this.plane = make("div", "mha-board", this.stage);
    this.surface = new Surface(this.plane, painted, pictures.cell, actions);
    this.labels = new Labels(this.plane);
  }
  /** Choose the layout for the room there is and the widest lane; true if that changed anything. */
  fit(available, widest) {
    const variant = (available - 4) / widest[0] >= SMALLEST ? 0 : 1;
    const [width, height] = this.size(variant), room = Math.min(1, (available - 14) / widest[variant]);
    const zoom = this.painted ? Math.min(room, 440 / height) : room;
    const same = variant === this.variant && zoom === this.zoom;
    if (variant !== this.variant) this.known.clear();
    Object.assign(this, { variant, zoom });
    Object.assign(this.plane.style, { width: `${width}px`, height: `${height}px`, transform: `scale(${zoom})` });
    this.plane.style.setProperty("--mha-grow", `${Math.min(1 / zoom, 1.5)}`); // numbers keep their size
    this.stage.style.height = `${height * zoom + 4}px`;
    return !same;
  }
  /** What the largest of all frames needs. */
  size(variant) {
    return [0, 1].map(side => Math.max(...this.lane.frames.map(f => f.layouts[variant].size[side])));
  }
  cellsAt(frame) {
    return remembered(this.known, frame, () => cellsOf(frame, frame.layouts[this.variant]));
  }
  show(frame, before, look) {
    const from = before ? keyed(this.cellsAt(before)) : this.surface.now();
    if (before) this.labels.show(before.layouts[this.variant]);
    if (before) this.labels.pose(1);
    this.surface.show(this.cellsAt(frame), from, look);
    this.labels.show(frame.layouts[this.variant]);
  }
  pose(t) {
    this.surface.pose(t);
    this.labels.pose(t);
  }
  /** Mark the followed cell, the way it came, and where it belongs if its place is wrong. */
  follow(id, before, wrong, belongs) {
    const { surface } = this;
    surface.drawer.mark(id, wrong);
    surface.arrows.clear();
    if (id === null || id < 0) return;
    const were = keyed(this.cellsAt(before));
    for (const cell of surface.cells.filter(cell => cell.id === id)) {
      const home = wrong && wrong[cell.order] ? surface.cells[belongs[cell.order]] : null;
      const from = home ? cell : were.get(cell.key), to = home ?? cell;
      if (from && (home || Math.hypot(to.x - from.x, to.y - from.y) > 40)) { // else too short to be seen
        surface.arrows.through(surface.middle(from), surface.middle(to), home ? "mha-home" : "mha-came");
      }
    }
  }
}

/** The memory: its cells in address order, and arrows above them. */
class Tape {
  lane; words; painted; known = new Map();
  constructor(parent, lane, { words, actions, painted }) {
    Object.assign(this, { lane, words, painted });
    const memory = make("div", "mha-memory", parent);
    this.box = make("div", "mha-tape", memory);
    this.name = make("div", "mha-tape-name", memory);
    const longest = Math.max(2, ...lane.texts.map(text => text.length));
    this.least = painted ? 2 : 3 + 7 * longest; // a cell's width, of which digits leave a little free
    this.most = painted ? 2 : this.least + AIRY;
    this.size = /** @type {[number, number]} */ ([this.least, painted ? 4 : 20]);
    this.above = painted ? 0 : 14;
    this.columns = 1;
    this.surface = new Surface(this.box, painted, this.size, actions);
    this.ticks = make("div", "mha-labels", this.box);
    this.cells = Math.max(...lane.frames.map(frame => frame.memory.length));
    this.margin = 8 + 8 * String(this.cells).length; // for the addresses before the rows
    this.box.style.setProperty("--mha-margin", `${this.margin}px`);
    make("span", "", this.name, words.memory);
    this.says = make("b", "", this.name);
    this.read = make("span", "mha-said", this.name);
    this.read.setAttribute("role", "status");
  }
  fit(available) {
    const room = available - this.margin, columns = columnsFor(room, this.least);
    const wide = Math.max(this.least, Math.min(this.most, Math.floor(room / columns))), [before, high] = this.size;
    const same = columns === this.columns && wide === before;
    if (!same) this.known.clear();
    this.columns = columns;
    this.size[0] = wide;
    this.surface.head.style.width = `${wide}px`;
    this.box.style.setProperty("--mha-tape", `${wide}px`);
    const rows = Math.ceil(this.cells / columns);
    Object.assign(this.box.style, { width: `${columns * wide}px`, height: `${rows * (high + this.above)}px` });
    return !same;
  }
  cellsAt(frame) {
    return remembered(this.known, frame, () =>
      tapeOf(frame.memory, frame.memoryTexts, this.columns, this.size, this.above));
  }
  show(frame, before, look) {
    const cells = this.cellsAt(frame);
    this.surface.show(cells, before ? keyed(this.cellsAt(before)) : this.surface.now(), look);
    this.says.textContent = frame.tape;
    this.ticks.replaceChildren();
    for (let at = 0; at < cells.length && !this.painted; at += this.columns) {
      make("div", "mha-tick", this.ticks, at).style.top = `${cells[at].y}px`;
    }
  }
  /** Mark the followed cell, and the strides' way to it. */
  follow(id, step, index) {
    this.surface.drawer.mark(id, null);
    this.surface.arrows.clear();
    if (!step || this.painted) return;
    const stops = walk(index, step.stride, step.offset + step.start);
    index.forEach((_, axis) => {
      const far = stops[axis + 1] - stops[axis];
      if (far) this.arc(stops[axis], stops[axis + 1], `mha-tone${step.axes[axis][0][1]}`, `+${far}`);
    });
  }
  arc(from, to, kind, text = "", lift = 7) {
    this.surface.arrows.along(from, to, this, kind, text, lift);
  }
}

/** The operation, its sentence, and the table of shape and strides, whose columns travel. */
class Facts {
  cells = /** @type {any[]} */ ([]);
  constructor(parent, words) {
    this.words = words;
    const head = this.head = make("div", "mha-head", parent);
    this.says = make("div", "mha-says", head);
    this.says.setAttribute("aria-live", "polite");
    this.table = make("table", "mha-facts", head);
    this.columns = /** @type {Map<Frame, Map<string, number>>} */ (new Map());
  }
  /** Make room for the longest of all frames, so that nothing under it moves from step to step. */
  fit(frames, shown) {
    this.columns.clear(); // their places depend on the room
    this.head.style.minHeight = "";
    const heights = frames.map(frame => {
      this.write(frame);
      this.build(frame);
      return this.head.offsetHeight;
    });
    this.head.style.minHeight = `${Math.max(...heights)}px`;
    this.show(shown, null);
  }
  show(frame, before) {
    this.write(frame);
    if (before && !this.columns.has(before)) this.build(before);
    const from = (before && this.columns.get(before)) || new Map();
    this.cells = this.build(frame);
    const to = this.columns.get(frame);
    for (const column of this.cells) column.far = (from.get(column.key) ?? to.get(column.key)) - to.get(column.key);
  }
  write(frame) {
    const { says, words } = this;
    says.replaceChildren();
    const line = make("div", "mha-line-one", says);
    make("code", "mha-operation", line, frame.operation);
    make("span", "mha-badge", line, frame.steps[0].contiguous ? words.contiguous : words.not_contiguous);
    if (frame.within) make("code", "mha-within", says, frame.within);
    make("p", "mha-sentence", says, frame.sentence);
  }
  /** Build the frame's table and remember where each axis' column stands. */
  build(frame) {
    const { table, words } = this, step = frame.steps[0], names = columnKeys(step.axes);
    table.replaceChildren();
    const cells = [];
    for (const [title, values] of [[words.axis, null], [words.shape, step.shape], [words.stride, step.stride]]) {
      const row = make("tr", "", table);
      make("th", "", row, title).scope = "row";
      names.forEach((key, axis) => {
        const node = make("td", `mha-tone${step.axes[axis][0][1]}`, row, values ? values[axis] : undefined);
        if (!values) writeParts(node, step.axes[axis], "·");
        cells.push({ key, node, far: 0 });
      });
    }
    const middles = new Map();
    for (const { key, node } of cells.slice(0, names.length)) middles.set(key, node.offsetLeft + node.offsetWidth / 2);
    this.columns.set(frame, middles);
    return cells;
  }
  pose(t) {
    const part = 1 - eased(within(t));
    for (const { node, far } of this.cells) { // of two columns that pass each other one is in front
      node.style.transform = far && part ? `translate(${far * part}px, ${far > 0 ? 4 * Math.sin(Math.PI * part) : 0}px)` : "";
      node.classList.toggle("mha-passing", far > 0 && part > 0);
    }
  }
}

// ---- one recording: what was done, the cells, the memory ----

class Lane {
  lane; words; palette; before; wrong = null;
  constructor(parent, lane, shared) {
    Object.assign(this, { lane, words: shared.words, palette: shared.pictures.palette });
    const most = Math.max(...lane.frames.map(frame => frame.steps.reduce((n, step) => n + step.ids.length, 0)));
    const painted = most > shared.pictures.each;
    this.root = make("div", "mha-lane", parent);
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", lane.title);
    if (shared.pictures.named) make("div", "mha-lane-name", this.root).textContent = lane.title;
    this.facts = new Facts(this.root, shared.words);
    this.tape = new Tape(this.root, lane, { ...shared, painted }); // above: the picture's height changes
    this.picture = new Picture(this.root, lane, { ...shared, painted });
    this.frame = /** @type {Frame} */ (lane.frames[0]);
    this.look = cell => this.looks(cell);
  }
  get cells() {
    return this.picture.surface.cells;
  }
  fit(available, widest) {
    this.facts.fit(this.lane.frames, this.frame);
    return [this.picture.fit(available, widest), this.tape.fit(available)].some(Boolean);
  }
  at(number) {
    return this.lane.frames[Math.min(number, this.lane.frames.length - 1)];
  }
  /** Get ready to travel to a frame: from another one, or from wherever the cells are. */
  show(number, from, end) {
    const frame = this.at(number), before = from === undefined ? null : this.at(from);
    this.facts.show(frame, before ?? this.frame);
    this.picture.show(frame, before, this.look);
    this.tape.show(frame, before, this.look);
    this.frame = frame;
    this.before = this.lane.frames[this.lane.frames.indexOf(frame) - 1] ?? frame;
    this.wrong = end ? this.lane.wrong : null; // results are compared when both are there
  }
  pose(t) {
    for (const part of [this.facts, this.picture, this.tape.surface]) part.pose(t);
    if (this.picture.painted) return;
    for (const { surface } of [this.picture, this.tape]) surface.arrows.svg.classList.toggle("mha-hidden", t < 1);
  }
  looks({ id, text }) {
    const number = this.lane.texts[text] ?? "";
    if (id < 0) return { address: -1, origin: "", background: null, ink: "", corner: 0, ticks: 0, text: number };
    const [origin, start] = this.lane.origins.reduce((last, next) => (next[1] <= id ? next : last));
    const [background, ink] = this.palette[this.lane.colours[id]];
    const { corners, ticks } = this.lane;
    return { address: id - start, origin, background, ink, corner: corners[id], ticks: ticks[id], text: number };
  }
  follow(id) {
    this.picture.follow(id, this.before, this.wrong, this.lane.belongs);
    const here = id === null ? null : this.cells.find(cell => cell.id === id);
    this.tape.follow(id, here ? this.frame.steps[here.piece] : null, here ? here.index : []);
  }
  close() {}
}

const written = index => `[${index.join(", ")}]`;

/** The followed cell's index at every step, how the strides lead to it now, and what became of it. */
function story(lane, id, parent) {
  const { words, frame } = lane, here = lane.cells.find(cell => cell.id === id);
  const { text, origin, address } = lane.look(here ?? { id, text: -1 });
  make("span", "", parent, fill(text ? words.follow : words.follow_many, { value: text, origin, address }));
  const trail = make("ol", "mha-trail", parent);
  let absent = null; // frames without the cell that follow each other have one item
  for (const each of lane.lane.frames) {
    const step = each.steps.find(step => step.ids.includes(id));
    const item = (!step && absent) || make("li", "", trail);
    item.textContent = step ? written(unravel(step.ids.indexOf(id), step.shape)) : words.absent;
    absent = step ? null : item;
    if (each !== frame) continue;
    item.classList.add("mha-now");
    item.setAttribute("aria-current", "step");
  }
  if (!here) return;
  walkedThere(lane, here, make("span", "mha-walk", parent));
  if (frame.copied) {
    const [from, to] = [lane.before.memory.indexOf(id), frame.memory.indexOf(id)];
    const which = from === to || from < 0 ? words.stayed : words.moved;
    make("b", "mha-moved", parent, fill(which, { from, to }));
  }
  if (lane.wrong && lane.wrong[here.order]) {
    const home = lane.cells[lane.lane.belongs[here.order]];
    if (home) make("b", "mha-home", parent, fill(words.belongs, { index: written(home.index) }));
  }
}

/** Write offset + index · stride of every axis, and what it comes to. */
function walkedThere({ words, frame }, { piece, index }, parent) {
  const step = frame.steps[piece], stops = walk(index, step.stride, step.offset);
  make("span", "", parent, `${words.walk} ${step.offset}`);
  index.forEach((i, axis) => {
    const part = make("span", `mha-tone${step.axes[axis][0][1]}`, parent, ` +${i * step.stride[axis]} `);
    part.append(fill(words.along, { name: step.axes[axis].map(([name]) => name).join("·") }));
  });
  make("span", "", parent, ` = ${stops[stops.length - 1]}`);
}

// ---- the reading head ----

/** Runs a mark through the tensor as it is read, and one along the memory; counts the jumps. */
class ReadingHead {
  addresses; jumps; count; cell; jumped; drawn;
  constructor(lane) {
    this.lane = lane;
    Object.assign(this, reading(lane.frame.steps));
    const total = this.jumps.length;
    this.starts = [0]; // in cells' time: when the head leaves each cell
    for (let i = 1; i < total; i++) this.starts.push(this.starts[i - 1] + (this.jumps[i] ? JUMP : 1));
    this.length = this.starts[total - 1] || 0;
    [this.cell, this.jumped, this.drawn] = [0, 0, 0];
    this.heads = [lane.picture.surface.head, lane.tape.surface.head];
    for (const { surface } of [lane.picture, lane.tape]) {
      surface.drawer.mark(null, null);
      surface.arrows.clear();
    }
  }
  /** Stand where the head is after `time` cells' times. */
  pose(time) {
    const { starts, jumps, lane } = this, last = starts.length - 1;
    if (!this.jumps.length) return;
    while (this.cell < last && starts[this.cell + 1] <= time) this.pass(++this.cell);
    const next = Math.min(this.cell + 1, last), gone = starts[next] - starts[this.cell];
    const part = gone ? eased(within((time - starts[this.cell]) / gone)) : 0, hop = jumps[next] && part ? 14 : 0;
    const pairs = [[lane.cells, this.cell, next], [lane.tape.surface.cells, ...[this.cell, next].map(i => this.addresses[i])]];
    pairs.forEach(([cells, a, b], which) => {
      const from = cells[a], to = cells[b], { style } = this.heads[which];
      if (!from || !to) return;
      const y = from.y + (to.y - from.y) * part - (which ? hop * Math.sin(Math.PI * part) : 0);
      style.transform = `translate(${from.x + (to.x - from.x) * part}px, ${y}px)`;
      this.heads[which].hidden = false;
    });
    const { words } = lane, now = { cell: this.cell + 1, total: last + 1, jumps: this.jumped };
    lane.tape.read.textContent = fill(words.reading, now);
  }
  pass(cell) {
    if (!this.jumps[cell]) return;
    this.jumped++;
    const [from, to] = [this.addresses[cell - 1], this.addresses[cell]];
    if (this.drawn++ < MOST_ARCS && !this.lane.tape.painted) this.lane.tape.arc(from, to, "mha-jump", "", to < from ? 11 : 5);
  }
  end() {
    this.pose(this.length);
    const { words } = this.lane, said = this.count ? (this.count === 1 ? words.read_jump : words.read_jumps) : words.read_none;
    this.lane.tape.read.textContent = fill(said, { total: this.jumps.length, jumps: this.count });
    for (const head of this.heads) head.hidden = true;
  }
  close() {
    for (const head of this.heads) head.hidden = true;
    this.lane.tape.surface.arrows.clear();
    this.lane.tape.read.textContent = "";
  }
}

/** Reads all lanes at once; `pace` gives the speed, `calm` whether nothing may move. */
class Reader {
  pace; calm; done; heads; running; frame;
  constructor(pace, calm, done) {
    Object.assign(this, { pace, calm, done, heads: [], running: false });
  }
  start(lanes) {
    this.close();
    this.heads = lanes.map(lane => new ReadingHead(lane));
    const longest = Math.max(...this.heads.map(head => head.length));
    const each = Math.min(READ_CELL * (this.pace() / SECONDS.normal), READ_MOST / Math.max(longest, 1)) * 1000;
    this.running = true;
    let began = 0;
    const tick = now => {
      began ||= now;
      const time = (now - began) / each;
      if (this.calm() || time >= longest) return this.end();
      for (const head of this.heads) head.pose(Math.min(time, head.length));
      this.frame = requestAnimationFrame(tick);
    };
    if (this.calm()) this.end();
    else this.frame = requestAnimationFrame(tick);
  }
  end() {
    this.running = false;
    for (const head of this.heads) head.end();
    this.done();
  }
  close() {
    cancelAnimationFrame(this.frame);
    for (const head of this.heads) head.close();
    [this.heads, this.running] = [[], false];
    this.done();
  }
}

// ---- time: where between the steps the picture is ----

/** Holds the place on the way, 0 … last, and lets it run. `view` draws, `settled` hears of each rest. */
class Player {
  view; pace; calm; at; goal; playing; running; from; frame; timer;
  constructor(view, pace, calm) {
    Object.assign(this, { view, pace, calm, at: 0, goal: 0, playing: false });
  }
  /** Travel to a step from wherever the cells are. */
  to(step, still = false) {
    this.halt();
    const from = this.at, far = Math.min(1, Math.abs(step - from));
    this.goal = step;
    this.view.ready(step, still ? step : undefined); // at once: no way that cells could come
    if (still || this.calm() || !far) return this.arrive();
    const began = performance.now(), lasts = this.pace() * 1000 * far;
    const tick = now => {
      const t = Math.min(1, Math.max(0, now - began) / lasts);
      if (t >= 1) return this.arrive();
      this.at = from + (step - from) * t;
      this.view.pose(t, this.at);
      this.frame = requestAnimationFrame(tick);
    };
    this.running = true;
    this.view.pose(0, from);
    this.frame = requestAnimationFrame(tick);
  }
  /** The step before or after: of the one that is being travelled to, or of a place between two. */
  beside(way) {
    if (this.running) return this.goal + way;
    return way > 0 ? Math.floor(this.at) + 1 : Math.ceil(this.at) - 1;
  }
  arrive() {
    this.running = false;
    this.at = this.goal;
    this.view.pose(1, this.at);
    if (this.playing) this.timer = setTimeout(() => this.on(), this.pace() * 1000 * REST);
  }
  /** Stand anywhere between two steps. */
  scrub(at) {
    this.stop();
    const before = Math.floor(at), step = Math.ceil(at);
    if (step !== this.goal || before !== this.from) this.view.ready(step, before);
    Object.assign(this, { at, goal: step, from: before });
    this.view.pose(step === before ? 1 : at - before, at);
  }
  play() {
    this.playing = true;
    this.view.played();
    if (this.at >= this.view.last()) {
      this.view.go(0, true);
      this.timer = setTimeout(() => this.on(), this.pace() * 500);
    } else this.on();
  }
  on() {
    if (this.at >= this.view.last()) this.stop();
    else this.view.go(this.beside(1));
  }
  halt() {
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.running = false;
    this.from = undefined;
  }
  stop() {
    this.halt();
    if (!this.playing) return;
    this.playing = false;
    this.view.played();
  }
}

// ---- the learner's own chain ----

const SIZES = ["sentences", "words", "features", "heads"];
const PATIENCE = 20_000; // milliseconds until a kernel that does not answer is given up

class Editor {
  model; words; earlier; waiting;
  /** `earlier` hears whose picture is shown while another chain stands in the field, and null while it is its own. */
  constructor(parent, model, words, earlier) {
    Object.assign(this, { model, words, earlier, touched: false });
    this.form = make("form", "mha-edit", parent);
    this.fields = /** @type {Record<string, any>} */ ({});
    for (const name of SIZES) Object.assign(this.field(name), { type: "number", min: 1, max: 512, required: true });
    Object.assign(this.field("chain"), { type: "text", spellcheck: false, autocomplete: "off", autocapitalize: "off" });
    this.button = make("button", "mha-button mha-run", this.form, words.run);
    this.trouble = make("div", "mha-trouble", this.form);
    this.trouble.setAttribute("role", "alert");
    if (model.get("offline") || !model.send) {
      for (const input of [...Object.values(this.fields), this.button]) input.disabled = true;
      make("p", "mha-note", this.form, words.needs_kernel);
    }
    this.form.addEventListener("keydown", event => { // JupyterLab keeps Enter from submitting a form by itself
      if (event.key !== "Enter" || runs(event) || event.target === this.button) return;
      event.preventDefault();
      this.form.requestSubmit();
    });
    this.form.addEventListener("submit", event => {
      event.preventDefault();
      if (!this.waiting) this.run();
    });
    this.form.addEventListener("input", () => {
      this.touched = true;
      this.trouble.replaceChildren(); // it was about another chain
      this.compare();
    });
  }
  field(name) {
    const label = make("label", `mha-field mha-${name}`, this.form);
    make("span", "", label, this.words[name]);
    this.fields[name] = make("input", "", label);
    return this.fields[name];
  }
  /** What stands in the fields. */
  asked() {
    const sizes = Object.fromEntries(SIZES.map(name => [name, Number(this.fields[name].value)]));
    return { chain: this.fields.chain.value, sizes };
  }
  stands({ chain, sizes }) {
    const asked = this.asked();
    return chain === asked.chain && SIZES.every(name => sizes[name] === asked.sizes[name]);
  }
  /** Say whose picture is shown, if it is not that of the chain in the field. */
  compare() {
    const { edit } = this.model.get("pictures");
    this.earlier(this.stands(edit) ? null : edit);
  }
  run() {
    this.touched = false;
    this.waiting = setTimeout(() => {
      this.done();
      this.trouble.replaceChildren();
      make("div", "", this.trouble, this.words.no_answer);
    }, PATIENCE);
    this.button.setAttribute("aria-disabled", "true");
    this.trouble.replaceChildren();
    make("div", "mha-running", this.trouble, this.words.running);
    this.model.send({ kind: "run", ...this.asked() });
  }
  done() {
    clearTimeout(this.waiting);
    this.waiting = null;
    this.button.removeAttribute("aria-disabled");
    this.say();
  }
  /** Torch's own words, then what to do about them, if they are about the chain in the field. */
  say() {
    const trouble = this.model.get("trouble");
    if (this.waiting) return;
    this.trouble.replaceChildren();
    if (!trouble.error || !this.stands(trouble)) return;
    make("code", "", this.trouble, trouble.error);
    if (trouble.hint) make("div", "", this.trouble, trouble.hint);
  }
  /** Show the chain of a new picture, unless somebody has written another one in the meantime. */
  fill(edit) {
    for (const [name, value] of Object.entries({ ...edit.sizes, chain: edit.chain })) {
      if (!this.touched && this.fields[name].value !== String(value)) this.fields[name].value = value;
    }
    this.compare();
  }
  close() {
    clearTimeout(this.waiting);
  }
}

// ---- the controls and the keys ----

/** Is this a key that runs a cell of the notebook? */
const runs = event => event.key === "Enter" && (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey);

/** Keys that are the notebook's reach it: the cell around the widget gets the focus and the key. */
function handOn(root, escape) {
  // JupyterLab looks for the mark on what has the focus first.
  root.addEventListener("focusin", event => event.target.setAttribute(SUPPRESS, "true"));
  const pass = event => {
    if (!event.composedPath().includes(root) || !(runs(event) || event.key === "Escape")) return;
    if (event.key === "Escape") escape();
    const cell = root.closest(".jp-Cell");
    if (!cell) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    cell.focus();
    cell.dispatchEvent(new KeyboardEvent("keydown", event));
  };
  window.addEventListener("keydown", pass, true);
  return () => window.removeEventListener("keydown", pass, true);
}

/** Left and right step from anywhere in the widget; with Shift the arrows pick another cell. */
function hearKeys(root, { plain, shifted }) {
  root.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target } = event, act = (event.shiftKey ? shifted : plain)[event.key];
    if (!act || target.matches("input:not([type=range])")) return;
    if (event.key === " " && target.matches("button, select")) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  root.addEventListener("pointerdown", event => { // a click into the picture leaves the keys to the widget
    const own = event.target.closest("input, button, select, .mha-stage");
    setTimeout(() => root.isConnected && (own ?? root).focus({ preventScroll: true }));
  });
}

class Bar {
  constructor(parent, words, act) {
    this.words = words;
    this.box = make("div", "mha-bar", parent);
    this.buttons = /** @type {Record<string, any>} */ ({});
    const signs = { first: "|◀", previous: "◀", play: words.play, next: "▶", last: "▶|" };
    for (const [which, sign] of Object.entries(signs)) this.button(which, sign, act[which]);
    this.way = make("div", "mha-track", this.box);
    this.range = make("input", "mha-range", this.way);
    Object.assign(this.range, { type: "range", min: 0, step: act.calm() ? 1 : 0.01 });
    this.range.setAttribute("aria-label", words.step);
    this.range.addEventListener("input", () => act.scrub(Number(this.range.value)));
    [this.labels, this.spans, this.step] = [[], [], 0];
    this.names = make("div", "mha-names", this.way);
    this.names.setAttribute("aria-hidden", "true");
    this.names.addEventListener("click", event => event.target.dataset.step && act.step(Number(event.target.dataset.step)));
    this.count = make("span", "mha-count", this.box);
    const label = make("label", "mha-speed", this.box);
    make("span", "", label, words.speed);
    this.speed = make("select", "", label);
    for (const name of Object.keys(SECONDS)) make("option", "", this.speed, words[name]).value = name;
    this.speed.value = "normal";
    this.button("read", words.read, act.read);
  }
  button(which, sign, act) {
    const button = this.buttons[which] = make("button", "mha-button", this.box, sign);
    button.type = "button";
    button.classList.add(`mha-${which}`);
    button.addEventListener("click", () => button.getAttribute("aria-disabled") !== "true" && act());
    this.call(which, this.words[which]);
  }
  call(which, label) {
    this.buttons[which].setAttribute("aria-label", label);
    this.buttons[which].title = this.words.keys[which] ? `${label} (${this.words.keys[which]})` : label;
  }
  playing(on) {
    const label = on ? this.words.pause : this.words.play;
    this.call("play", label);
    this.buttons.play.textContent = label;
  }
  reading(on) {
    this.buttons.read.setAttribute("aria-pressed", String(on));
  }
  /** Name the steps on the slider, each at its tick. */
  name(frames) {
    this.range.max = frames.length - 1;
    this.names.replaceChildren();
    const at = step => `${frames.length > 1 ? (100 * step) / (frames.length - 1) : 0}%`;
    frames.forEach((_, step) => { make("i", "mha-stop", this.names).style.left = at(step); });
    this.labels = frames.map((frame, step) => {
      const name = make("span", "mha-name", this.names, frame.name);
      name.dataset.step = step;
      name.style.left = at(step);
      return name;
    });
  }
  /** Measure the names, and show those for which there is room. */
  fit() {
    this.spans = this.labels.map(name => {
      const { left, right } = name.getBoundingClientRect();
      return /** @type {[number, number]} */ ([left, right]);
    });
    this.show(this.step);
  }
  show(step) {
    this.step = step;
    const shown = namesWithRoom(this.spans, step);
    this.labels.forEach((name, number) => {
      name.classList.toggle("mha-now", number === step);
      name.classList.toggle("mha-quiet", !shown.has(number));
    });
  }
  /** Show where on the way the picture is. */
  at(at, step, operation) {
    const last = Number(this.range.max);
    if (Number(this.range.value) !== at) this.range.value = at;
    this.range.setAttribute("aria-valuetext", operation);
    this.count.textContent = fill(this.words.count, { step, last });
    for (const name of ["first", "previous"]) this.buttons[name].setAttribute("aria-disabled", String(at <= 0));
    for (const name of ["next", "last"]) this.buttons[name].setAttribute("aria-disabled", String(at >= last));
    if (step !== this.step) this.show(step);
  }
}

// ---- the widget ----

class Widget {
  model; heard; lanes; hovered; edit;
  constructor(model, el) {
    Object.assign(this, { model, heard: [], lanes: [], hovered: null });
    const words = this.words = model.get("pictures").words;
    const root = this.root = make("div", "mha-theme mha-moves", el);
    root.tabIndex = -1;
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", words.title);
    const still = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.calm = () => still.matches;
    const pace = () => SECONDS[this.bar.speed.value];
    this.player = new Player(this, pace, this.calm);
    this.reader = new Reader(pace, this.calm, () => this.bar.reading(this.reader.running));
    this.bar = new Bar(root, words, this.actions());
    this.desk = make("div", "", root);
    this.verdict = make("p", "mha-verdict", root);
    this.verdict.setAttribute("aria-live", "polite");
    this.past = make("div", "mha-past", root);
    this.past.setAttribute("role", "status");
    this.box = make("div", "mha-lanes", root);
    this.told = make("div", "mha-told", root);
    this.told.setAttribute("aria-live", "polite");
    this.keys();
    this.listen();
    this.rebuild();
    this.watcher = new ResizeObserver(() => this.fit() && this.player.to(this.player.goal, true));
    this.watcher.observe(root);
  }
  actions() {
    const move = step => {
      this.player.stop();
      this.go(step);
    };
    return {
      calm: this.calm,
      step: move,
      first: () => move(0),
      previous: () => move(this.player.beside(-1)),
      next: () => move(this.player.beside(1)),
      last: () => move(this.last()),
      play: () => (this.player.playing ? this.player.stop() : this.player.play()),
      read: () => this.read(),
      scrub: at => {
        this.player.scrub(at);
        this.store("step", this.player.goal);
      },
    };
  }
  keys() {
    const act = this.actions(), pick = (dx, dy) => () => this.pick(dx, dy);
    hearKeys(this.root, {
      plain: { ArrowLeft: act.previous, ArrowRight: act.next, Home: act.first, End: act.last, " ": act.play,
               r: act.read, R: act.read },
      shifted: { ArrowLeft: pick(-1, 0), ArrowRight: pick(1, 0), ArrowUp: pick(0, -1), ArrowDown: pick(0, 1),
                 R: act.read },
    });
    this.letGo = handOn(this.root, () => {
      this.reader.close();
      this.follow(-1);
    });
  }
  listen() {
    let waiting = false; // pictures and numbers come together: draw once for both
    const renew = () => {
      if (waiting) return;
      waiting = true;
      queueMicrotask(() => {
        waiting = false;
        this.player.stop();
        this.rebuild();
      });
    };
    this.on("change:pictures", renew);
    this.on("change:numbers", renew);
    this.on("change:step", () => this.model.get("step") !== this.player.goal && this.player.to(this.step()));
    this.on("change:followed", () => this.mark());
    this.on("change:trouble", () => this.edit && this.edit.say());
    this.on("msg:custom", message => this.answer(message));
  }
  on(event, call) {
    this.model.on(event, call);
    this.heard.push([event, call]);
  }
  store(name, value) {
    if (this.model.get(name) === value) return;
    this.model.set(name, value);
    this.model.save_changes();
  }
  step() {
    return Math.min(this.model.get("step"), this.last());
  }
  last() {
    return Math.max(...this.lanes.map(lane => lane.lane.frames.length)) - 1;
  }
  go(step, still = false) {
    const goal = Math.max(0, Math.min(this.last(), step));
    this.player.to(goal, still);
    this.store("step", goal);
  }
  /** The kernel has tried the chain; if that went well, let it be seen. */
  answer(message) {
    if (message.kind !== "done" || !this.edit) return;
    const asked = this.edit.waiting;
    this.edit.done();
    if (asked && message.shown) queueMicrotask(() => this.player.play());
  }
  /** Stand the picture back while another chain is in the field, and name the one that it belongs to. */
  earlier(edit) {
    this.root.classList.toggle("mha-stale", Boolean(edit));
    this.past.replaceChildren();
    if (!edit) return;
    const note = make("p", "", this.past, this.words.earlier);
    make("code", "", note, edit.chain);
    make("span", "", note, fill(this.words.earlier_sizes, edit.sizes));
  }
  read() {
    if (this.reader.running || !this.lanes.length) return this.reader.close();
    this.player.stop();
    if (this.player.at !== this.player.goal) this.player.to(this.player.goal, true);
    this.reader.start(this.lanes);
    this.bar.reading(this.reader.running);
  }
  pick(dx, dy) {
    const lane = this.lanes.find(each => each.root.contains(document.activeElement)) ?? this.lanes[0];
    const from = lane.cells.find(cell => cell.id === this.model.get("followed"));
    const next = from ? nearest(lane.cells, from, dx, dy) : lane.cells[0];
    if (next) this.follow(next.id);
  }
  follow(id) {
    this.store("followed", id);
  }
  /** Mark and tell of the cell that is pointed at, or followed. */
  mark() {
    const followed = this.model.get("followed"), id = this.hovered ?? (followed >= 0 ? followed : null);
    if (this.reader.heads.length && id !== null) this.reader.close();
    if (!this.reader.heads.length) this.lanes.forEach(lane => lane.follow(id));
    this.told.replaceChildren();
    if (id === null) make("span", "mha-hint", this.told, this.words.follow_hint);
    else this.lanes.forEach(lane => story(lane, id, make("div", "mha-one", this.told)));
  }
  /** The player asks for a step to be made ready … */
  ready(step, from) {
    this.reader.close();
    this.lanes.forEach(lane => lane.show(step, from, step === this.last()));
    const { compare } = this.model.get("pictures");
    this.verdict.hidden = !compare;
    if (compare) this.verdict.textContent = step === this.last() ? compare.sentence : this.words.compare_wait;
    this.mark();
  }
  /** … and drawn at time t of the way to it. */
  pose(t, at) {
    this.root.dataset.moving = String(t < 1 && !(this.player.from >= 0));
    this.lanes.forEach(lane => lane.pose(t));
    this.bar.at(at, this.player.goal, this.lanes[0].frame.operation);
  }
  played() {
    this.bar.playing(this.player.playing);
  }
  fit() {
    const wide = this.root.clientWidth;
    this.root.classList.toggle("mha-slim", wide < 664);
    this.root.classList.toggle("mha-phone", wide < 504);
    this.bar.fit();
    const { paddingLeft, paddingRight } = getComputedStyle(this.root);
    const room = wide - (parseFloat(paddingLeft) || 0) - (parseFloat(paddingRight) || 0); // none yet outside a page
    const apart = this.lanes.length > 1 && room >= 800;
    const each = apart ? (room - 24) / 2 : room;
    this.root.classList.toggle("mha-apart", apart);
    this.root.classList.toggle("mha-column", each < 500);
    // Lanes beside each other are compared line by line: all take the layout that the widest needs.
    const widest = [0, 1].map(variant => Math.max(...this.lanes.map(lane => lane.picture.size(variant)[0])));
    return this.lanes.map(lane => lane.fit(each, widest)).some(Boolean);
  }
  rebuild() {
    this.reader.close();
    this.box.replaceChildren();
    const pictures = this.model.get("pictures");
    const shared = {
      words: this.words, pictures,
      actions: {
        follow: id => this.follow(id === this.model.get("followed") ? -1 : id),
        hover: id => {
          if (id === this.hovered) return;
          this.hovered = id;
          if (!this.reader.running) this.mark();
        },
      },
    };
    this.lanes = decode(pictures, this.model.get("numbers")).map(lane => new Lane(this.box, lane, shared));
    this.hovered = null;
    const longest = this.lanes.reduce((a, b) => (b.lane.frames.length > a.lane.frames.length ? b : a));
    this.bar.name(longest.lane.frames);
    if (pictures.edit) {
      this.edit ??= new Editor(this.desk, this.model, this.words, edit => this.earlier(edit));
      this.edit.fill(pictures.edit);
      this.edit.say();
    }
    this.fit();
    this.player.at = this.step();
    this.player.to(this.step(), true);
  }
  close() {
    this.player.stop();
    this.reader.close();
    this.watcher.disconnect();
    this.letGo();
    if (this.edit) this.edit.close();
    for (const [event, call] of this.heard) this.model.off(event, call);
  }
}

function render({ model, el }) {
  const widget = new Widget(model, el);
  return () => widget.close();
}

export default { render };
