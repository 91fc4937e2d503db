// The geometry and the numbers of HeadExplorer, without a page.
import assert from "node:assert/strict";
import test from "node:test";

import {
  MASKED, NAN, apart, cellSize, fill, headName, headsOf, inks, largest, line, maskedRuns, number, pool, shorten, sorted, step,
  together, wordWidth, zooms,
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

test("a query's row and a key's column of a map", () => {
  const shape = [1, 1, 2, 3];
  const map = Uint16Array.of(0, 1, 2, 3, 4, 5);
  assert.deepEqual([...line(map, "query", 1, shape)], [3, 4, 5]);
  assert.deepEqual([...line(map, "key", 1, shape)], [1, 4]);
});

test("heads are counted through all blocks and named by block and letter", () => {
  const heads = [{ letter: "A" }, { letter: "B" }, { letter: "C" }];
  assert.deepEqual(headsOf(2, [4, 3, 1, 1]), [6, 7, 8]);
  assert.equal(headName(7, [4, 3, 1, 1], heads), "3 B");
  assert.equal(headName(1, [1, 3, 1, 1], heads), "B");
});

test("a map made small keeps its largest weights", () => {
  const eye = new Uint16Array(100 * 100);
  for (let i = 0; i < 100; i += 1) eye[i * 101] = 1000;
  const { cells: small, rows, columns } = pool(eye, 100, 100, 32);
  assert.deepEqual([rows, columns], [25, 25]);
  small.forEach((value, i) => assert.equal(value, i % 26 === 0 ? 1000 : 0));
  const marks = Uint16Array.of(MASKED, 5, NAN, 900, MASKED, MASKED, 0, 7);
  assert.deepEqual([...pool(marks, 1, 8, 4).cells], [5, NAN, MASKED, 7]);
  assert.deepEqual([...pool(Uint16Array.of(1, MASKED), 1, 2, 32).cells], [1, MASKED]);
});

test("heads in the order of a score, without one last, equal ones as they were", () => {
  assert.deepEqual(sorted(undefined, 3), [0, 1, 2]);
  const values = [0.2, null, 0.9, 0.2];
  assert.deepEqual(sorted({ low_first: false, values }, 4), [2, 0, 3, 1]);
  assert.deepEqual(sorted({ low_first: true, values }, 4), [0, 3, 2, 1]);
});

test("arrow keys go through a grid and stop at its edge", () => {
  const go = (key, at) => step(key, at, 10, 4);
  assert.deepEqual([go("ArrowRight", 0), go("ArrowLeft", 0), go("ArrowDown", 5), go("ArrowUp", 5), go("ArrowDown", 7)], [1, 0, 9, 1, 7]);
  assert.deepEqual([go("Home", 7), go("End", 7), go("x", 7)], [0, 9, 7]);
});

test("letters at one place never lie on each other", () => {
  assert.equal(together(["A", "B", "C"]), "A B C");
  assert.equal(together([..."ABCDEFGHIJKL"]), "A B +10");
  assert.equal(together(["3 J", "1 I", "2 C"]), "3 J +2");
});

test("cells are zoomed until they hold their number", () => {
  assert.deepEqual(zooms(44), [44]);
  assert.deepEqual(zooms(20), [20, 40, 44]);
  assert.deepEqual(zooms(0.5), [0.5, 8, 16, 32, 44]);
});

test("a word from right to left keeps to itself", () => {
  assert.equal(apart("cats"), "cats");
  assert.equal(apart("שלום"), "\u2068שלום\u2069");
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
  assert.ok(cellSize(1, 14, 14, 300) * 14 <= 300, "a phone is narrow");
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

test("every weight has the colour of its palette, masked and NaN their own", () => {
  const palette = Array.from({ length: 256 }, (_, i) => `#${i.toString(16).padStart(2, "0")}0102`);
  const { thousandths, shades } = inks(palette);
  const red = (pixel) => pixel & 255;
  for (const value of [0, 3, 4, 499, 500, 999]) assert.equal(red(thousandths[value]), Math.floor(value * 0.256));
  assert.equal(red(thousandths[1000]), 255);
  assert.equal(red(thousandths[2000]), 255, "above 1 it is the colour of 1");
  assert.equal(thousandths[MASKED], 0xffd9d9d9);
  assert.equal(thousandths[NAN], 0xffa8e9ff);
  assert.deepEqual([red(shades[0]), red(shades[253]), shades[254], shades[255]], [0, 253, 0xffd9d9d9, 0xffa8e9ff]);
});
