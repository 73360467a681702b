import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Ran } from "../../src/install/host.ts";
import type { Verb } from "../../src/install/pass.ts";
import { goBack, type UpgradeWanted, upgrade } from "../../src/install/upgrade.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { MIGRATIONS } from "../../src/store/migrations/migrations.ts";
import { createRig, LAYOUT, lookAt, NEW_BINARY, type Rig, runAll } from "./rig.ts";

const RESTART = "systemctl restart licmond.service";
const STARTED = ["systemctl reset-failed licmond.service", RESTART];
const LAID_AND_STARTED = [`${LAYOUT.binary} install`, ...STARTED];

async function upgradable(installed = "1.1.0"): Promise<Rig> {
  const rig = await createRig();
  await rig.binary(LAYOUT.binary, installed);
  return rig;
}

async function steps(rig: Rig, version: string, options: Partial<UpgradeWanted> = {}): Promise<Verb> {
  const file = await rig.binary(NEW_BINARY, version);
  const wanted = { file, allowDowngrade: false, rollBackIn: null, service: "runs", ...options } as const;
  return (pass) => upgrade(pass, wanted);
}

const rollback = (rig: Rig, storage: string | null = null): Verb => {
  const file = rig.host.at(LAYOUT.previousBinary);
  return (pass) => upgrade(pass, { file, allowDowngrade: true, rollBackIn: storage, service: "runs" });
};

test("replaces and keeps the binary, installs the files of the new one, and restarts last", async () => {
  await using rig = await upgradable();
  await runAll(rig, await steps(rig, "1.2.0"));
  expect(rig.read(LAYOUT.binary)).toContain("version=1.2.0;");
  expect(rig.read(LAYOUT.previousBinary)).toContain("version=1.1.0;");
  expect(rig.acted()).toEqual(LAID_AND_STARTED);
});

test("restarts a running hub after the service, also on rollback", async () => {
  const hub = ["systemctl reset-failed licmond-hub.service", "systemctl restart licmond-hub.service"];
  for (const [service, before] of [
    ["runs", LAID_AND_STARTED],
    ["stopped", LAID_AND_STARTED.slice(0, 1)],
  ] as const) {
    await using rig = await upgradable();
    Object.assign(rig.hub, { active: true });
    await runAll(rig, await steps(rig, "1.2.0", { service }));
    expect(rig.acted()).toEqual([...before, ...hub]);
    rig.ran.length = 0;
    await goBack(rig.host, service, null);
    expect(rig.acted()).toEqual([...before, ...hub]);
  }
});

test("does not start a stopped service, and runs nothing without a service", async () => {
  await using rig = await upgradable();
  await runAll(rig, await steps(rig, "1.2.0", { service: "stopped" }));
  expect(rig.acted()).toEqual([`${LAYOUT.binary} install`]);
  rig.ran.length = 0;
  await runAll(rig, await steps(rig, "1.3.0", { service: "none" }));
  expect(rig.acted()).toEqual([]);
  expect(rig.read(LAYOUT.previousBinary)).toContain("version=1.2.0;");
});

test("the same binary: nothing to do", async () => {
  await using rig = await upgradable();
  const plans = await runAll(rig, await steps(rig, "1.1.0"));
  expect([...plans.values()].map(({ kind }) => kind)).toEqual(["nothing", "nothing", "nothing"]);
});

test("rollback exchanges the binary and the previous one", async () => {
  await using rig = await upgradable();
  await runAll(rig, await steps(rig, "1.2.0"));
  await runAll(rig, rollback(rig));
  expect(rig.read(LAYOUT.binary)).toContain("version=1.1.0;");
  expect(rig.read(LAYOUT.previousBinary)).toContain("version=1.2.0;");
  await runAll(rig, rollback(rig));
  expect(rig.read(LAYOUT.binary)).toContain("version=1.2.0;");
});

describe("refuses, and changes nothing", () => {
  const answers = (asked: string, answer: Partial<Ran>) => (rig: Rig) => {
    rig.answer = (line) => (line === `${NEW_BINARY} ${asked}` ? answer : undefined);
  };
  const download = (change: (whole: string) => string) => (rig: Rig) =>
    rig.write(NEW_BINARY, change(rig.read(NEW_BINARY)));
  const refuses = { ok: false, stdout: "PROBLEM  config: x\n" };
  test.each<[string, string, (rig: Rig) => unknown, string]>([
    ["an older version", "1.0.9", () => {}, "older than the installed 1.1.0"],
    ["a pre-release of the installed version", "1.1.0-rc.1", () => {}, "older than the installed 1.1.0"],
    ["another file", "1.2.0", download(() => "PK"), "is not a complete licmond binary"],
    ["a partial download", "1.2.0", download((all) => all.slice(0, -5)), "is not a complete licmond binary"],
    ["nothing installed", "1.2.0", (rig) => rig.write(LAYOUT.binary, "#!"), "is not a licmond binary"],
    [
      "a binary for another CPU",
      "1.2.0",
      answers("version", { ok: false, words: "Exec format error" }),
      "does not run on this host: Exec format error",
    ],
    [
      "a config that the new one does not take",
      "1.2.0",
      answers("check --config-only", refuses),
      "rejects the config:\nPROBLEM  config: x",
    ],
  ])("%s", async (_name, version, make, words) => {
    await using rig = await upgradable();
    const all = await steps(rig, version);
    await make(rig);
    const before = rig.tree();
    const plan = (await runAll(rig, all)).get(LAYOUT.binary);
    expect(plan).toMatchObject({ kind: "refuse", words: expect.stringContaining(words) });
    expect(rig.tree()).toEqual(before);
    expect(rig.acted()).toEqual([]);
  });

  test("an older version is accepted with --allow-downgrade", async () => {
    await using rig = await upgradable();
    await runAll(rig, await steps(rig, "1.0.0", { allowDowngrade: true }));
    expect(rig.read(LAYOUT.binary)).toContain("version=1.0.0;");
  });
});

