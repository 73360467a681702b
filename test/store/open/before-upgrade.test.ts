import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { chownSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { restore } from "../../../src/store/backup/restore.ts";
import { examineDatabase } from "../../../src/store/backup/worker.ts";
import { MIGRATIONS } from "../../../src/store/migrations/migrations.ts";
import { canMount, isRoot, NOBODY } from "../backup/shared.ts";
import { cleanUp, open, quickDirectory } from "../place.ts";
import { recordingLog } from "../recording-log.ts";

afterEach(cleanUp);

const NOW = Date.parse("2026-01-31T08:15:30.123Z");

const copies = (directory: string) =>
  readdirSync(directory)
    .filter((name) => name.startsWith("licmond.db.schema-"))
    .sort();

function old(version: number): string {
  const directory = quickDirectory();
  const store = open(directory, { migrations: MIGRATIONS.slice(0, version) });
  store.sqlite.run("INSERT INTO servers VALUES ('eda', 'flexnet', '27000@lic1', 'EDA', 1, 2)");
  store.close();
  return directory;
}

describe("before an upgrade", () => {
  test.each(MIGRATIONS.map((_, index) => index + 1).slice(0, -1))("schema %i is copied", (version) => {
    const directory = old(version);
    const log = recordingLog();
    const steps: string[] = [];
    const onProgress = (step: string) => void steps.push(step);
    const store = open(directory, { log, now: () => NOW, onProgress, damaged: "move-aside" });
    expect(store.schemaVersion).toBe(MIGRATIONS.length);
    const name = `licmond.db.schema-${version}-20260131T081530Z`;
    expect(copies(directory)).toEqual([name]);
    const copy = join(directory, name);
    expect(examineDatabase(copy)).toMatchObject({ schemaVersion: version });
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    const sqlite = new Database(copy, { readonly: true });
    expect(sqlite.query("SELECT id FROM servers").all()).toEqual([{ id: "eda" }]);
    sqlite.close();
    expect(steps).toEqual(["copy", "upgrade"]);
    const fields = { schema: version, next: MIGRATIONS.length, size: expect.any(String), file: copy };
    const message = "The database is copied before the upgrade of its schema";
    expect(log.lines).toEqual([{ level: "info", message, fields }]);
  });

  test("new and current databases are not copied, nor those upgraded without a copy", () => {
    const [fresh, directory] = [quickDirectory(), old(4)];
    for (let start = 1; start <= 2; start++) open(fresh).close();
    expect(open(directory, { backUpBeforeUpgrade: false }).schemaVersion).toBe(MIGRATIONS.length);
    expect([fresh, directory].flatMap(copies)).toEqual([]);
  });

  test("the two newest copies are kept, and nothing else is removed", () => {
    const directory = old(3);
    const others = ["licmond.db.schema-notes", "licmond.db.schema-1-20260101T000000Z.txt.bak"];
    for (const name of ["licmond.db.schema-2-20250101T000000Z", "licmond.db.schema-9-20240101T000000Z"])
      writeFileSync(join(directory, name), "older");
    writeFileSync(join(directory, others[0] ?? ""), "a note");
    open(directory).close();
    expect(copies(directory)).toEqual([
      "licmond.db.schema-2-20250101T000000Z",
      expect.stringContaining("licmond.db.schema-3-"),
      "licmond.db.schema-notes",
    ]);
  });

  /** Starts `times` times. Each start is killed after `steps` more migrations. */
  const killed = (directory: string, from: number, steps: number, times: number) => {
    for (let end = from + steps, time = 0; time < times; end += steps, time++) {
      const migrations = MIGRATIONS.map((one, index) => (index < end ? one : { ...one, sql: "killed" }));
      expect(() => open(directory, { migrations, now: () => NOW + time * 1_000 })).toThrow("killed");
    }
  };

  test("an upgrade that is killed repeatedly keeps its first copy, and makes no other", () => {
    const directory = old(3);
    killed(directory, 3, 2, 4);
    const [name = "", ...others] = copies(directory);
    expect(others).toEqual([]);
    expect(name).toStartWith("licmond.db.schema-3-");
    expect(examineDatabase(join(directory, "licmond.db")).schemaVersion).toBe(11);
    const log = recordingLog();
    open(directory, { log }).close();
    expect(log.lines.map(({ message }) => message)).toEqual(["The upgrade of the schema continues"]);
    expect(copies(directory)).toEqual([name]);
    expect(readdirSync(directory).filter((file) => file.includes("upgrade"))).toEqual([]);
  });

  test("an upgrade that was killed before its first step, or whose copy is gone, makes a new copy", () => {
    const directory = old(3);
    killed(directory, 3, 0, 1);
    killed(directory, 3, 1, 1);
    expect(copies(directory)).toHaveLength(2);
    for (const name of copies(directory)) rmSync(join(directory, name));
    open(directory).close();
    expect(copies(directory)).toEqual([expect.stringContaining("licmond.db.schema-4-")]);
  });

  test("a restored database is copied although the previous upgrade did not finish", async () => {
    const directory = old(3);
    killed(directory, 3, 4, 1);
    const other = old(5);
    await restore({ directory, file: join(other, "licmond.db"), now: NOW });
    open(directory).close();
    expect(copies(directory)).toContainEqual(expect.stringContaining("licmond.db.schema-5-"));
  });

  test.if(isRoot)("as root the copy belongs to the daemon's user", () => {
    const directory = old(5);
    chownSync(directory, NOBODY, NOBODY);
    open(directory).close();
    expect(statSync(join(directory, copies(directory)[0] ?? "")).uid).toBe(NOBODY);
  });

  test.if(canMount)("without space nothing changes, and the fix is named", async () => {
    const directory = old(6);
    const script = `mount -t tmpfs -o size=20m none "$1" && cp "$0"/licmond.db "$1" && exec "$2" "$3" "$1"`;
    const [mountPoint, holder] = [quickDirectory(), join(import.meta.dir, "..", "holder.ts")];
    const cmd = ["unshare", "-m", "sh", "-c", script, directory, mountPoint, process.execPath, holder];
    const { stdout } = Bun.spawnSync({ cmd, stdin: "ignore", stderr: "inherit" });
    expect(JSON.parse(stdout.toString())).toMatchObject({
      code: "FULL",
      message: expect.stringContaining("20"),
      fix: expect.stringContaining("storage.backup_before_upgrade = false"),
    });
    expect(readFileSync(join(directory, "licmond.db")).readUInt32BE(60)).toBe(6);
  });
});
