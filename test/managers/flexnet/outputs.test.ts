import { describe, expect, test } from "bun:test";
import { MAX_UNPARSED_KEPT } from "../../../src/domain/reading.ts";
import { flexnet } from "../../../src/managers/flexnet/index.ts";
import { createKnownHosts } from "../../../src/managers/manager.ts";
import type { ReadOptions } from "../read-as.ts";
import { around, block, featureOf, fixture, readText } from "./read.ts";

/** Returns an output of one server and one daemon with the lines of feature F and `used` seats in use. */
const readF = (used: number, lines: readonly string[], options?: ReadOptions) =>
  readText(around(block("F", used, lines)), options);
const F = (used: number, lines: readonly string[], options?: ReadOptions) =>
  featureOf(readF(used, lines, options), "F");

const endOf = (day: string) => ({
  expiresOn: day,
  expiresAt: Date.parse(day) + 86_400_000 - 1,
  permanent: false,
});

const UP = "lic: license server UP (MASTER) v11.13.0";
const SEAT = "    amira pc-1 pc-1 (v1.0) (lic/27000 101), start Fri 10/20 16:44";

describe("a modern output", () => {
  const reading = readText(fixture("modern"));

  test("head, members, daemons", () => {
    const up = { status: "up", version: "v11.19.6", error: null } as const;
    expect(reading).toMatchObject({ manager: "flexnet", errors: [], cut: false, recognised: true });
    expect(reading.reportTime).toBe(Date.parse("2025-03-12T14:05Z"));
    expect(reading.members).toEqual([{ ...up, host: "lic1.example.com", port: 27000, master: true }]);
    expect(reading.daemons).toEqual([{ ...up, name: "solverd", totals: null }]);
    expect(reading.features.map(({ name }) => name)).toEqual(["Solver", "111", "Viewer", "Broken", "Idle"]);
  });

  test("pools of one feature", () => {
    const solver = featureOf(reading, "Solver");
    expect(solver).toMatchObject({ daemon: "solverd", total: 20, used: 17, unlimited: false });
    expect(solver.consistency).toBe("ok");
    const pools = solver.pools.map(({ version, expiry, vendorString, kind, total, used }) =>
      [version, expiry.permanent ? "permanent" : expiry.expiresOn, vendorString, kind, total, used].join(
        ", ",
      ),
    );
    expect(pools).toEqual([
      'v2025.1, 2025-12-31, site=A|seats="12",kind:full, floating, 12, 11',
      "v2024.2, permanent, , nodelocked, 8, 6",
    ]);
  });

  test("checkouts: counts, linger, process ids, handles, starts", () => {
    const rows = featureOf(reading, "Solver").checkouts.map((held) =>
      [
        `${held.user}@${held.host} ${held.display} ${held.qualifier} × ${held.count} linger ${held.lingerSeconds}`,
        `${held.borrowed ? "borrowed " : ""}pid ${held.pid} handle ${held.handle} pool ${held.pool}`,
        new Date(held.startedAt ?? 0).toISOString().slice(0, 16),
      ].join(", "),
    );
    expect(rows).toEqual([
      "amira@ws-101 ws-101 null × 1 linger null, pid 4711 handle 101 pool 0, 2025-03-12T08:01",
      "bruno@ws-102 ws-102:0.0 null × 4 linger null, pid 4712 handle 205 pool 0, 2025-03-11T17:55",
      "Carla von Berg@ws-103 /dev/pts/3 Batch Engine × 2 linger 600, borrowed pid null handle 309 pool 0, 2025-03-12T09:30",
      "dora@ws-104 NoXDisplay 88123 × 1 linger 0, pid null handle 412 pool 0, 2024-12-30T10:00",
      "1@ws-106 ws-106 null × 6 linger null, pid null handle 614 pool 1, 2025-03-12T11:11",
    ]);
  });

  test("reservations and queue", () => {
    const solver = featureOf(reading, "Solver");
    expect(solver.reservations).toEqual([
      { type: "group", name: "night-shift", count: 2, pool: 0 },
      { type: "host_group", name: "rack-7.east", count: 1, pool: 0 },
    ]);
    const emil = { user: "emil", host: "ws-105", display: "ws-105", qualifier: "2025.1", handle: "513" };
    expect(solver.queue).toEqual([{ ...emil, version: "v2025.1", count: 3, pool: 0 }]);
  });

  test("uncounted and failed features have no counts", () => {
    const unknown = { total: null, used: null };
    const pools = [{ kind: "uncounted", unlimited: true, total: null }];
    expect(featureOf(reading, "Viewer")).toMatchObject({ ...unknown, unlimited: true, pools });
    const error = { message: "Error: 3 licenses, unsupported by licensed server" };
    expect(featureOf(reading, "Broken")).toMatchObject({ ...unknown, unlimited: false, pools: [], error });
  });

  test("a row of the table without a pool line becomes a pool", () => {
    const own = { number: null, vendorString: null, kind: "unknown", unlimited: false } as const;
    expect(featureOf(reading, "Idle").pools).toEqual([
      { ...own, version: "v3.0", total: 5, used: 0, expiry: endOf("2026-04-30") },
    ]);
    expect(reading.unparsedLines).toBe(1);
    expect(reading.unparsed[0]?.text).toContain("30-Apr-20261");
  });
});

