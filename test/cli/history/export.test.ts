import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { SessionRecord } from "../../../src/domain/history-records.ts";
import * as a from "../../domain/make.ts";
import { createRig } from "../../history/rig.ts";
import { cleanUp } from "../../store/place.ts";
import { createPlace, run } from "../rig.ts";

afterEach(cleanUp);

const MINUTE = 60_000;
const NOON = a.NOON;
const iso = (minutes: number) => new Date(NOON + minutes * MINUTE).toISOString();

/** Creates the storage of a running daemon. ann works half an hour, and the last poll fails. */
async function site() {
  const place = await createPlace();
  const rig = createRig([a.server()], place.storage);
  for (let minute = 0; minute <= 40; minute++) {
    const times = { startedAt: NOON + minute * MINUTE - 200, finishedAt: NOON + minute * MINUTE };
    const held = minute < 30 ? [a.checkout({ user: "ann, the 2nd", host: null, startedAt: null })] : [];
    const features = [a.feature({ name: "compiler", total: 2, used: held.length, checkouts: held })];
    await rig.poll(
      minute === 40 ? a.failedPoll(times) : a.outcome({ ...times, reading: a.reading({ features }) }),
    );
  }
  const ask = (...args: string[]) => run(["export", "--config", place.config, ...args]);
  return { place, rig, ask, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() };
}

describe("licmond export", () => {
  test("sessions as CSV, next to the daemon", async () => {
    await using at = await site();
    const { exitCode, out, err } = await at.ask("sessions");
    expect(out.split("\r\n")).toEqual([
      "id,server,daemon,feature,user,host,display,version,count,handle,startedAt,firstSeenAt,lastSeenAt,endedAt,endReason,durationSeconds",
      `1,eda,snpslmd,compiler,"ann, the 2nd",,:0,v1.0,1,101,,${iso(0)},${iso(29)},${iso(30)},checkin,1800`,
      "",
    ]);
    expect([exitCode, err]).toEqual([0, "Exporting sessions …\n1 row of sessions\n"]);
  });

  test("--bom starts CSV with a byte-order mark, but not JSON", async () => {
    await using at = await site();
    const { out } = await at.ask("sessions");
    expect((await at.ask("sessions", "--bom")).out).toBe(`\uFEFF${out}`);
    expect((await at.ask("sessions", "--bom", "--format", "json")).out).toStartWith("[");
  });

  test("samples as JSON: changes of counts, and the gap", async () => {
    await using at = await site();
    at.rig.history().packAll();
    const { out } = await at.ask("samples", "--format", "json", "--start", iso(-600), "--end", iso(600));
    const feature = { server: "eda", daemon: "snpslmd", feature: "compiler" };
    const counts = { ...feature, total: 2, reserved: 0, queued: 0, unlimited: false };
    expect(JSON.parse(out)).toEqual([
      { ...counts, timestamp: iso(0), used: 1 },
      { ...counts, timestamp: iso(30), used: 0 },
      { ...counts, timestamp: iso(40), total: null, used: null, reserved: null, queued: null },
    ]);
  });

  test("filters by server, feature and time", async () => {
    await using at = await site();
    for (const [args, rows] of [
      ["sessions --server eda --feature compiler", 1],
      ["sessions --server cad", 0],
      ["sessions --feature viewer", 0],
      [`sessions --start ${iso(30)}`, 0],
      ["sessions --end 2026-03-02", 1],
      [`sessions --end ${iso(0)}`, 0],
      ["denials", 0],
      ["logs", 0],
    ] as const) {
      const { exitCode, out } = await at.ask(...args.split(" "), "--format", "json");
      expect([args, exitCode, (JSON.parse(out) as SessionRecord[]).length]).toEqual([args, 0, rows]);
    }
  });

  test("a file of mode 0600 appears when it is complete", async () => {
    await using at = await site();
    const file = join(at.place.folder, "out.csv");
    expect(await at.ask("sessions", "-o", file)).toMatchObject({ exitCode: 0, out: "" });
    expect(readFileSync(file, "utf8").split("\r\n").length).toBe(3);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(existsSync(`${file}.part`)).toBe(false);
    const nowhere = await at.ask("sessions", "-o", join(at.place.folder, "no", "out.csv"));
    expect([nowhere.exitCode, nowhere.err]).toEqual([1, expect.stringContaining("cannot write")]);
  });

  test("more rows than a slice, once each and in order", async () => {
    await using at = await site();
    const insert = at.rig.store.sqlite.query(
      `INSERT INTO sessions (id, server_id, daemon, feature, user, count, began_at, first_seen_at, last_seen_at, ended_at)
       VALUES (?, 'eda', 'd', 'f', 'u', 1, 1, 1, 1, 2)`,
    );
    at.rig.store.transaction(() => {
      for (let id = 2; id <= 12_001; id += 1) insert.run(id * 3);
    });
    const { out } = await at.ask("sessions", "--format", "json");
    const ids = (JSON.parse(out) as SessionRecord[]).map(({ id }) => id);
    expect(ids).toEqual([1, ...Array.from({ length: 12_000 }, (_, index) => (index + 2) * 3)]);
  });

  test("shows no progress bar if rows go to the same terminal", async () => {
    await using at = await site();
    const args = ["export", "--config", at.place.config, "sessions"];
    expect((await run(args, { terminal: true })).err).toBe("");
  });

  test.each<[string, number, RegExp]>([
    ["everything", 2, /one of sessions, samples, denials, logs/],
    ["", 2, /missing required argument/],
    ["sessions --format xml", 2, /csv, json/],
    ["sessions --start soon", 2, /--start must be a time/],
    ["sessions --start 2026-02-02 --end 2026-02-01", 2, /before --end/],
    ["logs --feature x", 2, /do not apply to logs/],
    ["sessions", 1, /Database not found: .*licmond serve/],
  ])("%j exits with %d", async (args, code, message) => {
    await using place = await createPlace();
    const line = ["export", "--config", place.config, ...args.split(" ").filter(Boolean)];
    const { exitCode, out, err } = await run(line);
    expect([exitCode, out]).toEqual([code, ""]);
    expect(err).toMatch(message);
    expect(existsSync(place.storage)).toBe(false);
  });
});
