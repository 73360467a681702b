import { describe, expect, test } from "bun:test";
import type { ServerPicture } from "../../../src/domain/picture.ts";
import { applyPoll, initialPicture, markStale, staleDeadline } from "../../../src/domain/polls/apply-poll.ts";
import { statusChanges } from "../../../src/domain/polls/poll-events.ts";
import type { FeatureReading, QueueReading, Reading } from "../../../src/domain/reading.ts";
import { PERMANENT } from "../../../src/domain/reading.ts";
import {
  checkout,
  daemon,
  failedPoll,
  feature,
  member,
  NOON,
  outcome,
  pool,
  reading,
  server,
  toolError,
} from "../make.ts";

const LATER = NOON + 60_000;

const good = () => applyPoll(null, server(), outcome(), LATER);

const next = (before: ServerPicture | null, change: Partial<Reading>, at = LATER) =>
  applyPoll(before, server(), outcome({ reading: reading(change), finishedAt: at }), at + 60_000);

const states = ({ features }: ServerPicture) => features.map(({ name, state }) => `${name} ${state}`);

const only = (picture: ServerPicture) => {
  const [first] = picture.features;
  if (first === undefined || picture.features.length > 1) throw new Error("expected exactly one feature");
  return first;
};

test("an unrecognized line outside all blocks makes the server partial, not its features", () => {
  const picture = next(good(), { unparsedLines: 1, stray: true });
  expect(picture).toMatchObject({ state: "partial", cut: false, status: "up" });
  expect(only(picture).state).toBe("ok");
  expect(next(picture, {}).state).toBe("ok");
});

describe("state of a feature after a poll", () => {
  const gone = { daemons: [daemon({ status: "down", error: toolError({ message: "down. (-97,121)" }) })] };
  const failed = feature({ total: null, used: null, error: toolError(), checkouts: [] });
  const shared = feature({ consistency: "shared" });
  type Row = [
    string,
    boolean,
    Partial<Reading> | "failed",
    state: string,
    used: number | null,
    shared?: boolean,
  ];
  test.each<Row>([
    ["lines add up", false, {}, "ok", 1],
    ["more lines than seats in use", false, { features: [shared] }, "ok", 1, true],
    ["lines are missing", true, { features: [feature({ used: 3, consistency: "short" })] }, "partial", 3],
    ["the text ends in the block", true, { features: [feature({ used: 2, cut: true })] }, "partial", 2],
    ["the tool reports an error for the feature", true, { features: [failed] }, "failed", null],
    ["its daemon is down and says that there is none", true, { ...gone, features: [failed] }, "stale", 1],
    ["its daemon is down and it is not printed", true, { ...gone, features: [] }, "stale", 1],
    ["its daemon is down and it was never read", false, { ...gone, features: [failed] }, "failed", null],
    ["it is missing from a whole-looking text", true, { features: [] }, "stale", 1],
    ["it is missing from a cut text", true, { features: [], cut: true }, "stale", 1],
    ["the poll failed", true, "failed", "stale", 1],
  ])("%s (known before: %p)", (_, known, poll, state, used, isShared = false) => {
    const before = known ? good() : null;
    const after = poll === "failed" ? applyPoll(before, server(), failedPoll(), LATER) : next(before, poll);
    const found = only(after);
    expect<unknown[]>([found.state, found.used, found.shared]).toEqual([state, used, isShared]);
    expect(found.collectedAt).toBe(state === "failed" ? null : state === "stale" ? NOON : after.collectedAt);
  });

  test("quotes the tool's own error", () => {
    expect(only(next(null, { features: [failed] })).error).toBe("No such feature exists. (-5,222)");
  });
});

describe("a feature that a reading lacks", () => {
  test("is stale once and removed by the second reading in a row", () => {
    const once = next(good(), { features: [] });
    expect(only(once).state).toBe("stale");
    expect(next(once, { features: [] }).features).toEqual([]);
  });

  test("counts again from the start after it returned", () => {
    const back = next(next(good(), { features: [] }), {});
    expect(only(back)).toMatchObject({ state: "ok", missed: 0 });
    expect(only(next(back, { features: [] })).state).toBe("stale");
  });

  test("is not removed by failed polls, cut output or a daemon that is down", () => {
    let picture = good();
    for (let poll = 1; poll <= 5; poll++) {
      picture = applyPoll(picture, server(), failedPoll({ finishedAt: NOON + poll }), null);
      picture = next(picture, { features: [], cut: true });
      picture = next(picture, { features: [], daemons: [daemon({ status: "down" })] });
    }
    expect(only(picture)).toMatchObject({ state: "stale", used: 1, collectedAt: NOON, missed: 0 });
  });
});