describe("a triad with a member down and several daemons", () => {
  const reading = readText(fixture("triad-two-daemons"));

  test("an error line marks its member as down", () => {
    const members = reading.members.map(({ error, ...member }) => Object.values(member).join(" "));
    expect(members).toEqual([
      "alpha 27000 up false v9.2",
      "beta 27000 up true v11.7",
      "gamma 27000 down false ",
    ]);
    const message = 'Cannot connect to license server system. (-15,570:115 "Operation now in progress")';
    const code = { major: -15, minor: 570, system: 115, kind: "unreachable" } as const;
    expect(reading.members[2]?.error).toEqual({ message, ...code });
    expect(reading.errors).toEqual([]);
    expect(reading.unparsedLines).toBe(0);
  });

  test("equal feature names belong to the daemon above them", () => {
    const features = reading.features.map(
      ({ daemon, name, total, used }) => `${daemon}/${name} ${used} of ${total}`,
    );
    expect(features).toEqual([
      "cadd/Mesh 1 of 10",
      "cadd/Draw 0 of 3",
      "simd/Mesh 4 of 4",
      "deadd/Gone null of null",
    ]);
    const daemons = reading.daemons.map(({ name, status }) => `${name} ${status}`);
    expect(daemons).toEqual(["cadd up", "simd up", "deadd down"]);
  });

  test("features of a daemon that is down are errors", () => {
    const message = "Cannot get users of Gone: No such feature exists. (-5,222)";
    const error = { message, major: -5, minor: 222 };
    expect(featureOf(reading, "Gone")).toMatchObject({ total: null, used: null, error });
  });

  test("a checkout without version, one without handle, the year before in January", () => {
    const [first, second] = featureOf(reading, "Mesh", "simd").checkouts;
    expect(first).toMatchObject({ user: "win\\user", host: "pc-2", version: null, handle: "22" });
    expect(second).toMatchObject({ host: "pc-3", display: "pc-30", version: "v5.0", handle: null, count: 3 });
    expect(featureOf(reading, "Mesh", "cadd").checkouts[0]?.startedAt).toBe(Date.parse("2019-12-31T23:50Z"));
  });
});

describe("errors", () => {
  test("a server that is down", () => {
    const reading = readText(fixture("unreachable"));
    const words = "lmgrd is not running: License server machine is down or not responding.";
    const message = `${words} (-96,7:2 "No such file or directory")`;
    const error = { message, major: -96, minor: 7, system: 2, kind: "unreachable" } as const;
    expect(reading.errors).toEqual([error]);
    expect(reading.members).toMatchObject([{ host: "lonely", port: 27000, status: "down", error }]);
    expect(reading).toMatchObject({ features: [], unparsedLines: 0, recognised: true });
  });

  test("a member that answers with an error is not shown to be down", () => {
    const text = around([]).replace(UP, "lic: Cannot read data. (-16,287)");
    const error = { kind: "query", major: -16 };
    expect(readText(text).members).toMatchObject([{ status: "unknown", error }]);
  });

  test("unknown lines are counted without end and kept within bounds", () => {
    const reading = readText(around(Array.from({ length: 1000 }, () => "?".repeat(2000))));
    expect(reading.unparsedLines).toBe(1000);
    expect(reading.unparsed).toHaveLength(MAX_UNPARSED_KEPT);
    expect(reading.unparsed[0]?.text).toHaveLength(500);
  });
});

