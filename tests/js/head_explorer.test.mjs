// The geometry and the numbers of HeadExplorer, without a page.
import assert from "node:assert/strict";
import test from "node:test";

import {
  MASKED, NAN, cellSize, fill, largest, maskedRuns, number, offset, shorten, wordWidth,
} from "../../mha_lib/widgets/static/head_explorer.js";

test("thousandths are shown as they came", () => {
  const text = { nan: "NaN", none: "–" };
  const shown = [0, 5, 62, 931, 1000, 2000, NAN, MASKED].map((value) => number(value, text));
  assert.deepEqual(shown, ["0.000", "0.005", "0.062", "0.931", "1.000", "2.000", "NaN", "–"]);
});

test("a sentence is filled, and a word in braces stays a word", () => {
  assert.equal(fill("{query}: {looks}.", { query: "{looks}", looks: "x" }), "{looks}: x.");
  assert.equal(fill("{unknown}", {}), "{unknown}");
});

test("the row of a query in the buffer", () => {
  const shape = [2, 3, 4, 5]; // layers, heads, queries, keys
  const flat = Array.from({ length: 120 }, (_, i) => i);
  assert.equal(flat[offset(shape, 0, 0)], 0);
  assert.equal(flat[offset(shape, 1, 2, 3)], 115);
  assert.equal(offset(shape, 1, 0) - offset(shape, 0, 2, 3), 5);
});

test("the largest weight, where there is one", () => {
  assert.equal(largest(Uint16Array.of(3, 9, MASKED, 9)), 1);
  assert.equal(largest(Uint16Array.of(0, 0)), 0);
  assert.equal(largest(Uint16Array.of(MASKED, NAN)), -1);
  assert.equal(largest(new Uint16Array(0)), -1);
});

test("runs of masked keys", () => {
  assert.deepEqual(maskedRuns(Uint16Array.of(1, MASKED, MASKED, 0, MASKED)), [[1, 2], [4, 1]]);
  assert.deepEqual(maskedRuns(Uint16Array.of(0, NAN)), []);
});

test("maps fit a page, and the example's cells hold their numbers", () => {
  assert.ok(cellSize(2, 4, 4) >= 44);
  assert.ok(6 * (cellSize(12, 64, 64) * 64 + 13) <= 830, "six maps side by side");
  for (const [count, queries, keys] of [[1, 512, 512], [2, 3, 400], [16, 16, 16], [1, 0, 0]]) {
    const cell = cellSize(count, queries, keys);
    assert.ok(cell > 0 && cell <= 44 && cell * Math.max(queries, keys) <= 460);
  }
});

test("long words are shortened by signs, not by halves of them", () => {
  assert.equal(shorten("cats"), "cats");
  assert.equal([...shorten("😀".repeat(20))].length, 12);
  assert.ok(shorten("😀".repeat(20)).endsWith("😀…"));
  assert.ok(wordWidth("注意力") > wordWidth("abc"));
});
