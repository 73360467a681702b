/** Computes the figures that `scripts/house` prints. A test checks those with bounds. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";

const ROOT = join(import.meta.dir, "../..");

export interface Figure {
  readonly what: string;
  readonly value: number | string;
  /** How the figure is counted. */
  readonly counted: string;
}

interface File {
  /** Relative to the project's root, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly lines: number;
}

/** Returns the TypeScript files of a folder, sorted by path. */
export function filesIn(folder: string): File[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => /\.tsx?$/.test(name) && !name.includes("node_modules"))
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const text = readFileSync(join(ROOT, path), "utf8");
      return { path, text, lines: text.split("\n").length - 1 };
    });
}

/** Returns every relative import of a file, including types, as a path from the root. */
export function importsOf({ path, text }: Pick<File, "path" | "text">): string[] {
  const found = text.matchAll(
    /^[ \t]*(?:(?:import|export)\b[^;"'`]*?\bfrom\s*["'](\.[^"'\n]+)["']|import\s*["'](\.[^"'\n]+)["'])|\bimport\(\s*["'](\.[^"'\n]+)["']/gm,
  );
  return [...found].map(([, from, bare, dynamic]) =>
    relative(ROOT, join(ROOT, dirname(path), from ?? bare ?? dynamic ?? "")),
  );
}