describe("shapes that other parsers trip over", () => {
  test("reservations of one group on several lines, groups with hyphens, host groups", () => {
    const lines = [
      "\t2 RESERVATIONs for GROUP a-b.c (lic/27000)",
      SEAT,
      "\t1 RESERVATION for GROUP a-b.c (lic/27000)",
      "\t3 RESERVATIONs for HOST_GROUP x y (lic/27000)",
    ];
    const feature = F(7, lines);
    expect(feature).toMatchObject({ consistency: "ok", pools: [{ used: 7 }] });
    const printed = feature.reservations.map(({ type, name, count }) => `${count} ${type} ${name}`);
    expect(printed).toEqual(["2 group a-b.c", "1 group a-b.c", "3 host_group x y"]);
  });

  const tails: [string, number, number | null, boolean, number | null][] = [
    ["  (linger: 14437140)", 1, 14_437_140, true, null],
    ["  (linger: 885098 / 1340160)", 1, 885_098, true, null],
    ["  (linger: 0 / 86400)", 1, 0, false, null],
    [", 16 licenses  (linger: 10 / 20)", 16, 10, true, null],
    [", 16 licenses (linger: 10), PID: 7 ", 16, 10, true, 7],
    [", PID: 7 , 16 licenses", 16, null, false, 7],
    [", PID: 7  (linger: 10)", 1, 10, true, 7],
    ["   ", 1, null, false, null],
  ];
  test.each(tails)("tail %j", (tail, count, lingerSeconds, borrowed, pid) => {
    const reading = readF(count, [SEAT + tail]);
    expect(reading.unparsedLines).toBe(0);
    expect(featureOf(reading, "F").checkouts).toMatchObject([{ count, lingerSeconds, borrowed, pid }]);
  });

  describe("a line with an unknown tail", () => {
    const rows: [string, number, number | null, number | null][] = [
      [", 0 licenses", 1, null, null],
      [", 2 licenses, 3 licenses", 2, null, null],
      [", PID: x", 1, null, null],
      [" and more", 1, null, null],
      [", PID: 1, PID: 2", 1, 1, null],
      [", borrow-return Mon 10/23 17:00, 4 licenses", 4, null, null],
      [":07, 3 licenses (linger: 60), PID: 9", 3, 9, 60],
      [" PROJECT solar (linger: 5 / x) (linger: 60)", 1, null, 60],
    ];
    test.each(rows)("%j", (tail, count, pid, lingerSeconds) => {
      const reading = readText(around([...block("F", count, [SEAT + tail]), ...block("G", 0, [])]));
      expect(reading).toMatchObject({ unparsedLines: 1, cut: false });
      expect(reading.stray).toBeUndefined();
      expect(featureOf(reading, "F")).toMatchObject({
        checkouts: [{ user: "amira", count, pid, lingerSeconds, startedAt: Date.parse("2017-10-20T16:44Z") }],
        consistency: "ok",
        cut: false,
      });
    });

    test("a start that cannot be read is unknown", () => {
      const checkouts = [{ count: 2, startedAt: null }];
      const row = `${SEAT.replace("Fri 10/20", "20 Oct")}, 2 licenses`;
      expect(F(2, [row])).toMatchObject({ checkouts, consistency: "ok" });
    });

    test("a queue entry and reservations", () => {
      const lines = [
        "    bo pc-2 pc-2 (v1.0) (lic/27000 102) queued for 2 licenses, PID: 7",
        "    1 RESERVATION for DAEMON on lic (lic/27000)",
        "    2 RESERVATIONs for PROJECT_GROUP alpha (lic/27000)",
        "    10 borrowable licenses issued",
      ];
      const reading = readF(3, lines);
      expect(reading).toMatchObject({ unparsedLines: 4, cut: false });
      const other = [{ name: "DAEMON on lic" }, { name: "PROJECT_GROUP alpha" }];
      const reservations = other.map((named) => ({ type: "other", ...named }));
      const queue = [{ user: "bo", count: 2 }];
      expect(featureOf(reading, "F")).toMatchObject({ queue, reservations, consistency: "ok", cut: false });
    });

    test("a header", () => {
      const more = "Total of 1 license in use;  10 borrowable licenses issued";
      const lines = block("F", 1, [SEAT]).map((line) => line.replace("Total of 1 licenses in use", more));
      const reading = readText(around([...lines, "Users of X: None"]));
      expect(reading).toMatchObject({ unparsedLines: 2, cut: false });
      expect(reading.features).toMatchObject([
        { name: "F", total: 100, used: 1, consistency: "ok", cut: false },
        { name: "X", total: null, used: 0, consistency: "ok", cut: false },
      ]);
    });

    test("at the end of the text it may be cut: where seats are missing it is", () => {
      expect(readF(1, [`${SEAT}, borrow-return Mon`]).cut).toBe(false);
      expect(readF(12, [`${SEAT}, 12 lic`]).cut).toBe(true);
    });
  });

  describe("an unknown line", () => {
    test("makes its own block partial, and no other", () => {
      const reading = readText(
        around([...block("F", 1, [SEAT]), ...block("G", 0, ["    what is this"]), ...block("H", 0, [])]),
      );
      expect(reading.features.map(({ cut }) => cut)).toEqual([false, true, false]);
      expect(reading).toMatchObject({ unparsedLines: 1, cut: false });
      expect(reading.stray).toBeUndefined();
    });

    test("in place of a header's counts leaves them unknown", () => {
      const odd = "Users of X:  (Total of x licenses issued;  Total of y licenses in use)";
      const reading = readText(around([odd, "", SEAT, "", ...block("F", 1, [SEAT])]));
      expect(reading.features).toMatchObject([
        { name: "X", total: null, used: null, checkouts: [{ user: "amira" }], cut: true },
        { name: "F", cut: false },
      ]);
    });

    test("outside any block is the server's", () => {
      const text = around(block("F", 1, [SEAT]));
      const above = text.replace("Vendor daemon", "what is this\nVendor daemon");
      for (const reading of [readText(above), readText(`${text}Users of nobody\n`)]) {
        expect(reading).toMatchObject({ unparsedLines: 1, stray: true });
        expect(reading.features).toMatchObject([{ name: "F", cut: false }]);
      }
    });
  });

  test("displays with brackets, quotes, commas and bars", () => {
    const lines = [
      "    root srv |)8<fZ)=Y[<7L$lY-p\\<6nn^Y (v61.4) (lic/27000 1), start Mon 10/16 11:01",
      "    jo pc w%.=H@QVO!;~_8' (v10.1) (lic/27000 2), start Mon 10/16 11:01",
      '    al pc "a), start Fri 10/20 1:00, (b" (v1) (lic/27000 3), start Mon 10/16 11:01',
      "    bo pc (v9) (v1) (lic/27000 4), start Mon 10/16 11:01",
    ];
    const { checkouts } = F(4, lines);
    expect(checkouts.map(({ display, version, handle }) => [display, version, handle].join("  "))).toEqual([
      "|)8<fZ)=Y[<7L$lY-p\\<6nn^Y  v61.4  1",
      "w%.=H@QVO!;~_8'  v10.1  2",
      '"a), start Fri 10/20 1:00, (b"  v1  3',
      "(v9)  v1  4",
    ]);
  });

  test("a host in two spellings is one member, its best status wins", () => {
    const lines = ["LIC: license server DOWN", "lic: license server UP v11.12", UP.replace("lic", "  Lic")];
    expect(readText(around([]).replace(UP, lines.join("\n"))).members).toEqual([
      { host: "lic", port: 27000, status: "up", master: true, version: "v11.12", error: null },
    ]);
  });

  describe("a server with an alias", () => {
    const asked = (spec: string, ...lines: string[]) =>
      readText(
        around([])
          .replace("License server status: 27000@lic", `License server status: ${spec}`)
          .replace(UP, lines.join("\n")),
      ).members.map(({ host, port, status }) => `${port}@${host} ${status}`);
    const up = (host: string) => `${host}: license server UP v11.1`;

    test("is not a member that shares only its first label", () => {
      const long = asked("1@lic.a.example,1@lic.b.example,1@lic.c.example", up("lic.b.example"));
      expect(long).toEqual(["1@lic.a.example unknown", "1@lic.b.example up", "1@lic.c.example unknown"]);
    });

    test.each(["27001@10.0.0.7", "27001@licenses.example"])("%s is one member, by its own name", (spec) => {
      expect(asked(spec, "lic01: license server UP (MASTER) v11.16.2")).toEqual(["27001@lic01 up"]);
    });

    test("of a triad they are paired in their order", () => {
      const down = "c: Cannot connect to license server system. (-15,570)";
      const triad = asked("1@alias1,2@b,3@alias3", up("a"), up("b"), down);
      expect(triad).toEqual(["1@a up", "2@b up", "3@c down"]);
    });

    test("one name for a whole triad is replaced by its members", () => {
      const triad = asked("27000@triad.example", up("a"), up("b"), up("c"));
      expect(triad).toEqual(["27000@a up", "27000@b up", "27000@c up"]);
    });

    test("without a line is unknown", () => {
      expect(asked("1@a,2@b,3@c", up("a"), up("b"))).toEqual(["1@a up", "2@b up", "3@c unknown"]);
      const strange = asked("1@a,2@b,3@c", up("x"));
      expect(strange).toEqual(["1@a unknown", "2@b unknown", "3@c unknown", "null@x up"]);
    });
  });

  test("equal lines with one handle are separate checkouts", () => {
    expect(F(3, [SEAT, SEAT, SEAT])).toMatchObject({ consistency: "ok", checkouts: { length: 3 } });
  });

  test("more lines than seats share them; their pools' use is not known", () => {
    expect(F(1, [SEAT, SEAT])).toMatchObject({ used: 1, consistency: "shared", pools: [{ used: null }] });
  });

  test("lines that exceed both the use and the total are wrong, not shared", () => {
    expect(F(1, [`${SEAT}, 101 licenses`])).toMatchObject({ used: 1, consistency: "short" });
    expect(F(1, [`${SEAT}, 100 licenses`])).toMatchObject({ used: 1, consistency: "shared" });
  });

  test.each<[string, string | null, string | null, string | null]>([
    ["pc-1 pc-1", "pc-1", "pc-1", null],
    ["pc-1", "pc-1", null, null],
    ["pc-1 :0 tool", "pc-1", ":0", "tool"],
    ["", null, null, null],
  ])("an activated seat on %j has a host and no user", (words, host, display, qualifier) => {
    const row = `    ACTIVATED LICENSE(S) ${words} (v10.1) (lic/27000 101), start Fri 10/20 16:44`;
    const seat = {
      user: null,
      host,
      display,
      qualifier,
      version: "v10.1",
      borrowed: true,
      lingerSeconds: null,
    };
    expect(F(1, [row])).toMatchObject({ consistency: "ok", cut: false, checkouts: [seat] });
  });

  test("a host that is learnt later does not give an activated seat a user", () => {
    const rows = [SEAT.replace("amira pc-1 pc-1", "ACTIVATED LICENSE(S) a pc-1 x y"), SEAT];
    expect(F(2, rows).checkouts.map(({ user, host }) => [user, host])).toEqual([
      [null, "pc-1"],
      ["amira", "pc-1"],
    ]);
  });

  test("more seats in use than issued", () => {
    const reading = readText(around(block("F", 2, [`${SEAT}, 2 licenses`], 1)));
    expect(featureOf(reading, "F")).toMatchObject({ total: 1, used: 2, consistency: "ok" });
  });

  test("without a readable banner, `now` decides the year", () => {
    const text = around(block("F", 1, [SEAT]), "Fri 10/20/XXXX 10:00");
    const reading = readText(text, { now: Date.parse("2017-11-01T00:00Z") });
    expect(reading).toMatchObject({ reportTime: null, unparsedLines: 0 });
    expect(featureOf(reading, "F").checkouts[0]?.startedAt).toBe(Date.parse("2017-10-20T16:44Z"));
  });

  test("only the date as a heading, daemons without one", () => {
    const reading = readText("Wed 10/28/2020 10:48\n\n   vend: UP v11.1\nFeature usage info:\n");
    expect(reading).toMatchObject({ daemons: [{ name: "vend", status: "up" }], unparsedLines: 0 });
    expect(reading.reportTime).toBe(Date.parse("2020-10-28T10:48Z"));
  });
});