describe("a feature that only the license file lists", () => {
  const pools = [pool({ total: 10, kind: "unknown" })];
  const fromFile = feature({ used: null, checkouts: [], pools, fromFile: true });

  test("keeps its known use until the second reading in a row", () => {
    const once = next(good(), { features: [fromFile] });
    expect(only(once)).toMatchObject({ state: "stale", total: 10, used: 1, collectedAt: NOON });
    expect(only(once).checkouts).toHaveLength(1);
    const twice = only(next(once, { features: [fromFile] }));
    expect(twice).toMatchObject({ state: "ok", total: 10, used: null, checkouts: [] });
    expect(only(next(once, {}))).toMatchObject({ state: "ok", used: 1 });
  });

  test("keeps its known use while the output is cut", () => {
    let picture = good();
    for (let poll = 0; poll < 4; poll++) picture = next(picture, { features: [fromFile], cut: true });
    expect(only(picture)).toMatchObject({ state: "stale", used: 1, collectedAt: NOON });
  });

  test("is read at once if its use is unknown", () => {
    const found = only(next(null, { features: [fromFile] }));
    expect(found).toMatchObject({ state: "ok", total: 10, used: null });
    expect(only(next(next(null, { features: [fromFile] }), { features: [fromFile] })).state).toBe("ok");
  });

  test("is partial, with the reason, if its server answered without it", () => {
    const poll = next(null, { features: [feature({ name: "G" }), { ...fromFile, cut: true }] });
    const error = "listed in the license file, not served";
    expect(poll.features[1]).toMatchObject({ state: "partial", total: 10, used: null, error });
    expect(poll).toMatchObject({ state: "partial", error: null });
  });

  test("does not show that a server is up", () => {
    const alone = { members: [], daemons: [], features: [fromFile] };
    expect(next(null, alone).status).toBe("unknown");
    expect(next(null, { ...alone, features: [feature()] }).status).toBe("up");
  });
});

describe("the server", () => {
  test("is initially unknown and failed, with null numbers", () => {
    const nothing = { collectedAt: null, lastPollAt: null, features: [] };
    expect(initialPicture(server())).toMatchObject({ status: "unknown", state: "failed", ...nothing });
  });

  test("becomes stale when a poll fails, with its last good time", () => {
    const failed = applyPoll(good(), server(), failedPoll(), LATER);
    expect(failed).toMatchObject({ state: "stale", status: "down", collectedAt: NOON, lastPollAt: LATER });
    expect(failed.error?.code).toBe("LICENSE_SERVER_UNREACHABLE");
    expect(failed.members[0]?.status).toBe("down");
    expect(failed.daemons[0]?.status).toBe("unknown");
  });

  test("is unknown, not down, if the tool cannot run", () => {
    const error = { code: "LICENSE_QUERY_FAILED", message: "lmutil is not there", details: null } as const;
    expect(applyPoll(good(), server(), failedPoll({ error }), LATER).status).toBe("unknown");
  });

  test("is degraded with stale numbers if its only daemon cannot be read", () => {
    const unread = toolError({ message: "Cannot read data from license server system. (-16,10009)" });
    const daemons = [daemon({ status: "unknown", version: null, error: unread })];
    const features = [feature({ error: unread }), feature({ name: "new", error: unread })];
    const error = { code: "LICENSE_QUERY_FAILED", message: unread.message, details: null } as const;
    const poll = (change: Partial<Reading>) =>
      outcome({ error, finishedAt: LATER, reading: reading({ daemons, features, ...change }) });

    const after = applyPoll(good(), server(), poll({}), LATER);
    expect(after).toMatchObject({ status: "degraded", state: "stale", error, daemons });
    const seen = after.features.map(({ name, state, used }) => `${name} ${state} ${used}`);
    expect(seen).toEqual(["compiler stale 1", "new failed null"]);
    expect(applyPoll(null, server(), poll({}), LATER)).toMatchObject({ status: "degraded", state: "failed" });
    const memberless = applyPoll(good(), server(), poll({ members: [] }), LATER);
    expect(memberless).toMatchObject({ status: "degraded", daemons });
    const down = poll({ members: [member({ status: "down" })] });
    expect(applyPoll(good(), server(), down, LATER).status).toBe("down");
  });

  test("loses no feature while its daemon cannot be read", () => {
    const unread = toolError();
    const daemons = [daemon({ status: "unknown", error: unread })];
    const error = { code: "LICENSE_QUERY_FAILED", message: unread.message, details: null } as const;
    const poll = reading({ daemons, features: [feature({ name: "other", error: unread })] });
    let picture = good();
    for (let polls = 0; polls < 3; polls++)
      picture = applyPoll(picture, server(), outcome({ error, reading: poll, finishedAt: LATER }), LATER);
    expect(states(picture)).toEqual(["other failed", "compiler stale"]);
  });

  test("that times out is down only if no member is reachable", () => {
    const error = { code: "TIMEOUT", message: "no answer within 30 s", details: null } as const;
    const reach = (reachable: boolean) => [
      { host: "lic1", port: 27000, addresses: [], reachable, connectMs: null, error: null },
    ];
    const status = (reachable: boolean) =>
      applyPoll(good(), server(), failedPoll({ error, reachability: reach(reachable) }), LATER).status;
    expect([status(false), status(true)]).toEqual(["down", "unknown"]);
  });

  test("is partial if the output was cut or any feature is partial", () => {
    expect(next(null, { cut: true }).state).toBe("partial");
    expect(next(null, { features: [feature({ consistency: "short" })] }).state).toBe("partial");
    expect(next(null, {}).state).toBe("ok");
  });

  test("is stale by age 2 × interval + timeout after the last good reading", () => {
    expect(staleDeadline(good())).toBe(NOON + 150_000);
    const stale = markStale(good());
    expect(stale.state).toBe("stale");
    expect(only(stale)).toMatchObject({ state: "stale", used: 1, collectedAt: NOON });
    expect(staleDeadline(stale)).toBeNull();
    expect(markStale(initialPicture(server())).state).toBe("failed");
  });
});

