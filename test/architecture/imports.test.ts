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

/** Contents of each room (a folder of `src`, or a file in it) and the rooms that it may import. */
const ROOMS = {
  domain: ["records, events, errors, times and pure rules", ""],
  page: ["the page in the browser (Preact)", "domain"],
  managers: ["license managers: commands, parsers, log readers, simulated tools", "domain"],
  store: ["SQLite: open, migrate, back up; keys, logs, quotas", "domain"],
  system: ["log, host metrics, secret files, sockets of the service manager", "domain"],
  history: ["counts, sessions and statistics over time; imports", "domain store"],
  live: ["the path of one poll, and the bus that stores and publishes", "domain store history"],
  config: ["schema and loading of the config, credentials", "domain managers"],
  simulator: ["the simulated site of `demo` and `simulate`", "domain managers"],
  export: ["Prometheus text, OpenMetrics, remote write", "domain system config"],
  collector: [
    "schedule, commands and requests, log tails, execute",
    "domain managers store live system config",
  ],
  alerts: ["rules, evaluator, notifications", "domain managers store live system config"],
  reports: ["weekly and monthly reports by mail", "domain store history"],
  fleet: ["what a site sends to its hub", "domain store history live system config"],
  http: ["gate, routes, streams, OpenAPI document", `${UPPER} export collector alerts fleet`],
  daemon: ["the composition root", `${UPPER} simulator export collector alerts reports fleet http`],
  hub: ["`licmond hub` on PostgreSQL", `${UPPER} export collector alerts reports fleet http daemon`],
  install: ["install, upgrade and uninstall on a host", "domain store system config collector"],
  cli: [
    "one command per file",
    `${UPPER} simulator export collector alerts reports fleet http daemon hub install`,
  ],
  main: ["argv → a command → exit code", "cli system domain"],
} as const;

const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.entries(ROOMS).map(([room, [, others]]) => [room, others.split(" ")]),
);

/** Packages that serve one concern, and the rooms that may import them. */
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

/** Module that builds the page at the first request. The executable has another module in its place. */
const PAGE_BUILDER = "src/http/page/files.ts";

/** Folders outside of all rooms: declarations of file imports, the page, entry files of workers. */
const NO_ROOM = new Set(["types", "dashboard", "workers"]);

const sources = await filesOf("src/**/*");
const code = sources.filter(isTypeScript);
const imports = new Map<SourceFile, Import[]>(code.map((file) => [file, importsOf(file)]));

function roomOf(path: string): string {
  return path.split("/")[1]?.replace(/\.ts$/, "") ?? "";
}

function* allImports(): Generator<{ from: SourceFile; to: Import }> {
  for (const [from, found] of imports) for (const to of found) yield { from, to };
}

/** `elysia/x` → `elysia`, `@scope/name/x` → `@scope/name`. */
function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

test("finds all sources, and all imports that Bun finds", () => {
  expect(code.length).toBeGreaterThan(20);
  const missed = code.flatMap((file) => {
    const seen = new Set(importsOf(file).map((found) => found.specifier));
    return runtimeImportsOf(file)
      .filter((path) => !seen.has(path))
      .map((path) => `${file.path}: ${path}`);
  });
  expect(missed).toEqual([]);
});

test("ARCHITECTURE.md has the table of rooms", async () => {
  const rows = Object.entries(ROOMS).map(([room, [has, may]]) => `| \`${room}\` | ${has} | ${may || "–"} |`);
  const table = ["| room | contents | may import |", "| --- | --- | --- |", ...rows].join("\n");
  const text = await Bun.file("ARCHITECTURE.md").text();
  const [start = "", end = ""] = [/<!-- rooms: .*-->\n/.exec(text)?.[0], "<!-- /rooms -->"];
  const updated = `${text.slice(0, text.indexOf(start) + start.length)}${table}\n${text.slice(text.indexOf(end))}`;
  if (process.env.UPDATE_ROOMS === "1") await Bun.write("ARCHITECTURE.md", updated);
  else expect(text).toBe(updated);
});

describe("direction", () => {
  test("every folder of src is a room of the table", () => {
    const rooms = new Set(code.map((file) => roomOf(file.path)));
    expect([...rooms].filter((room) => !(room in MAY_IMPORT) && !NO_ROOM.has(room))).toEqual([]);
  });

  test("the table has no cycles", () => {
    const order = Object.keys(MAY_IMPORT);
    const wrong = order.flatMap((room, index) =>
      (MAY_IMPORT[room] ?? [])
        .filter((other) => other !== "" && order.indexOf(other) >= index)
        .map((other) => `${room} → ${other}`),
    );
    expect(wrong).toEqual([]);
  });

  test("every import follows the table", () => {
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

  test("parsers import only the domain and their own room", () => {
    const wrong: string[] = [];
    for (const { from, to } of allImports()) {
      if (!/^src\/managers\/[^/]+\/parse/.test(from.path)) continue;
      const room = to.file === null ? null : roomOf(to.file);
      if (room !== "domain" && room !== "managers") wrong.push(`${from.path} → ${to.specifier}`);
    }
    expect(wrong).toEqual([]);
  });

  test("packages are imported only by their rooms", () => {
    const wrong: string[] = [];
    for (const { from, to } of allImports()) {
      const rooms = PACKAGE_LIVES_IN[packageOf(to.specifier)];
      if (rooms !== undefined && !rooms.includes(roomOf(from.path)))
        wrong.push(`${from.path} → ${to.specifier}`);
    }
    expect(wrong).toEqual([]);
  });
});

test("every file of src is imported", () => {
  const used = new Set([...allImports()].map(({ to }) => to.file));
  const starts = (path: string) =>
    path === "src/main.ts" || /^src\/(?:workers\/|page\/[^/]*$)/.test(path) || path.endsWith(".d.ts");
  expect(sources.map((file) => file.path).filter((path) => !used.has(path) && !starts(path))).toEqual([]);
});
