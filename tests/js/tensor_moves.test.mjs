// Geometry of TensorMoves, with node alone: node --test tests/js
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

const file = new URL("../../mha_lib/widgets/static/tensor_moves.js", import.meta.url);
const source = readFileSync(file, "utf8");
const moves = await import(`data:text/javascript;base64,${Buffer.from(source).toString("base64")}`);

test("unravel counts as a tensor is read", () => {
  assert.deepEqual(moves.unravel(0, [2, 4, 10]), [0, 0, 0]);
  assert.deepEqual(moves.unravel(57, [2, 4, 10]), [1, 1, 7]);
  assert.deepEqual(moves.unravel(0, []), []);
  const shape = [2, 3, 5];
  for (let flat = 0; flat < 30; flat++) {
    const [i, j, k] = moves.unravel(flat, shape);
    assert.equal(i * 15 + j * 5 + k, flat);
  }
});

test("place moves by every digit of every index, the slowest without a bound", () => {
  const piece = [[10, 20], [[[2, 0, 50], [2, 100, 0]], [[4, 0, 7]], [[9, 3, 0]]]];
  assert.deepEqual(moves.place(piece, [0, 0, 0]), [10, 20]);
  assert.deepEqual(moves.place(piece, [3, 2, 4]), [10 + 100 + 12, 20 + 50 + 14]);
  assert.deepEqual(moves.place(piece, [5, 0, 0]), [10 + 100, 20 + 100]);
});

test("walk follows the strides from the offset", () => {
  assert.deepEqual(moves.walk([0, 1, 3, 2], [40, 5, 10, 1], 0), [0, 0, 5, 35, 37]);
  assert.deepEqual(moves.walk([], [], 6), [6]);
});

test("cells keep one key each, also when they repeat, and are counted in reading order", () => {
  const step = (ids, texts) => ({ ids: Int32Array.from(ids), shape: [ids.length], texts });
  const frame = { steps: [step([4, 4, 7], Int32Array.of(0, 0, 1)), step([4], null)] };
  const layout = { pieces: [[[0, 0], [[[2, 0, 5], [2, 10, 0]]]], [[50, 0], [[[1, 1, 1]]]]] };
  const cells = moves.cellsOf(frame, layout);
  assert.deepEqual(cells.map(c => c.key), ["4/0", "4/1", "7/0", "4/2"]);
  assert.deepEqual(cells.map(c => [c.x, c.y]), [[0, 0], [10, 0], [0, 5], [50, 0]]);
  assert.deepEqual(cells.map(c => [c.order, c.text]), [[0, 0], [1, 0], [2, 1], [3, -1]]);
});

test("the tape is in address order, with room above each row", () => {
  const tape = moves.tapeOf(Int32Array.of(3, 1, 2, 0), null, 3, [20, 22], 16);
  assert.deepEqual(tape.map(c => [c.id, c.order, c.x, c.y]),
                   [[3, 0, 0, 16], [1, 1, 20, 16], [2, 2, 40, 16], [0, 3, 0, 54]]);
});

test("a row of the tape is a round number that fits", () => {
  assert.equal(moves.columnsFor(900, 18), 40);
  assert.equal(moves.columnsFor(400, 18), 20);
  assert.equal(moves.columnsFor(10, 18), 1);
  for (const width of [100, 237, 640]) assert.ok(moves.columnsFor(width, 18) * 18 <= width);
});

test("arrow keys find the next cell in their direction", () => {
  const cells = [[0, 0], [10, 0], [0, 10], [10, 10], [40, 0]].map(([x, y], id) => ({ x, y, id }));
  assert.equal(moves.nearest(cells, cells[0], 1, 0).id, 1);
  assert.equal(moves.nearest(cells, cells[1], 1, 0).id, 4);
  assert.equal(moves.nearest(cells, cells[0], 0, 1).id, 2);
  assert.equal(moves.nearest(cells, cells[0], -1, 0), null);
});

test("numbers from Python are cut by the offsets that came with them, at any byte offset", () => {
  const numbers = Int32Array.of(5, 6, 1, 0, 9);
  const bytes = new Uint8Array(numbers.byteLength + 3);
  bytes.set(new Uint8Array(numbers.buffer), 3);
  const frame = { steps: [{ shape: [2], ids: [0, 2], texts: null }], memory: [1, 2], memoryTexts: null };
  const lane = { frames: [frame], colours: [4, 1], corners: [3, 1], ticks: [1, 1] };
  const compare = { wrong: [2, 2], belongs: [3, 2] };
  const [first, second] = moves.decode({ lanes: [lane, lane], compare }, new DataView(bytes.buffer, 3));
  assert.deepEqual([...first.frames[0].steps[0].ids, ...first.frames[0].memory, ...first.colours, ...first.ticks],
                   [5, 6, 6, 1, 9, 6]);
  assert.equal(first.frames[0].steps[0].texts, null);
  assert.equal(first.wrong, null);
  assert.deepEqual([[...second.wrong], [...second.belongs]], [[1, 0], [0, 9]]);
});