test.each<[string, string, string, Partial<Ran>]>([
  ["an installed binary that does not run", "0.9.0", `${LAYOUT.binary} version`, { words: "killed" }],
  ["a version without `check --config-only`", "1.0.0", `${NEW_BINARY} check --config-only`, { exitCode: 2 }],
])("accepts %s", async (_name, version, asked, answer) => {
  await using rig = await upgradable();
  rig.answer = (line) => (line === asked ? { ok: false, ...answer } : undefined);
  await runAll(rig, await steps(rig, version, { allowDowngrade: version === "1.0.0" }));
  expect(rig.read(LAYOUT.binary)).toContain(`version=${version};`);
});

test("a failed restart reports the journal's last lines; going back restores and starts the old binary", async () => {
  await using rig = await upgradable();
  rig.answer = (line) => {
    if (line === RESTART) return { ok: false, words: "Job for licmond.service failed" };
    return line.startsWith("journalctl") ? { stdout: "the port is taken\n" } : undefined;
  };
  await expect(runAll(rig, await steps(rig, "1.2.0"))).rejects.toThrow(
    /Job for licmond.service failed\nlast log lines:\nthe port is taken/,
  );
  rig.answer = () => undefined;
  rig.ran.length = 0;
  await goBack(rig.host, "runs", null);
  expect(rig.read(LAYOUT.binary)).toContain("version=1.1.0;");
  expect(rig.acted()).toEqual(LAID_AND_STARTED);
});

describe("the database on rollback", () => {
  const STORAGE = "/var/lib/licmond";
  const STOP = "systemctl stop licmond.service";
  const TAKEN = `${LAYOUT.previousBinary} restore --verify`;

  /** Upgrades, with a database whose schema is too new for the older binary. */
  async function migrated(rig: Rig) {
    await runAll(rig, await steps(rig, "1.2.0"));
    rig.ran.length = 0;
    const directory = rig.host.at(STORAGE);
    const path = join(directory, "licmond.db");
    mkdirSync(directory, { recursive: true });
    const sqlite = new Database(path, { create: true });
    migrate(sqlite, path, MIGRATIONS);
    sqlite.run("INSERT INTO events (id, at, type, body) VALUES (1, 1, 'log', 'before')");
    sqlite.close();
    copyFileSync(path, `${path}.schema-${MIGRATIONS.length}-20260131T081530Z`);
    sql(path, "PRAGMA user_version = 999");
    sql(path, "UPDATE events SET body = 'after'");
    rig.answer = (line) => {
      if (!line.startsWith(TAKEN)) return undefined;
      const [asked] = sql<{ user_version: number }>(line.slice(TAKEN.length + 1), "PRAGMA user_version");
      return { ok: asked?.user_version !== 999 };
    };
    const body = "SELECT body FROM events WHERE id = 1";
    return { path, told: () => sql<{ body: string }>(path, body).map((row) => row.body) };
  }

  test("rejected by the older binary: stops the service, restores the copy, then the binary", async () => {
    await using rig = await upgradable();
    const { path, told } = await migrated(rig);
    const before = rig.tree();
    expect(await lookAt(rig, rollback(rig, STORAGE))).toEqual(["do", "do", "do", "do", "do"]);
    expect(rig.tree()).toEqual(before);
    rig.ran.length = 0;
    await runAll(rig, rollback(rig, STORAGE));
    expect(told()).toEqual(["before"]);
    expect(readdirSync(dirname(path)).filter((name) => name.includes(".replaced-"))).toHaveLength(1);
    expect(rig.read(LAYOUT.binary)).toContain("version=1.1.0;");
    expect(rig.acted().filter((line) => line.startsWith("systemctl"))).toEqual([STOP, ...STARTED]);
  });

  test("accepted by the older binary: kept", async () => {
    await using rig = await upgradable();
    const { told } = await migrated(rig);
    rig.answer = () => undefined;
    await runAll(rig, rollback(rig, STORAGE));
    expect(told()).toEqual(["after"]);
    expect(rig.ran).not.toContain(STOP);
  });

  test("without a copy: changes nothing", async () => {
    await using rig = await upgradable();
    const { path } = await migrated(rig);
    for (const name of readdirSync(dirname(path)))
      if (name.includes(".schema-")) rmSync(join(dirname(path), name));
    const before = rig.tree();
    const refused = (await runAll(rig, rollback(rig, STORAGE))).get(path);
    const words = expect.stringContaining("no earlier copy exists");
    expect(refused).toMatchObject({ kind: "refuse", words });
    expect(rig.tree()).toEqual(before);
  });

  test("an upgrade that migrates and then does not start is rolled back with its database", async () => {
    await using rig = await upgradable();
    const { told } = await migrated(rig);
    await goBack(rig.host, "runs", STORAGE);
    expect(told()).toEqual(["before"]);
    expect(rig.read(LAYOUT.binary)).toContain("version=1.1.0;");
    expect(rig.acted().at(-1)).toBe(RESTART);
  });
});

function sql<Row>(path: string, text: string): Row[] {
  using sqlite = new Database(path);
  return sqlite.query<Row, []>(text).all();
}
