import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { ServerPicture } from "../../src/domain/picture.ts";
import { applyPoll } from "../../src/domain/polls/apply-poll.ts";
import type { FeatureReading } from "../../src/domain/reading.ts";
import { createPictures, encode } from "../../src/store/pictures.ts";
import { createKnownHostsStore, createServers } from "../../src/store/servers.ts";
import * as a from "../domain/make.ts";
import { cleanUp, fixedClock, open, temporaryDirectory } from "./place.ts";
import { recordingLog } from "./recording-log.ts";

afterEach(cleanUp);

/**
 * If the shape changes, update this list AND increase PICTURE_FORMAT; otherwise a new binary misreads
 * stored pictures. Optional fields do not change the shape.
 */
const SHAPE_OF_FORMAT_1 =
  `server status state members daemons error collectedAt lastPollAt nextPollAt pollDurationMs
  toolVersion cut unparsedLines unparsed reachability features
  daemon name total used available reserved queued unlimited utilization shared expiry pools checkouts reservations queue
  missed missedPools`.split(/\s+/);

function make(ids: readonly string[] = ["eda"]) {
  const log = recordingLog();
  const clock = fixedClock(a.NOON);
  const store = open(temporaryDirectory());
  createServers({ store, clock }).configured(ids.map((id) => a.server({ id })));
  const pictures = createPictures(store, clock, log);
  const save = async (picture: ServerPicture) => {
    const row = await pictures.rowOf(picture);
    store.transaction(() => pictures.write(row));
    pictures.committed(row);
  };
  return { store, log, clock, pictures, save };
}

const checkouts = (count: number, first = 0) =>
  Array.from({ length: count }, (_, n) =>
    a.checkout({ user: `user${first + n}`, handle: String(first + n) }),
  );

const NO_DETAILS = { host: null, display: null, qualifier: null, version: null, handle: null, pool: null };

const picture = (features: readonly FeatureReading[], id = "eda", finishedAt = a.NOON): ServerPicture =>
  applyPoll(
    null,
    a.server({ id }),
    a.outcome({ serverId: id, finishedAt, reading: a.reading({ features }) }),
    finishedAt + 60_000,
  );

describe("a stored picture", () => {
  test("has the shape of its format", () => {
    const full = picture([a.feature()]);
    const [feature] = full.features;
    expect(Object.keys({ ...full, ...feature }).sort()).toEqual(SHAPE_OF_FORMAT_1.sort());
  });

  test("is read as it was written, with any names", async () => {
    const text = fc.string({ unit: "binary", maxLength: 12 });
    const features = fc.array(
      fc.record({ name: text, user: text, rows: fc.nat({ max: 700 }), old: fc.boolean() }),
      { maxLength: 4 },
    );
    const { pictures, save } = make();
    await fc.assert(
      fc.asyncProperty(features, async (list) => {
        const whole = picture(
          list.map(({ name, user, rows }, n) =>
            a.feature({
              name: `${n}${name}`,
              checkouts: checkouts(rows).map((row) => ({ ...row, user: row.user + user })),
              pools: [a.pool()],
              reservations: [{ type: "group", name, count: 1, pool: 0 }],
              queue: [{ ...NO_DETAILS, user, count: 2 }],
            }),
          ),
        );
        const mixed = {
          ...whole,
          features: whole.features.map((feature, n) =>
            list[n]?.old === true ? { ...feature, collectedAt: n === 0 ? null : a.NOON - n } : feature,
          ),
        };
        await save(mixed);
        expect(pictures.load().get("eda")).toEqual(mixed);
      }),
      { numRuns: 20 },
    );
  });

  test("is encoded in steps of at most 500 rows", () => {
    const texts: string[] = [];
    const steps = [...encode(picture([a.feature({ checkouts: checkouts(5_000) })]).features, texts)];
    expect(steps).toHaveLength(11);
    expect(Math.max(...texts.map((text) => text.split('"user":').length - 1))).toBe(500);
  });

  test("of an unchanged reading writes only the head, although times change", async () => {
    const { pictures, save, store } = make();
    await save(picture([a.feature()]));
    const writes = () => Number(store.sqlite.query("SELECT total_changes()").values()[0]?.[0]);
    const before = writes();
    await save(picture([a.feature()], "eda", a.NOON + 60_000));
    expect(writes() - before).toBe(1);
    expect(pictures.load().get("eda")?.features[0]?.collectedAt).toBe(a.NOON + 60_000);
  });

  test("is also read from a row made by a migration", async () => {
    const { pictures, save, store } = make();
    const saved = picture([a.feature()]);
    await save(saved);
    const features = JSON.stringify(saved.features);
    store.sqlite.query("UPDATE pictures SET features = CAST(? AS BLOB)").run(features);
    expect(pictures.load().get("eda")).toEqual(saved);
  });

  test("is kept if the new one cannot be written completely", async () => {
    const { pictures, save, store } = make();
    const old = picture([a.feature({ checkouts: checkouts(600) })]);
    await save(old);
    store.sqlite.run("VACUUM");
    const pages = Number(store.sqlite.query("PRAGMA page_count").values()[0]?.[0]);
    store.sqlite.run(`PRAGMA max_page_count = ${pages + 2}`);
    const large = picture([a.feature({ checkouts: checkouts(20_000, 5_000) })]);
    await expect(save(large)).rejects.toMatchObject({ code: "FULL" });
    expect(pictures.load().get("eda")).toEqual(old);
    store.sqlite.run("PRAGMA max_page_count = 1000000");
    await save(large);
    expect(pictures.load().get("eda")).toEqual(large);
  });
});

