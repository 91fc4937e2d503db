// The bars of ScalePlayground, without a page.
import assert from "node:assert/strict";
import test from "node:test";

import { bars } from "../../mha_lib/widgets/static/scale_playground.js";

test("a bar a weight, as high as the weight; the largest says its number", () => {
  const drawn = bars([0.25, 0.5, 0.25], "#123456");
  assert.deepEqual([...drawn.matchAll(/ height="([^"]+)"/g)].map((m) => Number(m[1])), [37.5, 75, 37.5]);
  assert.deepEqual([...drawn.matchAll(/>([^<]+)<\/text>/g)].map((m) => m[1]), ["0.50"]);
});
