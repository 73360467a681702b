import { describe, expect, test } from "bun:test";
import {
  filesOf,
  type Import,
  importsOf,
  isTypeScript,
  runtimeImportsOf,
  type SourceFile,
} from "./source.ts";

const UPPER = "domain managers store history live system config";

/**
 * Which room may import from which others: ARCHITECTURE.md's picture, read from left to right.
 * A room is a folder of `src`, or a file in it.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries({
    domain: "",
    page: "domain",
    managers: "domain",
    store: "domain",
    system: "domain",
    history: "domain store",
    live: "domain store history",
    config: "domain managers",
    simulator: "domain managers",
    export: "domain system config",
    collector: "domain managers store live system config",
    alerts: "domain managers store live system config",
    reports: "domain store history",
    fleet: "domain store history live system config",
    http: `${UPPER} export collector alerts fleet`,
    daemon: `${UPPER} simulator export collector alerts reports fleet http`,
    hub: `${UPPER} export collector alerts reports fleet http daemon`,
    install: "domain store system config collector",
    cli: `${UPPER} simulator export collector alerts reports fleet http daemon hub install`,
    main: "cli system domain",
  }).map(([room, others]) => [room, others.split(" ")]),
);

/** Packages that one concern brought in, and the rooms in which it lives. */
const PACKAGE_LIVES_IN: Readonly<Record<string, readonly string[]>> = {
  "bun:sqlite": ["store", "history", "install"],
  "drizzle-orm": ["store", "history"],
  elysia: ["http", "hub"],
  "@elysiajs/swagger": ["http"],
  "swagger-ui-dist": ["http"],
  commander: ["cli"],
  preact: ["page"],
  "@preact/signals": ["page"],
  "smol-toml": ["config", "managers"],
  "@logtape/logtape": ["system"],
  "bun:ffi": ["system"],
  nodemailer: ["alerts"],
  recheck: ["cli"],
  saxes: ["managers"],
  snappyjs: ["export", "cli"],
};

/** From sources the page is built at the first request; the executable has another module in this one's place. */
const PAGE_BUILDER = "src/http/page/files.ts";

/** Folders that hold no code of a room: declarations of file imports, the page, the entry files of workers. */
const NO_ROOM = new Set(["types", "dashboard", "workers"]);

const sources = await filesOf("src/**/*");
const code = sources.filter(isTypeScript);
const imports = new Map<SourceFile, Import[]>(code.map((file) => [file, importsOf(file)]));

function roomOf(path: string): string {
  return path.split("/")[1]?.replace(/\.ts$/, "") ?? "";
}

/** Every import of `src` with the file it stands in. */
function* allImports(): Generator<{ from: SourceFile; to: Import }> {
  for (const [from, found] of imports) for (const to of found) yield { from, to };
}

/** `elysia/x` → `elysia`, `@scope/name/x` → `@scope/name`. */
function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

test("the walk finds the sources, and misses no import that Bun sees", () => {
  expect(code.length).toBeGreaterThan(20);
  const missed = code.flatMap((file) => {
    const seen = new Set(importsOf(file).map((found) => found.specifier));
    return runtimeImportsOf(file)
      .filter((path) => !seen.has(path))
      .map((path) => `${file.path}: ${path}`);
  });
  expect(missed).toEqual([]);
});

describe("direction", () => {
  test("every folder of src is a room of the table", () => {
    const rooms = new Set(code.map((file) => roomOf(file.path)));
    expect([...rooms].filter((room) => !(room in MAY_IMPORT) && !NO_ROOM.has(room))).toEqual([]);
  });

  test("the table itself has no way back", () => {
    const order = Object.keys(MAY_IMPORT);
    const wrong = order.flatMap((room, index) =>
      (MAY_IMPORT[room] ?? [])
        .filter((other) => other !== "" && order.indexOf(other) >= index)
        .map((other) => `${room} → ${other}`),
    );
    expect(wrong).toEqual([]);
  });

  test("every import goes the way of the table", () => {
    const wrong: string[] = [];
    for (const { from, to } of allImports()) {
      if (to.file === null || to.file === "package.json") continue;
      const [here, there] = [roomOf(from.path), roomOf(to.file)];
      if (here === there || NO_ROOM.has(here) || NO_ROOM.has(there)) continue;
      if (here === "install" && /^(?:systemd|packaging)\//.test(to.file)) continue;
      if (from.path === PAGE_BUILDER && to.file === "scripts/lib/page.ts") continue;
      if (!to.file.startsWith("src/")) wrong.push(`${from.path} leaves src: ${to.file}`);
      else if (!MAY_IMPORT[here]?.includes(there)) wrong.push(`${from.path} → ${to.file}`);
    }
    expect(wrong).toEqual([]);
  });

  test("a parser knows nothing but text: the domain and what lies in its own room", () => {
    const wrong: string[] = [];
    for (const { from, to } of allImports()) {
      if (!/^src\/managers\/[^/]+\/parse/.test(from.path)) continue;
      const room = to.file === null ? null : roomOf(to.file);
      if (room !== "domain" && room !== "managers") wrong.push(`${from.path} → ${to.specifier}`);
    }
    expect(wrong).toEqual([]);
  });

  test("packages stay in the rooms that brought them in", () => {
    const wrong: string[] = [];
    for (const { from, to } of allImports()) {
      const rooms = PACKAGE_LIVES_IN[packageOf(to.specifier)];
      if (rooms !== undefined && !rooms.includes(roomOf(from.path)))
        wrong.push(`${from.path} → ${to.specifier}`);
    }
    expect(wrong).toEqual([]);
  });
});

test("every file of src is used by another one", () => {
  const used = new Set([...allImports()].map(({ to }) => to.file));
  const starts = (path: string) =>
    path === "src/main.ts" || /^src\/(?:workers\/|page\/[^/]*$)/.test(path) || path.endsWith(".d.ts");
  expect(sources.map((file) => file.path).filter((path) => !used.has(path) && !starts(path))).toEqual([]);
});
