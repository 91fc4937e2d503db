// What AttentionPlane computes in the page, without a page.
import assert from "node:assert/strict";
import test from "node:test";

import { attend, bar, fill, letterAt, moved, place, pointAt, shown } from "../../mha_lib/widgets/static/attention_plane.js";

const near = (have, want) => have.forEach((number, i) => assert.ok(Math.abs(number - want[i]) < 1e-6, `${have} is not ${want}`));

test("the query of sleep, as notebook 01 has it by hand", () => {
  const now = attend([2, 1], [[0, 1], [2, 0], [0, 1]], [[1, 0], [0, 4], [2, 2]], 1 / Math.sqrt(2));
  assert.deepEqual(now.scores, [1, 4, 1]);
  near(now.scaled, [1 / Math.sqrt(2), 4 / Math.sqrt(2), 1 / Math.sqrt(2)]);
  const power = Math.exp(3 / Math.sqrt(2));
  near(now.weights, [1 / (2 + power), power / (2 + power), 1 / (2 + power)]);
  near(now.context, [3 / (2 + power), (4 * power + 2) / (2 + power)]);
});

test("large scores do not blow up", () => {
  near(attend([1000, 0], [[1, 0], [0, 0]], [[1, 0], [0, 1]], 1).weights, [1, 0]);
});

test("a point goes into the drawing and comes back", () => {
  const box = { x: 100, y: 80, unit: 20 };
  assert.deepEqual(place(box, [1, 2]), [120, 40]);
  assert.deepEqual(pointAt(box, [120, 40]), [1, 2]);
});

test("q's letter turns inward in the far corner, away from the heading and the edge", () => {
  assert.deepEqual(letterAt([2, 1], 3), { x: 18, y: -6, "text-anchor": "start" });
  assert.deepEqual(letterAt([3, 3], 3), { x: -18, y: 16, "text-anchor": "end" });
  assert.equal(letterAt([-3, 3], 3).x, 18);
});

test("steps are whole and stay inside", () => {
  assert.deepEqual(moved([1, 1], [0.25, 0], 0.25, 3), [1.25, 1]);
  assert.deepEqual(moved([3, -3], [0.25, -0.25], 0.25, 3), [3, -3]);
  assert.deepEqual(moved([1.13, 0.4], [0, 0], 0.25, 3), [1.25, 0.5]);
});

test("a weight grows from the left, a score both ways from the middle", () => {
  assert.deepEqual(bar(0.5, 1, false), [0, 50]);
  assert.deepEqual(bar(3, 6, true), [50, 25]);
  assert.deepEqual(bar(-3, 6, true), [25, 25]);
  assert.deepEqual(bar(0, 0, true), [50, 0]);
});

test("numbers and sentences", () => {
  assert.deepEqual([0.125, 4, -0.001].map(shown), ["0.13", "4.00", "0.00"]);
  assert.equal(fill("q = [{query}], {x}", { query: "1" }), "q = [1], {x}");
});
