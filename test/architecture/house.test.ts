import { expect, test } from "bun:test";
import { dirname } from "node:path";
import { filesOf, importsOf, isTypeScript } from "./source.ts";

const src = (await filesOf("src/**/*")).filter(isTypeScript);
/** Imported files of each file. */
const imports = new Map(src.map((file) => [file.path, importsOf(file).flatMap(({ file: to }) => to ?? [])]));

/** Returns import cycles, each as its list of files. */
function cyclesOf(targets: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) cycles.push([...trail.slice(start), path]);
    else if (!done.has(path)) {
      for (const target of targets.get(path) ?? []) walk(target, [...trail, path]);
      done.add(path);
    }
  };
  for (const path of targets.keys()) walk(path, []);
  return cycles;
}

test("src has no import cycles", () => {
  expect(cyclesOf(imports)).toEqual([]);
  const circle = new Map([
    ["a", ["b"]],
    ["b", ["a"]],
  ]);
  expect(cyclesOf(circle)).toEqual([["a", "b", "a"]]);
});

/**
 * Returns imports between two folders that import each other, in the rarer direction. A file that composes
 * others and has no importer in its folder or below (`app.ts`, `registry.ts`) counts as a folder of its own.
 */
function importsBack(): string[] {
  const pairs = [...imports].flatMap(([from, targets]) => targets.map((to) => [from, to] as const));
  const importers = Map.groupBy(pairs, ([, to]) => to);
  const placeOf = (path: string) => {
    const folder = dirname(path);
    return (importers.get(path) ?? []).some(([from]) => from.startsWith(`${folder}/`)) ? folder : path;
  };
  const inSrc = pairs.filter(([from, to]) => to.startsWith("src/") && placeOf(from) !== placeOf(to));
  const ways = Map.groupBy(inSrc, ([from, to]) => `${placeOf(from)} → ${placeOf(to)}`);
  return [...ways].flatMap(([way, there]) => {
    const back = ways.get(way.split(" → ").reverse().join(" → ")) ?? [];
    return back.length > 0 && there.length <= back.length ? there.map((pair) => pair.join(" → ")) : [];
  });
}

test("two folders import in one direction only", () => {
  expect(importsBack()).toEqual([]);
});

test("arguments are not bundled into objects that are spread at once", () => {
  expect(src.filter(({ text }) => text.includes("...{")).map(({ path }) => path)).toEqual([]);
});

test("no folder of src has more than 25 files", () => {
  const folders = Map.groupBy(src, ({ path }) => dirname(path));
  const large = [...folders].filter(([, files]) => files.length > 25);
  expect(large.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([]);
});
