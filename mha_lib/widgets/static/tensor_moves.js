// TensorMoves: draws what Python recorded. Places come from three numbers an axis
// (dx, dy, wrap) and from the recorded order of cells; no operation's rule is known here.

const TRAVEL = 550; // milliseconds from one step to the next
const REST = 1300; // between steps while playing
const SVG = "http://www.w3.org/2000/svg";

// ---- geometry, free of the page (tests import these) ----

/** The index along each axis of the cell that is `flat`-th in reading order. */
export function unravel(flat, shape) {
  const index = new Array(shape.length);
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    index[axis] = flat % shape[axis];
    flat = Math.floor(flat / shape[axis]);
  }
  return index;
}

/** x and y of the cell at `index`: each axis adds (i % wrap)·dx and floor(i / wrap)·dy. */
export function place(piece, index) {
  let [x, y] = piece.at;
  index.forEach((i, axis) => {
    const [dx, dy, wrap] = piece.axes[axis];
    x += (i % wrap) * dx;
    y += Math.floor(i / wrap) * dy;
  });
  return [x, y];
}

/** The addresses that the strides pass through on the way to `index`, the offset first. */
export function walk(index, stride, offset) {
  const stops = [offset];
  index.forEach((i, axis) => stops.push(stops[axis] + i * stride[axis]));
  return stops;
}

/** All cells of a frame as {id, key, x, y, piece, index}; a repeated cell gets its own key. */
export function cellsOf(frame, picture) {
  const cells = [], seen = new Map();
  frame.ids.forEach((ids, piece) => {
    const shape = frame.steps[piece].shape;
    ids.forEach((id, flat) => {
      const again = seen.get(id) || 0;
      seen.set(id, again + 1);
      const index = unravel(flat, shape);
      const [x, y] = place(picture.pieces[piece], index);
      cells.push({ id, key: `${id}/${again}`, x, y, piece, index, flat });
    });
  });
  return cells;
}

/** The memory in address order, `columns` to a row. */
export function tapeOf(memory, columns, width, height) {
  const seen = new Map();
  return Array.from(memory, (id, address) => {
    const again = seen.get(id) || 0;
    seen.set(id, again + 1);
    return { id, key: `${id}/${again}`, address, x: (address % columns) * width,
             y: Math.floor(address / columns) * height };
  });
}

/** How many tape cells stand in a row: a round number, so that addresses are easily read. */
export function columnsFor(available, width) {
  const most = Math.max(1, Math.floor(available / width));
  return [400, 200, 100, 40, 20, 10, 8, 5].find(few => few <= most) || most;
}

/** The nearest cell in direction (dx, dy): straight ahead counts more than to the side. */
export function nearest(cells, from, dx, dy) {
  let best = null, least = Infinity;
  for (const cell of cells) {
    const ahead = (cell.x - from.x) * dx + (cell.y - from.y) * dy;
    const aside = Math.abs((cell.x - from.x) * dy) + Math.abs((cell.y - from.y) * dx);
    if (ahead > 0.5 && ahead + 4 * aside < least) [best, least] = [cell, ahead + 4 * aside];
  }
  return best;
}

/** Cut the numbers that came from Python into each frame's cells and memory. */
export function decode(pictures, view) {
  const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
  const all = new Int32Array(bytes);
  let at = 0;
  const take = count => all.subarray(at, (at += count));
  const lanes = pictures.lanes.map(lane => {
    const frames = lane.frames.map(frame => ({
      ...frame,
      ids: frame.steps.map(step => take(step.shape.reduce((a, b) => a * b, 1))),
      memory: take(frame.memory),
    }));
    return { ...lane, frames, colours: take(lane.total), wrong: null };
  });
  if (pictures.compare) lanes[1].wrong = take(all.length - at);
  return lanes;
}

const fill = (pattern, values) => pattern.replace(/\{(\w+)\}/g, (_, name) => values[name]);