describe("daemons with equal names behind several license servers", () => {
  const poll = (features: FeatureReading[]) => ({
    daemons: [daemon({ status: "down" }), daemon({ status: "up" })],
    features,
  });

  test("one that is down degrades the server, and removes no feature", () => {
    const known = next(null, poll([feature(), feature({ name: "second" })]));
    const later = next(next(known, poll([feature()])), poll([feature()]));
    expect(later.status).toBe("degraded");
    expect(states(later)).toEqual(["compiler ok", "second stale"]);
  });

  test("report once that one is down", () => {
    const known = next(null, poll([]));
    const up = next(null, { daemons: [daemon({ status: "up" }), daemon({ status: "up" })] });
    const told = statusChanges(up, known);
    expect(told).toMatchObject([
      { daemon: null, to: "degraded" },
      { daemon: "snpslmd", from: "up", to: "down" },
    ]);
    expect(statusChanges(known, next(known, poll([])))).toEqual([]);
  });
});

describe("blocks with equal (daemon, name)", () => {
  const blocks = (list: FeatureReading[]) => only(next(null, { features: list }));

  test("equal blocks of several license servers are added up", () => {
    expect(blocks([feature(), feature()])).toMatchObject({ total: 20, used: 2, checkouts: { length: 2 } });
    const idle = feature({ used: 0, checkouts: [] });
    expect(blocks([idle, idle])).toMatchObject({ total: 20, used: 0, pools: { length: 2 } });
  });

  test("different blocks become pools and are added up", () => {
    const found = blocks([feature(), feature({ total: 5, used: 2, checkouts: [checkout({ count: 2 })] })]);
    expect(found).toMatchObject({ total: 15, used: 3, available: 12 });
    expect(found.pools).toMatchObject([
      { total: 10, used: 1 },
      { total: 5, used: 2 },
    ]);
    expect(found.checkouts.map((row) => row.pool)).toEqual([0, 1]);
  });

  test("an error block makes the numbers partial", () => {
    const broken = feature({ total: null, used: null, error: toolError(), checkouts: [] });
    expect(blocks([feature(), broken])).toMatchObject({ state: "partial", total: 10 });
  });

  test("equal names at two daemons are two features", () => {
    const picture = next(null, { features: [feature(), feature({ daemon: "mgcld" })] });
    expect(picture.features.map((each) => each.daemon)).toEqual(["snpslmd", "mgcld"]);
  });
});

describe("pools", () => {
  test("have stable and unique ids", () => {
    const pools = [pool(), pool(), pool({ version: "v2.0" }), pool({ number: "12" })];
    const ids = () => only(next(null, { features: [feature({ pools })] })).pools.map((each) => each.id);
    expect(new Set(ids()).size).toBe(4);
    expect(ids()).toEqual(ids());
    expect(ids()[3]).toBe("12");
    expect(ids()[1]).toBe(`${ids()[0]?.slice(0, -1)}2`);
  });

  test("the feature has the earliest expiry", () => {
    const dated = (expiresOn: string) => {
      const expiresAt = Date.parse(`${expiresOn}T23:59:59.999Z`);
      return pool({ expiry: { expiresOn, expiresAt, permanent: false } });
    };
    const pools = [pool({ expiry: PERMANENT }), dated("2027-01-01"), dated("2026-05-01")];
    expect(only(next(null, { features: [feature({ pools })] })).expiry.expiresOn).toBe("2026-05-01");
  });

  test("are kept once if a reading prints none", () => {
    const known = next(null, { features: [feature({ pools: [pool({ expiry: PERMANENT })] })] });
    const once = next(known, {});
    expect(only(once).expiry.permanent).toBe(true);
    expect(only(next(once, {})).expiry.permanent).toBe(false);
  });
});

