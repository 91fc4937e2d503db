// Prints each function of the given scripts with its number of lines, as JSON:
//   node tools/script_functions.mjs TYPESCRIPT_FOLDER SCRIPT…
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [folder, ...paths] = process.argv.slice(2);
const ts = createRequire(import.meta.url)(folder);

function* functions(path) {
  const file = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  const nodes = [file];
  while (nodes.length) {
    const node = nodes.pop();
    ts.forEachChild(node, (child) => { nodes.push(child); });
    if (!ts.isFunctionLike(node) || !node.body) continue;
    const line = (place) => file.getLineAndCharacterOfPosition(place).line;
    yield { path, name: node.name?.getText() ?? "", line: line(node.getStart()) + 1, lines: line(node.end) - line(node.getStart()) + 1 };
  }
}

console.log(JSON.stringify(paths.flatMap((path) => [...functions(path)])));
