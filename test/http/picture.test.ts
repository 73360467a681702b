import { afterEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Patch, Picture, PictureServer } from "../../src/domain/live-picture.ts";
import type { FeaturePicture, ServerPicture } from "../../src/domain/picture.ts";
import { ROW_COLUMNS } from "../../src/domain/picture.ts";
import { applyPatch, type KeptServer, keptServer } from "../../src/domain/polls/kept-picture.ts";
import { iso } from "../../src/domain/time/clock.ts";
import { patchJson, serverJson } from "../../src/http/picture.ts";
import { featureRecord, userRecords } from "../../src/http/records.ts";
import { closeDoors, serve } from "./doors.ts";
import { liveBench } from "./live-bench.ts";
import { type Bench, checkout, feature, NOW, picture } from "./make.ts";
import { PSEUDONYMS, readFrames } from "./streams/rig.ts";

afterEach(closeDoors);

const held = (of: ServerPicture, number: number) =>
  keptServer(JSON.parse(serverJson(of, number)) as PictureServer);
const patchOf = (before: ServerPicture, after: ServerPicture, from: number): Patch =>
  JSON.parse(`{"server":"eda","from":${from},"to":${from + 1},"status":"up",${patchJson(before, after)}}`);

const NAME = fc.constantFrom("a/b", "a%2Fb", "b", "ARC/INFO", '<b>"\n', "=cmd()");
const HOLDER = fc.record({
  user: fc.constantFrom("ada", "bob", "O'Neil\n<script>"),
  session: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
  count: fc.integer({ min: 1, max: 3 }),
});
const FEATURE = fc
  .record({
    daemon: fc.constantFrom("a", "a/b", "acmed"),
    name: NAME,
    used: fc.nat(5),
    checkouts: fc.uniqueArray(HOLDER, { maxLength: 4, selector: ({ session }) => session ?? Math.random() }),
    queue: fc.array(fc.record({ user: fc.constantFrom("ada", "cy"), count: fc.nat(3) }), { maxLength: 3 }),
    collectedAt: fc.constantFrom(NOW - 5_000, NOW - 90_000),
  })
  .map(({ checkouts, queue, ...fields }): FeaturePicture => {
    const rows = checkouts.map(({ user, session, count }) => ({
      ...checkout(user, { count }),
      ...(session !== undefined && { session }),
    }));
    const waits = queue.map(({ user, count }) => ({ ...checkout(user), count, firstSeenAt: NOW }));
    return feature(fields.name, { ...fields, checkouts: rows, queue: waits });
  });
const byName = ({ daemon, name }: FeaturePicture) => JSON.stringify([daemon, name]);
const PICTURE = fc
  .record({
    features: fc.uniqueArray(FEATURE, { maxLength: 5, selector: byName }),
    status: fc.constantFrom("up", "down"),
    lastPollAt: fc.nat(9),
  })
  .map((fields) => {
    // A session belongs to one server.
    const seen = new Set<number>();
    const features = fields.features.map((each) => ({
      ...each,
      checkouts: each.checkouts.filter(
        ({ session = 0 }) => session === 0 || (!seen.has(session) && seen.add(session)),
      ),
    }));
    return picture("eda", { ...fields, features });
  });

test("the reader ends with the daemon's picture, whichever patches are lost", () => {
  const steps = fc.array(fc.tuple(PICTURE, fc.boolean(), fc.boolean()), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(PICTURE, steps, (first, rest) => {
      let [now, number] = [first, 1];
      let mine: KeptServer | null | "refetch" = held(first, 1);
      for (const [next, isLost, isTwice] of rest) {
        const patch = patchOf(now, next, number);
        [now, number] = [next, number + 1];
        for (let times = isLost ? 0 : isTwice ? 2 : 1; times > 0; times--) {
          mine = applyPatch(mine, patch);
          if (mine === "refetch") mine = held(now, number);
        }
      }
      if (mine?.snapshot !== number) mine = held(now, number);
      const { features, rows, ...record } = mine;
      const whole = held(now, number);
      expect(record).toEqual({ ...whole, features: undefined, rows: undefined } as unknown as typeof record);
      expect(new Map([...features].sort())).toEqual(new Map([...whole.features].sort()));
      expect(new Map([...rows].sort())).toEqual(new Map([...whole.rows].sort()));
    }),
  );
});