describe("hosts", () => {
  const known = "    bo pc-7 pc-7 (v1.0) (lic/27000 1), start Fri 10/20 6:07";
  const jane = { user: "Jane Doe", host: "pc-7", display: "abc" };
  const odd = "    Jane Doe pc-7 abc (v1.0) (lic/27000 2), start Fri 10/20 6:07";

  test.each([
    ["before", [known, odd]],
    ["behind", [odd, known]],
  ])("learnt from a line %s it, whatever the order", (_, lines) => {
    expect(F(2, lines).checkouts).toContainEqual(expect.objectContaining(jane));
  });

  test("learnt from an earlier output", () => {
    const knownHosts = createKnownHosts();
    readF(1, [known], { knownHosts });
    expect(F(1, [odd], { knownHosts }).checkouts).toMatchObject([jane]);
  });
});

const OPTIONS = { address: "27000@lic", zone: "UTC" };

test("prints a modern lmstat's text", () => {
  const printed = flexnet.render(readText(fixture("modern")), OPTIONS).split("\n");
  const real = new Set(fixture("modern").split("\n"));
  // These lines differ because readings do not keep the file path, the spelling of expiries, locks, and
  // linger's second number.
  expect(printed.filter((line) => !real.has(line))).toHaveLength(11);
  expect(printed).toContain("Flexible License Manager status on Wed 3/12/2025 14:05");
  expect(printed.join("\n")).not.toMatch(/undefined|null/);
});

test("prints the path of the license file", () => {
  const text = flexnet.render(readText(fixture("modern")), { address: "/srv/a.lic", zone: "UTC" });
  expect(text).toContain("    License file(s) on lic1.example.com: /srv/a.lic:\n");
});