describe("counts", () => {
  test.each([
    { total: 10, used: 4, unlimited: false, available: 6, utilization: 40 },
    { total: 3, used: 1, unlimited: false, available: 2, utilization: 33.33 },
    { total: 2, used: 3, unlimited: false, available: -1, utilization: 150 },
    { total: 0, used: 0, unlimited: false, available: 0, utilization: null },
    { total: null, used: 4, unlimited: true, available: null, utilization: null },
    { total: 10, used: null, unlimited: false, available: null, utilization: null },
  ])("$used of $total (unlimited: $unlimited)", ({ total, used, unlimited, available, utilization }) => {
    const found = only(next(null, { features: [feature({ total, used, unlimited })] }));
    expect(found).toMatchObject({ total, used, unlimited, available, utilization });
  });

  test("queued and reserved seats do not count as used", () => {
    const queue = [{ ...checkout(), count: 3 }];
    const reservations = [{ type: "group" as const, name: "lab-1", count: 4, pool: null }];
    const found = only(next(null, { features: [feature({ queue, reservations, used: 5 })] }));
    expect(found).toMatchObject({ used: 5, queued: 3, reserved: 4 });
  });
});

describe("status of a server from its parts", () => {
  const of = (list: string) => list.split(" ").filter((each) => each !== "") as ("up" | "down")[];
  test.each([
    ["up", 1, "up", "up"],
    ["up up up", 2, "up", "up"],
    ["up up down", 2, "up", "degraded"],
    ["up down down", 2, "up", "down"],
    ["up down down", 1, "up", "degraded"],
    ["up down", 1, "up", "degraded"],
    ["up", 1, "up down", "degraded"],
    ["up", 1, "down", "down"],
    ["down", 1, "", "down"],
    ["up up down", 2, "up down", "degraded"],
  ])("members %s of which %i must be up, daemons %s: %s", (members, quorum, daemons, status) => {
    const change = reading({
      members: of(members).map((each, index) => member({ host: `lic${index}`, status: each })),
      daemons: of(daemons).map((each, index) => daemon({ name: `d${index}`, status: each })),
      features: [],
    });
    const picture = applyPoll(null, server(), outcome({ reading: change, quorum }), LATER);
    expect<string>(picture.status).toBe(status);
  });

  test("features without member and daemon lines show that a server answered", () => {
    expect(next(null, { members: [], daemons: [] }).status).toBe("up");
  });
});

describe("queue entries", () => {
  const place = { host: "ws1", display: ":0", qualifier: null, version: "v1", pool: null };
  const waiting = (user: string, handle: string | null = null, count = 1): QueueReading => {
    return { ...place, user, handle, count };
  };
  const seen = (picture: ServerPicture) =>
    only(picture).queue.map(({ user, handle, firstSeenAt }) =>
      [user, handle, (firstSeenAt ?? 0) - NOON].join(" "),
    );
  const queue = (...entries: QueueReading[]) => ({ features: [feature({ queue: entries })] });

  test("keep the time at which they were first seen", () => {
    const first = next(null, queue(waiting("ada"), waiting("eve")), NOON);
    expect(seen(first)).toEqual(["ada  0", "eve  0"]);
    const second = next(first, queue(waiting("bob"), waiting("eve", null, 2)), LATER);
    expect(seen(second)).toEqual(["bob  60000", "eve  0"]);
    const failed = applyPoll(second, server(), failedPoll(), LATER);
    const third = next(failed, queue(waiting("eve"), waiting("ada")), LATER + 1);
    expect(seen(third)).toEqual(["eve  0", "ada  60001"]);
  });

  test("that are equal are counted, the longest waiting first", () => {
    const first = next(null, queue(waiting("ada")), NOON);
    const second = next(first, queue(waiting("ada"), waiting("ada")), LATER);
    expect(seen(second)).toEqual(["ada  0", "ada  60000"]);
    expect(seen(next(first, queue(waiting("ada", "1f")), LATER))).toEqual(["ada 1f 60000"]);
  });
});