function make(tag, className, parent, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

// ---- two ways to draw a set of cells: an element each, or paint ----

class Elements {
  constructor(box) {
    this.box = box;
    this.nodes = new Map();
  }
  show(cells, look) {
    const kept = new Map();
    for (const cell of cells) {
      let node = this.nodes.get(cell.key);
      if (!node) {
        node = make("div", "mha-cell mha-new", this.box);
        const { address, origin, background, ink, corner, text } = look(cell);
        node.dataset.address = address;
        node.dataset.origin = origin;
        if (corner) node.classList.add(`mha-corner${corner}`);
        if (background) Object.assign(node.style, { background, color: ink });
        else node.classList.add("mha-blank");
        node.textContent = text;
        if (text.length > 3) node.classList.add("mha-small");
      }
      this.nodes.delete(cell.key);
      kept.set(cell.key, node);
      node.style.transform = `translate(${cell.x}px, ${cell.y}px)`;
      node.cell = cell;
    }
    for (const node of this.nodes.values()) node.remove();
    this.nodes = kept;
    if (this.fading) cancelAnimationFrame(this.fading);
    this.fading = requestAnimationFrame(() => {
      for (const node of kept.values()) node.classList.remove("mha-new");
    });
  }
  mark(id, wrong) {
    for (const node of this.nodes.values()) {
      node.classList.toggle("mha-followed", id !== null && node.cell.id === id);
      node.classList.toggle("mha-wrong", Boolean(wrong && wrong[node.cell.flat]));
    }
  }
  hit(event) {
    const node = event.target.closest(".mha-cell");
    return node ? node.cell : null;
  }
  close() {
    cancelAnimationFrame(this.fading);
  }
}

class Painted {
  constructor(box, cell) {
    this.box = box;
    this.size = cell;
    this.canvas = make("canvas", "mha-canvas", box);
    this.cells = [];
    this.before = new Map();
  }
  show(cells, look, still) {
    this.before = new Map(this.cells.map(cell => [cell.key, cell]));
    this.cells = cells;
    this.look = look;
    const began = performance.now();
    cancelAnimationFrame(this.tick);
    const frame = now => {
      const t = still ? 1 : Math.min(1, (now - began) / TRAVEL);
      this.paint(t * t * (3 - 2 * t));
      if (t < 1) this.tick = requestAnimationFrame(frame);
    };
    frame(began);
  }
  paint(part) {
    const width = this.box.clientWidth, height = this.box.clientHeight;
    const dense = Math.min(window.devicePixelRatio || 1, 4096 / Math.max(width, height, 1));
    const [w, h] = this.size;
    this.canvas.width = Math.ceil(width * dense);
    this.canvas.height = Math.ceil(height * dense);
    const draw = this.canvas.getContext("2d");
    draw.scale(dense, dense);
    draw.textAlign = "center";
    draw.textBaseline = "middle";
    draw.font = "12px monospace";
    for (const cell of this.cells) {
      const from = this.before.get(cell.key) || cell;
      const x = from.x + (cell.x - from.x) * part, y = from.y + (cell.y - from.y) * part;
      const { background, ink, text } = this.look(cell);
      const edge = w > 6 ? 1 : 0;
      draw.fillStyle = background || "#8888";
      draw.fillRect(x + edge / 2, y + edge / 2, w - edge, h - edge);
      if (w >= 26 && text) {
        draw.fillStyle = ink;
        draw.fillText(text, x + w / 2, y + h / 2);
      }
      if (this.wrong && this.wrong[cell.flat]) {
        draw.strokeStyle = ink;
        draw.beginPath();
        draw.moveTo(x + 1, y + 1);
        draw.lineTo(x + w - 1, y + h - 1);
        draw.stroke();
      }
      if (cell.id === this.id) {
        draw.lineWidth = 3;
        draw.strokeStyle = "#e00000";
        draw.strokeRect(x, y, w, h);
        draw.lineWidth = 1;
      }
    }
  }
  mark(id, wrong) {
    [this.id, this.wrong] = [id, wrong];
    this.paint(1);
  }
  hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const zoom = box.width / this.box.clientWidth || 1;
    const x = (event.clientX - box.left) / zoom, y = (event.clientY - box.top) / zoom;
    return this.cells.find(c => x >= c.x && x < c.x + this.size[0] && y >= c.y && y < c.y + this.size[1]) || null;
  }
  close() {
    cancelAnimationFrame(this.tick);
  }
}

// ---- one recording: what was done, the cells, the memory ----