describe("keys", () => {
  test("are unique for any names, and for equal lines", () => {
    const twins = [checkout("ada"), checkout("ada"), { ...checkout("ada"), session: 7 }];
    const features = [feature("c", { daemon: "a/b", checkouts: twins }), feature("b/c", { daemon: "a" })];
    const { features: kept, rows } = held(picture("eda", { features }), 1);
    expect([...kept.keys()]).toEqual(["a%2Fb/c", "a/b/c"]);
    expect(rows.size).toBe(4);
    const session = ROW_COLUMNS.indexOf("session") + 1;
    expect([...rows.values()].map((row) => row[session])).toEqual([null, null, 7, null]);
  });

  test("arrays have their columns' names", () => {
    const what = { display: ":0", version: "v1", handle: "7", count: 2, borrowed: true };
    const [row, waits] = [checkout("ada", what), checkout("cy", { display: ":1", count: 3, handle: "8" })];
    const checkouts = [{ ...row, session: 5, beganAt: NOW }];
    const queue = [{ ...waits, firstSeenAt: NOW - 1000 }];
    const reservations = [{ type: "group", name: "crew", count: 1, pool: null } as const];
    const one = feature("solver", {
      used: 3,
      available: 1,
      reserved: 1,
      queued: 3,
      checkouts,
      queue,
      reservations,
    });
    const { features, rows } = held(picture("eda", { features: [one] }), 1);
    const { server, pools, ...record } = featureRecord({ id: "eda" }, one);
    expect([...features.values()]).toEqual([{ ...record, collectedAt: null }]);
    const since = { checkout: NOW, reservation: null, queued: NOW - 1000, assigned: null };
    const expected = userRecords({ id: "eda" }, one).map((user) => ({
      ...Object.fromEntries(ROW_COLUMNS.flatMap((name) => (name === "since" ? [] : [[name, user[name]]]))),
      feature: "acmed/solver",
      since: iso(since[user.kind]),
    }));
    const named = [...rows.values()].map(([, ...row]) =>
      ROW_COLUMNS.map((name, index) => [name, row[index]]),
    );
    expect(named.map((row) => Object.fromEntries(row) as object)).toEqual(expected);
    expect([...rows.keys()][0]).toBe("5");
  });

  test("a poll without changes sends only its times", () => {
    const before = picture("eda");
    const later = { collectedAt: NOW, lastPollAt: NOW, nextPollAt: NOW + 60_000 };
    const features = before.features.map((each) => ({ ...each, collectedAt: NOW }));
    const { changed, ...patch } = patchOf(before, { ...before, ...later, features }, 1);
    expect(Object.keys(changed)).toEqual(["collectedAt", "lastPollAt", "nextPollAt"]);
    expect(patch).toMatchObject({ features: [], rows: [], gone: { features: [], rows: [] } });
  });
});

describe("the event picture", () => {
  async function open(at: ReturnType<typeof liveBench>, query: string, role: keyof Bench["keys"] = "viewer") {
    const { port } = serve(at.site);
    const headers = { "x-api-key": at.site.keys[role] };
    return readFrames(await fetch(`http://127.0.0.1:${port}/stream/combined?${query}`, { headers }));
  }
  const emptied = picture("eda", { features: [feature("solver", { used: 0, checkouts: [] })] });

  test("turns the picture into the next one; an answer of that time has its number", async () => {
    const at = liveBench();
    const { next } = await open(at, "events=picture");
    await next();
    const [before] = (await at.site.json<Picture>("/api/picture?server=eda", { key: at.site.keys.viewer }))
      .servers;
    at.show(emptied);
    const frame = await next();
    expect(frame).toMatchObject({
      event: "picture",
      data: { type: "picture", server: "eda", from: 1000, to: 1002, status: "up" },
    });
    if (before === undefined) throw new Error("no server");
    const mine = applyPatch(keptServer(before), frame?.data as unknown as Patch);
    const answer = await at.site.json<Picture>("/api/picture?server=eda", { key: at.site.keys.viewer });
    expect(answer.servers.map(keptServer)).toEqual([mine as KeptServer]);
    at.remove("cae");
    expect((await next())?.data).toMatchObject({ server: "cae", from: 1000, to: null });
  });

  test("is sent only to clients that name it, for their servers, and is not replayed", async () => {
    const at = liveBench();
    const { next } = await open(at, "events=picture,checkout&server=cae&feature=solver");
    const others = await open(at, "interval=3600000");
    await next();
    await others.take(2);
    at.show(emptied);
    at.show(picture("cae", { status: "down" }));
    expect((await next())?.data).toMatchObject({ server: "cae", status: "down" });
    at.streams.log("the next");
    expect((await others.next())?.data).toMatchObject({ message: "the next" });
    expect(at.streams.stored.map(({ type }) => type)).toEqual(["log"]);
    expect(at.streams.holes).toEqual([]);
  });

  test("shows pseudonyms to an anonymized key", async () => {
    const at = liveBench();
    const { next } = await open(at, "events=picture", "anonymous");
    await next();
    at.show(
      picture("eda", { features: [feature("solver", { checkouts: [checkout("zoe"), checkout("ada")] })] }),
    );
    const text = JSON.stringify(await next());
    expect(text).toContain(PSEUDONYMS.user("zoe"));
    expect(text).not.toMatch(/"(zoe|ada|ws01)"/);
    const answer = await at.site.json<Picture>("/api/picture", { key: at.site.keys.anonymous });
    expect(JSON.stringify(answer)).toContain(PSEUDONYMS.user("zoe"));
  });
});
