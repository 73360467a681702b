import { expect, test } from "bun:test";
import { dirname } from "node:path";
import { arrowsBackUp, bundlesIn, cyclesOf, filesIn } from "../../scripts/lib/house.ts";

const src = filesIn("src");

test("src has no import cycles", () => {
  expect(cyclesOf(src)).toEqual([]);
  const circle = ["a", "b"].map((name, at) => {
    const text = `import "./${at === 0 ? "b" : "a"}.ts";\n`;
    return { path: `src/${name}.ts`, text, lines: 1 };
  });
  expect(cyclesOf(circle)).toEqual([["src/a.ts", "src/b.ts", "src/a.ts"]]);
});

test("two folders import in one direction only", () => {
  expect(arrowsBackUp(src)).toEqual([]);
});

test("arguments are not bundled into objects that are spread at once", () => {
  expect(src.filter((file) => bundlesIn([file]) > 0).map(({ path }) => path)).toEqual([]);
});

test("no folder of src has more than 25 files", () => {
  const folders = Map.groupBy(src, ({ path }) => dirname(path));
  const large = [...folders].filter(([, files]) => files.length > 25);
  expect(large.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([]);
});