class Lane {
  constructor(parent, lane, words, pictures, actions) {
    Object.assign(this, { lane, words, pictures, actions });
    this.root = make("div", "mha-lane", parent);
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", lane.title);
    const head = make("div", "mha-head", this.root);
    this.says = make("div", "mha-says", head);
    this.says.setAttribute("aria-live", "polite");
    this.facts = make("table", "mha-facts", head);
    this.stage = make("div", "mha-stage", this.root);
    this.stage.tabIndex = 0;
    this.stage.setAttribute("role", "application");
    this.stage.setAttribute("aria-label", words.picture);
    this.plane = make("div", "mha-plane", this.stage);
    const memory = make("div", "mha-memory", this.root);
    this.tape = make("div", "mha-tape", memory);
    this.tapeName = make("div", "mha-tape-name", memory);
    this.painted = Math.max(...lane.frames.map(f => f.ids.reduce((n, ids) => n + ids.length, 0))) > pictures.each;
    this.ways = [this.plane, this.tape].map(box => {
      const svg = document.createElementNS(SVG, "svg");
      svg.setAttribute("class", "mha-way");
      svg.setAttribute("aria-hidden", "true");
      box.append(svg);
      return svg;
    });
    const longest = Math.max(2, ...lane.values.map(text => text.length));
    this.tapeCell = this.painted ? [2, 4] : [4 + 7 * longest, 20];
    this.cells = this.painted ? new Painted(this.plane, pictures.cell) : new Elements(this.plane);
    this.tapeCells = this.painted ? new Painted(this.tape, this.tapeCell) : new Elements(this.tape);
    this.tape.style.setProperty("--mha-tape", `${this.tapeCell[0]}px`);
    this.labels = make("div", "mha-labels", this.plane);
    this.ticks = make("div", "mha-labels", this.tape);
    this.stage.addEventListener("keydown", event => this.key(event));
    for (const [box, cells] of [[this.stage, this.cells], [this.tape, this.tapeCells]]) {
      box.addEventListener("click", event => {
        const cell = cells.hit(event);
        if (cell) actions.follow(cell.id);
      });
      box.addEventListener("pointermove", event => actions.hover((cells.hit(event) || { id: null }).id));
      box.addEventListener("pointerleave", () => actions.hover(null));
    }
  }

  /** Choose the layout for the room there is; true if that changed anything. */
  fit(available) {
    const size = variant => ["0", "1"].map(side => Math.max(
      ...this.lane.frames.map(frame => frame.pictures[variant].size[side])));
    const variant = size(0)[0] <= available - 4 ? 0 : 1;
    const [width, height] = size(variant);
    const room = Math.min(1, (available - 12) / width); // numbers stay 12 px high at least
    const zoom = this.painted ? Math.min(room, 440 / height) : Math.max(0.92, room);
    const columns = columnsFor(available - 36, this.tapeCell[0]);
    const same = variant === this.variant && zoom === this.zoom && columns === this.columns;
    Object.assign(this, { variant, zoom, columns });
    Object.assign(this.plane.style, { width: `${width}px`, height: `${height}px`, transform: `scale(${zoom})`,
                                      marginRight: `${(zoom - 1) * width}px` });
    this.stage.style.height = `${height * zoom + 4}px`;
    const rows = Math.ceil(Math.max(...this.lane.frames.map(f => f.memory.length)) / columns);
    const [wide, high] = this.tapeCell;
    Object.assign(this.tape.style, { width: `${columns * wide}px`, height: `${rows * high}px` });
    return !same;
  }

  show(number, still) {
    const frame = this.lane.frames[Math.min(number, this.lane.frames.length - 1)];
    const old = this.frame;
    this.frame = frame;
    this.before = frame === old ? this.before : this.drawn;
    this.root.classList.toggle("mha-still", still);
    const picture = frame.pictures[this.variant];
    this.drawn = cellsOf(frame, picture);
    const look = cell => this.look(cell, frame);
    this.cells.show(this.drawn, look, still);
    this.taped = tapeOf(frame.memory, this.columns, ...this.tapeCell);
    this.tapeCells.show(this.taped, look, still);
    this.ticks.replaceChildren();
    for (let at = 0; at < this.taped.length && !this.painted; at += this.columns) {
      make("div", "mha-tick", this.ticks, at).style.top = `${this.taped[at].y}px`;
    }
    if (frame !== old || still) {
      this.write(frame);
      this.label(picture);
    }
  }

  look({ id, address }, frame) {
    if (id < 0) return { address: -1, origin: "", background: null, ink: "", corner: 0, text: frame.steps[0].blank };
    const [origin, start] = this.origin(id);
    const [background, ink] = this.pictures.palette[this.lane.colours[id]];
    return { address: id - start, origin, background, ink, corner: this.lane.shapes[id] || 0,
             text: this.lane.values[id] ?? "" };
  }

