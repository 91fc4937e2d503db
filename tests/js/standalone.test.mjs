// What stands in for Jupyter's model on a page without a kernel.
import assert from "node:assert/strict";
import test from "node:test";
import { deflateSync } from "node:zlib";

import { open, standIn, start } from "../../mha_lib/widgets/static/standalone.js";

test("bytes come back, packed or not, and everything else as it is", async () => {
  const base64 = Buffer.from([1, 2, 250]).toString("base64");
  assert.deepEqual(new Uint8Array((await open({ base64 })).buffer), Uint8Array.of(1, 2, 250));
  const deflate = deflateSync(Buffer.alloc(1000, 7)).toString("base64");
  assert.equal(new Uint8Array((await open({ deflate })).buffer).filter((value) => value === 7).length, 1000);
  assert.equal(await open("words"), "words");
  assert.equal(await open(null), null);
});

test("a widget hears what it sets, until it stops listening", async () => {
  const heard = [];
  const model = standIn({ query: 0 });
  const call = () => heard.push(model.get("query"));
  model.on("change:query", call);
  model.set("query", 2);
  model.off("change:query", call);
  model.set("query", 3);
  model.save_changes();
  assert.deepEqual(heard, [2]);
});

test("start opens the state and renders", async () => {
  const shown = await start("element", { default: { render: ({ model, el }) => [el, model.get("n")] } }, { n: 5 });
  assert.deepEqual(shown, ["element", 5]);
});