/** Returns import cycles, each as its list of files. */
export function cyclesOf(files: readonly File[]): string[][] {
  const targets = new Map(files.map((file) => [file.path, importsOf(file)]));
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

/**
 * Returns imports between two folders that import each other, in the rarer direction. A file that composes others and has no
 * importer in its folder or below (`app.ts`, `registry.ts`) counts as a folder of its own.
 */
export function arrowsBackUp(files: readonly File[]): string[] {
  const imported = new Map<string, Set<string>>();
  for (const file of files) {
    for (const target of importsOf(file))
      imported.set(target, (imported.get(target) ?? new Set()).add(file.path));
  }
  const placeOf = (path: string) => {
    const folder = dirname(path);
    const isUsedInside = [...(imported.get(path) ?? [])].some((user) => user.startsWith(`${folder}/`));
    return isUsedInside ? folder : path;
  };
  const arrows = new Map<string, string[]>();
  for (const file of files) {
    for (const target of importsOf(file)) {
      const [from, to] = [placeOf(file.path), placeOf(target)];
      if (from === to || !target.startsWith("src/")) continue;
      const way = `${from} → ${to}`;
      arrows.set(way, [...(arrows.get(way) ?? []), `${file.path} → ${target}`]);
    }
  }
  return [...arrows].flatMap(([way, there]) => {
    const back = arrows.get(way.split(" → ").reverse().join(" → "));
    if (back === undefined || there.length > back.length) return [];
    return there.length < back.length || there[0] === [...there, ...back].sort()[0] ? there : [];
  });
}

/** Counts object spreads of a literal: arguments bundled to please the formatter. */
export function bundlesIn(files: readonly File[]): number {
  return files.reduce((sum, { text }) => sum + (text.match(/\.\.\.\{/g)?.length ?? 0), 0);
}

/** Returns the length of the body of `start()` in the composition root. */
function startLines(): number | string {
  const text = readFileSync(join(ROOT, "src/daemon.ts"), "utf8").split("\n");
  const from = text.findIndex((line) => /^\s*async function start\(|^\s*async start\(/.test(line));
  if (from === -1) return "not found";
  const indent = /^\s*/.exec(text[from] ?? "")?.[0] ?? "";
  return text.slice(from).findIndex((line) => line === `${indent}}` || line === `${indent}},`) + 1;
}

function at(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Reads how often each line of src ran, from an lcov report. */
function linesRun(report: string): Map<string, number> {
  const runs = new Map<string, number>();
  let file = "";
  for (const line of report.split("\n")) {
    const [word = "", value = ""] = line.split(/:(.*)/);
    if (word === "SF") file = value;
    const [at, count] = value.split(",");
    if (word === "DA" && file.startsWith("src/")) runs.set(`${file}:${at}`, Number(count));
  }
  return runs;
}

const MORE_REQUESTS = 30;

/** Returns the files of src that run for one request: some of their lines ran 30 more times for 30 more requests. */
export function filesRunFor(method: string, path: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), "licmond-house-"));
  const [few = new Map(), many = new Map()] = [0, MORE_REQUESTS].map((times) => {
    const flags = ["--coverage", "--coverage-reporter=lcov", `--coverage-dir=${folder}`];
    const { success, stderr } = Bun.spawnSync(
      [process.execPath, "test", ...flags, "./scripts/lib/one-request.ts"],
      {
        cwd: ROOT,
        env: { ...process.env, TIMES: String(times), METHOD: method, PATH_ASKED: path },
      },
    );
    if (!success) throw new Error(`${method} ${path}: ${stderr}`);
    return linesRun(readFileSync(join(folder, "lcov.info"), "utf8"));
  });
  rmSync(folder, { recursive: true });
  const files = [...many].flatMap(([line, count]) =>
    count - (few.get(line) ?? 0) >= MORE_REQUESTS ? [line.slice(0, line.lastIndexOf(":"))] : [],
  );
  return [...new Set(files)];
}

const FOR_THE_REQUEST =
  /^src\/(http|daemon|system\/log|store\/(keys|quotas)|domain\/(keys|ip-address)|export)/;

export function figures(): Figure[] {
  const src = filesIn("src");
  const test = filesIn("test");
  const scripts = filesIn("scripts");
  const lengths = src.map(({ lines }) => lines).sort((a, b) => a - b);
  const folders = new Map<string, number>();
  for (const { path } of src) folders.set(dirname(path), (folders.get(dirname(path)) ?? 0) + 1);
  const [largest = ["", 0]] = [...folders].sort(([, a], [, b]) => b - a);
  const validators = src.filter(({ text }) =>
    /additionalProperties[\s\S]{0,400}minLength|case "minLength"/.test(text),
  );
  return [
    {
      what: "lines of src",
      value: sumOf(src),
      counted: "line ends in src/**/*.ts and *.tsx, comments included",
    },
    { what: "files of src", value: src.length, counted: "those files" },
    { what: "largest folder", value: `${largest[1]} (${largest[0]})`, counted: "files directly in it" },
    { what: "median lines of a file", value: at(lengths, 0.5), counted: "of src" },
    { what: "9 of 10 files below", value: at(lengths, 0.9), counted: "lines, of src" },
    { what: "largest file", value: lengths.at(-1) ?? 0, counted: "lines, of src" },
    { what: "daemon.ts start()", value: startLines(), counted: "its lines, from its head to its last brace" },
    {
      what: "files run by GET features",
      value: filesRunFor("GET", "/api/licenses/features").length,
      counted: "files of which a line runs once more for each request more, by coverage",
    },
    {
      what: "files run by GET stats",
      value: filesRunFor("GET", "/api/licenses/stats?start=-1d").length,
      counted: "the same, those in the worker of history included",
    },
    {
      what: "files run by one poll",
      value: filesRunFor("POST", "/api/licenses/rescan").filter((file) => !FOR_THE_REQUEST.test(file)).length,
      counted: "the same of a rescan of one server, without http, daemon, log, keys, quotas and export",
    },
    { what: "import cycles", value: cyclesOf(src).length, counted: "types and dynamic imports included" },
    {
      what: "arrows back up",
      value: arrowsBackUp(src).length,
      counted:
        "imports between two folders that import each other, the rarer way; composing files stand apart",
    },
    { what: "bundles in src", value: bundlesIn(src), counted: "spreads of an object's literal" },
    {
      what: "bundles in tests and scripts",
      value: bundlesIn([...test, ...scripts]),
      counted: "the same",
    },
    {
      what: "own validators of JSON Schema",
      value: validators.length,
      counted: "files that walk a schema's keywords",
    },
    { what: "lines of tests", value: sumOf(test), counted: "line ends in test/**/*.ts" },
    {
      what: "benches",
      value: scripts.filter(
        ({ path, text }) => path.startsWith("scripts/bench/") && /export const bench\b|: Bench\b/.test(text),
      ).length,
      counted: "files of scripts/bench that hand one to run.ts",
    },
  ];
}

function sumOf(files: readonly File[]): number {
  return files.reduce((sum, { lines }) => sum + lines, 0);
}

if (import.meta.main) {
  // `--run METHOD PATH` lists the files instead.
  const [flag, method, path] = process.argv.slice(2);
  if (flag === "--run" && method !== undefined && path !== undefined) {
    console.log(filesRunFor(method, path).sort().join("\n"));
    process.exit(0);
  }
  for (const { what, value, counted } of figures()) {
    console.log(`${what.padEnd(36)} ${String(value).padStart(10)}   ${counted}`);
  }
}