const cell = (id, x, y = 0, key = `${id}/0`) => ({ id, key, x, y });
const keyed = cells => new Map(cells.map(c => [c.key, c]));

test("cells that travel together set off together, one group after another", () => {
  const from = [0, 1, 2, 3, 4, 5].map(i => cell(i, 10 * i));
  const to = [cell(0, 0), cell(1, 10), cell(2, 0, 20), cell(3, 10, 20), cell(4, 0, 40), cell(5, 10, 40)];
  const { moves: all, lasts, leaving } = moves.plan(keyed(from), to);
  assert.deepEqual(all.map(m => m.wait), [0, 0, 0, 0, 0.5, 0.5]);
  assert.equal(lasts, 0.5);
  assert.deepEqual(leaving, []);
  assert.deepEqual(moves.during(all[4], 0.5, lasts), [40, 0]); // the last group has not set off …
  assert.deepEqual(moves.during(all[2], 0.5, lasts), [0, 20]); // … when the first has arrived
  for (const move of all) {
    assert.deepEqual(moves.during(move, 0, lasts), [move.x, move.y]);
    assert.deepEqual(moves.during(move, 1, lasts), [move.cell.x, move.cell.y]);
  }
});

test("a single group takes the whole time, and what stays never moves", () => {
  const { moves: all, lasts } = moves.plan(keyed([cell(0, 0), cell(1, 10)]), [cell(0, 0), cell(1, 30)]);
  assert.equal(lasts, 1);
  assert.deepEqual(moves.during(all[0], 0.3, lasts), [0, 0]);
  assert.deepEqual(moves.during(all[1], 0.5, lasts), [20, 0]);
});

test("a copy sets off from its number, a new cell from nowhere, and what is gone leaves", () => {
  const to = [cell(0, 0), cell(0, 50, 0, "0/1"), cell(9, 70), cell(-1, 90, 0, "-1/0")];
  const { moves: all, leaving } = moves.plan(keyed([cell(0, 5), cell(7, 60)]), to);
  assert.deepEqual(all.map(m => [m.x, m.fresh]), [[5, false], [5, false], [70, true], [90, true]]);
  assert.deepEqual(leaving.map(c => c.id), [7]);
});

test("the reading head glides where memory goes on and jumps where it does not", () => {
  const step = (shape, stride, offset = 0, start = 0) =>
    ({ shape, stride, offset, start, ids: new Int32Array(shape.reduce((a, b) => a * b, 1)) });
  assert.equal(moves.reading([step([2, 4, 10], [40, 10, 1])]).count, 0);
  const split = moves.reading([step([2, 2, 4, 5], [40, 5, 10, 1])]);
  assert.equal(split.count, 2 * 2 * 4 - 2); // sixteen lines; from 39 to 40 memory goes on
  assert.deepEqual(split.addresses.slice(3, 7), [3, 4, 10, 11]);
  assert.deepEqual(split.jumps.slice(3, 7), [false, false, true, false]);
  assert.equal(moves.reading([step([3], [0])]).count, 2); // the same cell, read again
  const parts = moves.reading([step([2], [1], 4), step([2], [1], 0, 10)]);
  assert.deepEqual([parts.addresses, parts.count], [[4, 5, 10, 11], 0]); // from tensor to tensor is no jump
  assert.deepEqual(moves.reading([step([0], [1])]), { addresses: [], jumps: [], count: 0 });
});

test("an arrow along the tape leaves at the end of a row and goes on in the next", () => {
  assert.deepEqual(moves.stretches(5, 35, 40), [[0, 5, 35]]);
  assert.deepEqual(moves.stretches(30, 50, 40), [[0, 30, 39.5], [1, -0.5, 10]]);
  assert.deepEqual(moves.stretches(50, 30, 40), [[1, 10, -0.5], [0, 39.5, 30]]);
  assert.deepEqual(moves.stretches(0, 85, 40), [[0, 0, 39.5], [1, -0.5, 39.5], [2, -0.5, 5]]);
});

test("of the names along the slider those are shown for which there is room, the present one first", () => {
  const spans = [0, 30, 60, 90, 120, 150].map(left => [left, left + 40]);
  assert.deepEqual([...moves.namesWithRoom(spans, 0)].sort(), [0, 2, 5]);
  assert.deepEqual([...moves.namesWithRoom(spans, 1)].sort(), [1, 3, 5]);
  assert.deepEqual([...moves.namesWithRoom(spans, 4)].sort(), [0, 2, 4]);
  const apart = [0, 60, 120].map(left => [left, left + 40]);
  assert.deepEqual([...moves.namesWithRoom(apart, 1)].sort(), [0, 1, 2]);
  assert.deepEqual([...moves.namesWithRoom([], 0)], []);
});

test("a column is found again by its axis' name, also where two have the same", () => {
  const [sentence, head, word] = [[["sentence", 0]], [["head", 2]], [["word", 1]]];
  const before = moves.columnKeys([sentence, word, head]), after = moves.columnKeys([sentence, head, word]);
  assert.deepEqual([after.indexOf(before[1]), after.indexOf(before[2])], [2, 1]);
  assert.equal(new Set(moves.columnKeys([word, word])).size, 2);
});
