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

test("place adds each axis' part and wraps", () => {
  const piece = { at: [10, 20], axes: [[100, 50, 2], [0, 7, 1], [3, 0, 9]] };
  assert.deepEqual(moves.place(piece, [0, 0, 0]), [10, 20]);
  assert.deepEqual(moves.place(piece, [3, 2, 4]), [10 + 100 + 12, 20 + 50 + 14]);
});

test("walk follows the strides from the offset", () => {
  assert.deepEqual(moves.walk([0, 1, 3, 2], [40, 5, 10, 1], 0), [0, 0, 5, 35, 37]);
  assert.deepEqual(moves.walk([], [], 6), [6]);
});

test("cells keep one key each, also when they repeat", () => {
  const frame = { ids: [Int32Array.of(4, 4, 7), Int32Array.of(4)], steps: [{ shape: [3] }, { shape: [1] }] };
  const picture = { pieces: [{ at: [0, 0], axes: [[10, 5, 2]] }, { at: [50, 0], axes: [[1, 1, 1]] }] };
  const cells = moves.cellsOf(frame, picture);
  assert.deepEqual(cells.map(c => c.key), ["4/0", "4/1", "7/0", "4/2"]);
  assert.deepEqual(cells.map(c => [c.x, c.y]), [[0, 0], [10, 0], [0, 5], [50, 0]]);
});

test("the tape is in address order", () => {
  const tape = moves.tapeOf(Int32Array.of(3, 1, 2, 0), 3, 20, 22);
  assert.deepEqual(tape.map(c => [c.id, c.address, c.x, c.y]),
                   [[3, 0, 0, 0], [1, 1, 20, 0], [2, 2, 40, 0], [0, 3, 0, 22]]);
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

test("numbers from Python are cut into frames, colours and marks, at any byte offset", () => {
  const numbers = Int32Array.of(0, 1, 1, 0, 0, 1, 0, 5, 6, 6, 0, 1);
  const bytes = new Uint8Array(numbers.byteLength + 3);
  bytes.set(new Uint8Array(numbers.buffer), 3);
  const lane = { frames: [{ steps: [{ shape: [2] }], memory: 2 }], total: 1 };
  const two = { lanes: [lane, { ...lane, total: 1 }], compare: {} };
  const [first, second] = moves.decode(two, new DataView(bytes.buffer, 3));
  assert.deepEqual([...first.frames[0].ids[0], ...first.frames[0].memory, ...first.colours], [0, 1, 1, 0, 0]);
  assert.deepEqual([...second.frames[0].ids[0], ...second.wrong], [1, 0, 0, 1]);
});