describe("an unreadable picture does not affect others", () => {
  test.each([
    ["a head that is no JSON", "UPDATE pictures SET head = '{' WHERE server_id = 'eda'"],
    ["a head of another format", `UPDATE pictures SET head = '{"format":0}' WHERE server_id = 'eda'`],
    [
      "another server's head",
      "UPDATE pictures SET head = (SELECT head FROM pictures WHERE server_id = 'rlm') WHERE server_id = 'eda'",
    ],
    ["missing features", "UPDATE pictures SET features = NULL WHERE server_id = 'eda'"],
    ["damaged features", "UPDATE pictures SET features = x'28b52ffd00' WHERE server_id = 'eda'"],
  ])("%s", async (_, damage) => {
    const { pictures, save, store, log } = make(["eda", "rlm"]);
    await save(picture([a.feature()]));
    const other = picture([a.feature({ name: "other" })], "rlm");
    await save(other);
    store.sqlite.run(damage);
    expect([...pictures.load()]).toEqual([["rlm", other]]);
    expect(log.lines.map(({ level, fields }) => [level, fields.server])).toEqual([["warn", "eda"]]);
    const next = picture([a.feature({ name: "next" })]);
    await save(next);
    expect(pictures.load().get("eda")).toEqual(next);
  });
});

describe("known hosts", () => {
  test("are read in their order", () => {
    const { store, log } = make();
    const hosts = createKnownHostsStore(store, log);
    expect(hosts.load("eda")).toEqual([]);
    hosts.save("eda", ["ws1", "ws2"]);
    hosts.save("eda", ["ws2", "ws1", "ws3"]);
    expect(hosts.load("eda")).toEqual(["ws2", "ws1", "ws3"]);
  });

  test("are bounded: the newest are kept", () => {
    const { store, log } = make();
    const hosts = createKnownHostsStore(store, log);
    const many = Array.from({ length: 50_003 }, (_, n) => `ws${n}`);
    hosts.save("eda", many);
    expect(hosts.load("eda")).toEqual(many.slice(3));
  });

  test("that cannot be read are learned again", () => {
    const { store, log } = make();
    const hosts = createKnownHostsStore(store, log);
    hosts.save("eda", ["ws1"]);
    for (const damage of ["{", "{}", "7"]) {
      store.sqlite.run(`UPDATE known_hosts SET hosts = '${damage}'`);
      expect(hosts.load("eda")).toEqual([]);
    }
    expect(log.lines.map(({ level }) => level)).toEqual(["warn", "warn", "warn"]);
  });
});

test("servers remember when they were first seen and last configured", () => {
  const clock = fixedClock(100);
  const servers = createServers({ store: open(temporaryDirectory()), clock });
  servers.configured([a.server({ id: "a" }), a.server({ id: "b" })]);
  clock.time = 200;
  servers.configured([a.server({ id: "b", name: "renamed", address: "1700@new" })]);
  const first = { id: "a", manager: "flexnet", address: "27000@lic1", name: "EDA tools" };
  expect(servers.list()).toEqual([
    { ...first, firstSeen: 100, lastConfigured: 100 },
    { ...first, id: "b", address: "1700@new", name: "renamed", firstSeen: 100, lastConfigured: 200 },
  ]);
});