  origin(id) {
    return this.lane.origins.reduce((found, origin) => (origin[1] <= id ? origin : found));
  }

  write(frame) {
    this.says.replaceChildren();
    const step = frame.steps[0];
    const line = make("div", "mha-line-one", this.says);
    make("code", "mha-operation", line, frame.operation);
    make("span", "mha-badge", line, step.contiguous ? this.words.contiguous : this.words.not_contiguous);
    if (frame.within) make("code", "mha-within", this.says, frame.within);
    make("p", "mha-sentence", this.says, frame.sentence);
    this.facts.replaceChildren();
    const rows = [[this.words.axis, step.axes], [this.words.shape, step.shape], [this.words.stride, step.stride]];
    for (const [title, values] of rows) {
      const row = make("tr", "", this.facts);
      make("th", "", row, title).scope = "row";
      values.forEach((value, axis) => {
        const cell = make("td", `mha-tone${step.axes[axis][0][1]}`, row);
        if (!Array.isArray(value)) cell.textContent = value;
        else value.forEach(([name, tone], i) => {
          make("span", `mha-tone${tone}`, cell, (i ? "·" : "") + name);
        });
      });
    }
    this.tapeName.replaceChildren();
    make("span", "", this.tapeName, this.words.tape);
    make("b", "", this.tapeName, frame.tape);
  }

  label(picture) {
    this.labels.replaceChildren();
    for (const [kind, list] of [["block", picture.blocks], ["row", picture.rows]]) {
      for (const [x, y, width, parts] of list) {
        const label = make("div", `mha-${kind} mha-edge${parts.length ? parts[parts.length - 1][1] : 5}`, this.labels);
        Object.assign(label.style, { left: `${x}px`, top: `${y}px`, width: `${width}px` });
        parts.forEach(([text, tone], i) => {
          if (i) make("span", "", label, " · ");
          make("span", `mha-tone${tone}`, label, text);
        });
      }
    }
  }

  /** Mark the followed cell, its way through the picture, and the strides' way along the memory. */
  follow(id) {
    this.cells.mark(id, this.last ? this.lane.wrong : null);
    this.tapeCells.mark(id, null);
    for (const svg of this.ways) svg.replaceChildren();
    if (id === null || id < 0) return;
    const here = this.drawn.find(cell => cell.id === id);
    if (!here) return;
    const [w, h] = this.pictures.cell, [tw, th] = this.tapeCell;
    const there = (this.before || []).find(cell => cell.key === here.key);
    if (there && !this.painted) this.line(0, [there.x + w / 2, there.y + h / 2], [here.x + w / 2, here.y + h / 2], 6);
    const step = this.frame.steps[here.piece];
    const stops = walk(here.index, step.stride, step.offset + step.start);
    stops.slice(1).forEach((stop, axis) => {
      const [a, b] = [stops[axis], stop].map(at => this.taped[at]);
      if (a && b && a !== b) this.line(1, [a.x + tw / 2, a.y + th / 2], [b.x + tw / 2, b.y + th / 2], step.axes[axis][0][1]);
    });
  }

  line(which, [x, y], [u, v], tone) {
    const path = document.createElementNS(SVG, "path");
    const far = Math.hypot(u - x, v - y);
    if (!which && far < 40) return; // too short to be seen between two cells
    const bend = which && y === v ? 30 : Math.min(16, far / 4); // along the memory: above its numbers
    path.setAttribute("d", `M${x} ${y} Q${(x + u) / 2} ${(y + v) / 2 - bend} ${u} ${v}`);
    path.setAttribute("class", `mha-line mha-tone${tone}`);
    this.ways[which].append(path);
  }

  /** The followed cell's index at every step, and how the strides lead to it now. */
  tell(id, parent) {
    const words = this.words, first = this.look({ id }, this.frame);
    const value = first.text;
    make("span", "", parent, fill(value ? words.follow : words.follow_many, { value, origin: first.origin, address: first.address }));
    const trail = make("ol", "mha-trail", parent);
    this.lane.frames.forEach(frame => {
      const item = make("li", frame === this.frame ? "mha-now" : "", trail);
      const found = frame.ids.flatMap((ids, piece) => {
        const flat = ids.indexOf(id);
        return flat < 0 ? [] : [`[${unravel(flat, frame.steps[piece].shape).join(", ")}]`];
      });
      item.textContent = found[0] || words.absent;
      if (frame === this.frame) item.setAttribute("aria-current", "step");
    });
    const here = this.drawn.find(cell => cell.id === id);
    if (!here) return;
    const step = this.frame.steps[here.piece];
    const path = make("span", "mha-walk", parent);
    make("span", "", path, `${words.walk} ${step.offset}`);
    here.index.forEach((i, axis) => {
      const name = step.axes[axis].map(part => part[0]).join("·");
      make("span", `mha-tone${step.axes[axis][0][1]}`, path, ` +${i * step.stride[axis]} ${fill(words.along, { name })}`);
    });
    const stops = walk(here.index, step.stride, step.offset);
    make("span", "", path, ` = ${stops[stops.length - 1]}`);
  }

  key(event) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!way) return;
    event.preventDefault();
    event.stopPropagation();
    const from = this.drawn.find(cell => cell.id === this.actions.followed());
    const next = from ? nearest(this.drawn, from, ...way) : this.drawn[0];
    if (next) this.actions.follow(next.id, true);
  }

  close() {
    this.cells.close();
    this.tapeCells.close();
  }
}

// ---- the learner's own chain ----

function editor(parent, model, words) {
  const form = make("form", "mha-edit", parent);
  const fields = {};
  const field = (name, type) => {
    const label = make("label", `mha-field mha-${name}`, form);
    make("span", "", label, words[name]);
    fields[name] = make("input", "", label);
    fields[name].type = type;
    if (type === "number") Object.assign(fields[name], { min: 1, max: 512, required: true });
    else Object.assign(fields[name], { spellcheck: false, autocomplete: "off", autocapitalize: "off" });
  };
  for (const name of ["sentences", "words", "features", "heads"]) field(name, "number");
  field("chain", "text");
  const button = make("button", "mha-button mha-run", form, words.run);
  const trouble = make("div", "mha-trouble", form);
  trouble.setAttribute("role", "alert");
  const say = text => { // torch's own words, then what to do about them
    trouble.replaceChildren();
    text.split("\n").forEach((line, i) => line && make(i ? "div" : "code", "", trouble, line));
  };
  if (model.get("offline")) {
    for (const input of [...Object.values(fields), button]) input.disabled = true;
    make("p", "mha-note", form, words.needs_kernel);
  }
  form.addEventListener("keydown", event => { // JupyterLab keeps Enter from submitting a form by itself
    if (event.key !== "Enter" || event.target === button) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", event => {
    event.preventDefault();
    say(words.running);
    const sizes = {};
    for (const name of ["sentences", "words", "features", "heads"]) sizes[name] = Number(fields[name].value);
    model.send({ kind: "run", chain: fields.chain.value, sizes });
  });
  return {
    fill: edit => {
      for (const [name, value] of Object.entries({ ...edit.sizes, chain: edit.chain })) {
        if (fields[name].value !== String(value)) fields[name].value = value;
      }
    },
    say,
  };
}

// ---- the widget ----

function render({ model, el }) {
  const heard = [];
  const listen = (event, call) => {
    model.on(event, call);
    heard.push([event, call]);
  };
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
  const root = make("div", "mha-moves", el);
  root.dataset.lmSuppressShortcuts = "true"; // JupyterLab leaves keys to what is inside
  root.setAttribute("role", "group");
  const words = model.get("pictures").words;
  root.setAttribute("aria-label", words.title);
  let lanes = [], hovered = null, timer = null, edit = null;

  const bar = make("div", "mha-bar", root);
  const buttons = {};
  const name = (which, said) => {
    buttons[which].setAttribute("aria-label", said);
    buttons[which].title = said;
  };
  const button = (which, sign, act) => {
    buttons[which] = make("button", "mha-button", bar, sign);
    buttons[which].type = "button";
    buttons[which].addEventListener("click", act);
    name(which, words[which]);
  };
  const last = () => Math.max(...lanes.map(lane => lane.lane.frames.length)) - 1;
  const go = step => {
    model.set("step", Math.max(0, Math.min(last(), step)));
    model.save_changes();
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    name("play", words.play);
    buttons.play.textContent = words.play;
  };
  const move = step => {
    stop();
    go(step);
  };
  const play = () => {
    if (timer) return stop();
    go(model.get("step") >= last() ? 0 : model.get("step") + 1);
    name("play", words.pause);
    buttons.play.textContent = words.pause;
    timer = setInterval(() => {
      if (model.get("step") >= last()) return stop();
      go(model.get("step") + 1);
    }, TRAVEL + REST);
  };
  button("first", "|◀", () => move(0));
  button("previous", "◀", () => move(model.get("step") - 1));
  button("play", words.play, play);
  button("next", "▶", () => move(model.get("step") + 1));
  button("last", "▶|", () => move(last()));
  const range = make("input", "mha-range", bar);
  Object.assign(range, { type: "range", min: 0, step: 1 });
  range.setAttribute("aria-label", words.step);
  range.addEventListener("input", () => move(Number(range.value)));
  const count = make("span", "mha-count", bar);
  const desk = make("div", "", root);
  const verdict = make("p", "mha-verdict", root);
  verdict.setAttribute("aria-live", "polite");
  const box = make("div", "mha-lanes", root);
  const told = make("div", "mha-told", root);
  told.setAttribute("aria-live", "polite");

  const shownCell = () => hovered ?? (model.get("followed") >= 0 ? model.get("followed") : null);
  const actions = {
    followed: () => model.get("followed"),
    follow: (id, keep) => {
      model.set("followed", id === model.get("followed") && !keep ? -1 : id);
      model.save_changes();
    },
    hover: id => {
      if (id === hovered) return;
      hovered = id;
      follow();
    },
  };

  function follow() {
    const id = shownCell();
    lanes.forEach(lane => lane.follow(id));
    told.replaceChildren();
    if (id === null) make("span", "mha-hint", told, words.follow_hint);
    else lanes.forEach(lane => lane.tell(id, make("div", "mha-one", told)));
  }

  function show(still = false) {
    const step = Math.min(model.get("step"), last());
    lanes.forEach(lane => {
      lane.show(step, still || calm.matches);
      lane.last = step === last();
    });
    range.max = last();
    range.value = step;
    range.setAttribute("aria-valuetext", lanes[0].frame.operation);
    count.textContent = fill(words.count, { step, last: last() });
    for (const name of ["first", "previous"]) buttons[name].disabled = step === 0;
    for (const name of ["next", "last"]) buttons[name].disabled = step === last();
    const compare = model.get("pictures").compare;
    verdict.hidden = !compare;
    if (compare) verdict.textContent = step === last() ? compare.sentence : words.compare_wait;
    follow();
  }

  function fit() {
    const room = root.clientWidth - 24;
    root.classList.toggle("mha-slim", room < 640);
    const apart = lanes.length > 1 && room >= 800;
    root.classList.toggle("mha-apart", apart);
    const width = apart ? (room - 24) / 2 : room;
    return lanes.map(lane => lane.fit(width)).some(Boolean);
  }

  function rebuild() {
    lanes.forEach(lane => lane.close());
    box.replaceChildren();
    const pictures = model.get("pictures");
    lanes = decode(pictures, model.get("numbers")).map(lane => new Lane(box, lane, words, pictures, actions));
    hovered = null;
    if (pictures.edit) {
      edit ??= editor(desk, model, words);
      edit.fill(pictures.edit);
      edit.say(model.get("trouble"));
    }
    fit();
    show(true);
  }

  root.addEventListener("keydown", event => {
    const typing = event.target.matches("input:not([type=range])");
    const step = model.get("step");
    const act = { ArrowLeft: () => move(step - 1), ArrowRight: () => move(step + 1), Home: () => move(0),
                  End: () => move(last()), " ": play, Escape: () => actions.follow(-1, true) }[event.key];
    if (typing || !act || (event.key === " " && event.target.matches("button"))) return;
    event.preventDefault();
    act();
  });
  let waiting = false; // pictures and numbers come together: draw once for both
  const renew = () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      stop();
      rebuild();
    });
  };
  listen("change:pictures", renew);
  listen("change:numbers", renew);
  listen("change:step", () => show());
  listen("change:followed", follow);
  listen("change:trouble", () => edit && edit.say(model.get("trouble")));
  listen("msg:custom", message => message.kind === "done" && edit && edit.say(model.get("trouble")));
  const watcher = new ResizeObserver(() => fit() && show(true));
  rebuild();
  watcher.observe(root);

  return () => {
    stop();
    watcher.disconnect();
    lanes.forEach(lane => lane.close());
    for (const [event, call] of heard) model.off(event, call);
  };
}

export default { render };
