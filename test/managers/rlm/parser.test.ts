import { describe, expect, test } from "bun:test";
import { applyPoll } from "../../../src/domain/polls/apply-poll.ts";
import { PERMANENT, type Reading } from "../../../src/domain/reading.ts";
import { rlm } from "../../../src/managers/rlm/index.ts";
import { outcome, server } from "../../domain/make.ts";
import { fixture, parse, summary } from "./read.ts";

const POOLS = "\tpaintco license pool status on h (port 1)\n\n";
const TABLE = "\t--------- ISV servers ----------\n";
const USAGE = "\n\n\t------------------------\n\n\tpaintco license usage status on h (port 1)\n\n";

/** Returns the lines of counts of one pool. */
const COUNTS = (inuse: number) =>
  `count: 9, # reservations: 0, inuse: ${inuse}, exp: permanent\n\tobsolete: 0, min_remove: 120, total checkouts: 3`;

/** Returns a complete ISV output with these pool rows and usage lines. */
function isv(rows: string[], usage: string[]): string {
  return `${POOLS}${rows.map((row) => `\t${row}\n`).join("")}${USAGE}${usage.map((line) => `\t${line}\n`).join("")}`;
}

describe("a whole output with two ISV servers", () => {
  const reading = parse(fixture("two-isv-servers.txt"));

  test("is complete", () => {
    expect(reading.unparsed).toEqual([]);
    expect(reading).toMatchObject({ cut: false, recognised: true, errors: [], toolVersion: "v14.1" });
  });

  test("server, ISV servers and their totals", () => {
    const member = { host: "keys.example.org", port: 5053, status: "up", version: "v14.1", error: null };
    expect(reading.members).toMatchObject([{ ...member, master: false }]);
    const daemons = reading.daemons.map(({ name, status, version }) => `${name} ${status} ${version}`);
    expect(daemons).toEqual(["paintco up v14.1", "soundlab up v13.0", "idleware down null"]);
    expect(reading.daemons[0]?.totals).toEqual({ checkouts: 812, denials: 44, removals: 3 });
    expect(reading.daemons[2]?.totals).toBeNull();
  });

  test("computes the server's clock from the statistics", () => {
    expect(reading.reportTime).toBe(Date.UTC(2025, 5, 4, 9, 30, 15));
    expect(parse(fixture("two-isv-servers.txt"), { zone: "America/New_York" }).reportTime).toBe(
      Date.UTC(2025, 5, 4, 13, 30, 15),
    );
  });

  test("features are products with the sums of their pools", () => {
    expect(summary(reading)).toEqual([
      "paintco/brush-pro 19/3 reserved 3 pools 3 seats 4 shared",
      "paintco/view.free unlimited/2 reserved null pools 1 seats 2 ok",
      "paintco/brush lite: EDU 3/1 reserved 0 pools 1 seats 1 ok",
      "paintco/bundle null/null reserved null pools 1 seats 0 ok",
      "soundlab/brush-pro 7/0 reserved 0 pools 1 seats 0 ok",
    ]);
  });

  test("pools keep their number, version and expiry", () => {
    const [brush, free, edu, bundle] = reading.features;
    const pools = brush?.pools.map(({ number, version, total, used, expiry }) =>
      [number, version, used, "of", total, expiry.expiresOn].join(" "),
    );
    expect(pools).toEqual([
      "1 v2025.06 2 of 10 2025-06-30",
      "4 v2025.06 0 of 5 ",
      "2 v2024.12 1 of 4 2025-12-31",
    ]);
    expect(brush?.pools[1]?.expiry).toEqual(PERMANENT);
    expect(edu?.pools[0]?.expiry).toEqual(PERMANENT);
    expect(free?.pools[0]).toMatchObject({ kind: "uncounted", unlimited: true, total: null, used: 2 });
    expect(bundle?.pools[0]).toMatchObject({ kind: "token", unlimited: false, total: null, used: null });
  });

  test("usage lines: user, host, start and pool", () => {
    const brush = reading.features[0]?.checkouts ?? [];
    expect(brush.map(({ user, host, handle }) => [user, host, handle])).toEqual([
      ["ann.lee", "ws-01.example.org", "36a5"],
      ["ann.lee", "ws-01.example.org", "2803"],
      ["CORP\\bob o'neil@mail.org", "WS-02", "c0e"],
      ["1", "ws-03", "41"],
    ]);
    expect(brush[2]?.qualifier).toBe("scene: tree v2 [final]");
    expect(brush[0]?.startedAt).toBe(Date.UTC(2025, 5, 4, 8, 15));
    expect(brush[3]?.startedAt).toBe(Date.UTC(2024, 11, 30, 23, 59));
    // Two pools have the version of the first lines, so the pool is unknown.
    expect(brush.map(({ pool }) => pool)).toEqual([null, null, null, 2]);
    expect(reading.features[1]?.checkouts.map(({ borrowed }) => borrowed)).toEqual([false, true]);
    expect(reading.features[2]?.checkouts[0]).toMatchObject({ user: "eva: x", host: "ws-06", pool: 0 });
  });
});

describe("other layouts", () => {
  test("CRLF, no rlm section, products without version, blank lines of one tab", () => {
    const reading = parse(fixture("isv-only.txt").replaceAll("\n", "\r\n"));
    expect(reading).toMatchObject({ members: [], unparsed: [], cut: false, toolVersion: "v16.0" });
    const totals = { checkouts: 633, denials: 907, removals: 0 };
    expect(reading.daemons[0]).toMatchObject({ name: "farmco", status: "up", totals });
    expect(summary(reading)).toEqual([
      "farmco/render 8/3 reserved 0 pools 1 seats 3 ok",
      "farmco/sim-academic 100/0 reserved 0 pools 1 seats 0 ok",
    ]);
    expect(reading.features[0]?.checkouts[0]).toMatchObject({ user: "node7", version: null, pool: 0 });
  });

  test("the old layout: no indentation, requested version and handle behind the host, seats from reservations", () => {
    const reading = parse(fixture("old-layout.txt"), { now: Date.UTC(2009, 1, 7) });
    expect(reading).toMatchObject({ unparsed: [], cut: false, toolVersion: "v2.1", reportTime: null });
    expect(summary(reading)).toEqual(["paintco/probe 4/3 reserved 1 pools 1 seats 3 ok"]);
    const { checkouts = [] } = reading.features[0] ?? {};
    const seats = checkouts.map(({ user, host, version, handle, count, pool }) =>
      [user, host, version, handle, count, pool].join(" "),
    );
    expect(seats).toEqual([
      "tom sun1 v1.0 809f418 1 0",
      "eve sun2 v2.0 809f4aa 1 0",
      "kim sun3 v2.0 809f4ab 1 0",
    ]);
    expect(checkouts[0]?.startedAt).toBe(Date.UTC(2009, 1, 6, 9, 59));
  });
});

describe("errors", () => {
  test("an unreachable server", () => {
    const reading = parse(fixture("unreachable.txt"));
    const error = {
      message: [
        'Error connecting to "rlm" server',
        'Connection attempted to host: "gone.example.org" on port 5053',
        "Cannot connect to license server (-17)",
        "Connection refused at server (comm: -4)No such file or directory (errno: 111)",
      ].join("\n"),
      major: -17,
      minor: -4,
      system: 111,
      kind: "unreachable",
    } as const;
    expect(reading).toMatchObject({ unparsed: [], recognised: true, cut: false, features: [] });
    expect(reading.errors).toEqual([error]);
    expect(reading.members).toMatchObject([{ host: "gone.example.org", port: 5053, status: "down", error }]);
  });

  test("an unreachable ISV server", () => {
    const reading = parse(fixture("isv-unreachable.txt"));
    const error = { major: -17, minor: -4, kind: "unreachable" };
    expect(reading).toMatchObject({ unparsed: [], errors: [], cut: false, members: [{ status: "up" }] });
    expect(reading.daemons).toMatchObject([{ name: "paintco", status: "down", error }]);
  });

  test("one of two failover servers answers", () => {
    const failed = fixture("unreachable.txt").split("\n").slice(5, 12).join("\n");
    const whole = fixture("two-isv-servers.txt");
    const reading = parse(`${failed}\n${whole}`);
    expect(reading.errors).toEqual([]);
    const members = reading.members.map(({ host, status }) => `${host} ${status}`);
    expect(members).toEqual(["gone.example.org down", "keys.example.org up"]);
    expect(reading.features).toHaveLength(5);
    const cut = parse(`${failed}\n${whole.slice(0, whole.indexOf("\t--------- ISV"))}`);
    expect(cut).toMatchObject({ cut: true, daemons: [], errors: [] });
  });

  test.each([
    ["Cannot connect to license server (-17)", "unreachable", -17],
    ["Request not supported by this license server (-29)", "query", -29],
  ] as const)("a bare %s", (text, kind, major) => {
    const error = { message: text, major, minor: null, system: null, kind };
    expect(parse(`rlmutil v14.1\n${text}\n`).errors).toEqual([error]);
  });
});

describe("years of dates without one", () => {
  test.each([
    ["in January, December was last year", "2026-01-02T08:00Z", "12/31 23:50", "2025-12-31T23:50Z"],
    ["on New Year's Eve, a clock ahead of ours", "2025-12-31T23:58Z", "01/01 00:03", "2026-01-01T00:03Z"],
    ["up to a day ahead is today", "2025-06-04T09:00Z", "06/05 08:00", "2025-06-05T08:00Z"],
    ["more than a day ahead is last year", "2025-06-04T09:00Z", "06/05 10:00", "2024-06-05T10:00Z"],
    ["a leap day is one of a leap year", "2027-01-05T00:00Z", "02/29 10:00", "2024-02-29T10:00Z"],
  ])("%s", (_, now, printed, expected) => {
    const text = isv(["a v1", "count: 1, inuse: 1"], [`a v1: u@h 1/0 at ${printed}  (handle: 1) `]);
    const [feature] = parse(text, { now: Date.parse(now) }).features;
    expect(feature?.checkouts[0]?.startedAt).toBe(Date.parse(expected));
  });

  test("a date that does not exist is reported, the seat is kept", () => {
    const reading = parse(isv(["a v1", "count: 1, inuse: 1"], ["a v1: u@h 1/0 at 13/41 10:00  (handle: 1)"]));
    expect(reading.features[0]?.checkouts[0]).toMatchObject({ user: "u", startedAt: null });
    expect(reading.unparsedLines).toBe(1);
  });
});

describe("the check: inuse = Σ A of the product's usage lines", () => {
  const rows = (inuse: number) => [
    "a v1",
    `count: 9, # reservations: 0, inuse: ${inuse}, exp: permanent`,
    "obsolete: 0, min_remove: 120, total checkouts: 1",
  ];
  const line = (seats: string) => `a v1: u@h ${seats} at 06/04 09:00  (handle: 1) `;

  test.each([
    ["equal, one handle on two lines", 5, ["2/0", "3/0"], "ok"],
    ["less: lines are missing", 5, ["2/0"], "short"],
    ["more: processes share a seat", 1, ["1/0", "1/0"], "shared"],
    ["seats from reservations may or may not be part of A", 3, ["1/1", "1/0"], "ok"],
    ["… and not beyond", 4, ["1/1", "1/0"], "short"],
  ] as const)("%s", (_, inuse, usage, consistency) => {
    expect(parse(isv(rows(inuse), usage.map(line))).features[0]?.consistency).toBe(consistency);
  });

  test("a missing usage section is short where seats are in use, and the text is cut", () => {
    const reading = parse(`${POOLS + rows(2).join("\n")}\n`);
    expect(reading).toMatchObject({ cut: true, features: [{ consistency: "short", used: 2 }] });
    const idle = parse(`${POOLS + rows(0).join("\n")}\n`);
    expect(idle).toMatchObject({ cut: false, features: [{ consistency: "ok" }] });
  });
});

test("a user without a host", () => {
  const reading = parse(isv(["a v1", "count: 1, inuse: 1"], ["a v1: batch 1/0 at 06/04 09:00  (handle: 1)"]));
  expect(reading.features[0]?.checkouts[0]).toMatchObject({ user: "batch", host: null });
});

test("host names ignore case", () => {
  const text = "\trlm status on LIC (port 5053), up 00:00:01\n\trlm status on lic (port 5053), up 00:00:01\n";
  expect(parse(text).members).toHaveLength(1);
});

test.each([
  ["only the banner", "rlmutil v14.1\nCopyright (C) 2006-2020, Reprise Software, Inc.\n", true],
  ["a running ISV server without its part", `${TABLE}\tpaintco 50011 Yes 0\n`, true],
  ["an ISV server that does not run", `${TABLE}\tpaintco 0 No 4\n`, false],
  ["a pool without its second line", `${POOLS}\ta v1\n\t\tcount: 1, inuse: 0, exp: permanent\n`, true],
  ["a pool without counts", `${POOLS}\ta v1\n`, true],
  ["a line without its end", `${POOLS}\ta v1\n\t\tcount: 10, # reservations: 0, inuse: 0`, true],
  [
    "a last line that closes itself",
    `${POOLS}\ta v1\n\t\tcount: 1, inuse: 0\n\t\tobsolete: 0, min_remove: 120, total checkouts: 0`,
    false,
  ],
])("cut or not: %s", (_, text, cut) => {
  expect(parse(text).cut).toBe(cut);
});

/** Server and feature states after a first poll, from `applyPoll`. */
function states(reading: Reading): { server: string; features: Record<string, string> } {
  const picture = applyPoll(null, server({ manager: "rlm" }), outcome({ reading }), null);
  const features = picture.features.map(({ daemon, name, state }) => [`${daemon}/${name}`, state]);
  return { server: picture.state, features: Object.fromEntries(features) };
}

describe("an unknown line", () => {
  const text = fixture("two-isv-servers.txt");
  const whole = states(parse(text)).features;
  const swap = (from: string, to: string) => states(parse(text.replace(from, to)));

  test("below a pool makes its product partial", () => {
    const found = swap("min_remove: 120, total checkouts: 5\n\tview", "min_remove: 120, kept ?\n\tview");
    expect(found).toEqual({ server: "partial", features: { ...whole, "paintco/brush-pro": "partial" } });
  });

  test("in the usage section makes the named product partial", () => {
    const found = swap("ws-06 1/0 at", "ws-06 one seat at");
    const features = { ...whole, "paintco/brush lite: EDU": "partial" };
    expect(found).toEqual({ server: "partial", features });
  });

  test("outside of products makes the server partial", () => {
    const odd = text.replace("\tpaintco comm version: v1.2", "\tpaintco mood: fine");
    expect(states(parse(odd))).toEqual({ server: "partial", features: whole });
    expect(parse(odd)).toMatchObject({ unparsedLines: 1, cut: false });
  });

  test("at the end of a known row makes nothing partial", () => {
    const found = parse(text.replace("exp: permanent", "exp: permanent, colour: red"));
    expect(found.unparsedLines).toBe(1);
    expect(states(found)).toEqual({ server: "ok", features: whole });
  });

  test("rows without their heading cut the text", () => {
    const found = parse(text.slice(text.indexOf("\tbrush-pro v2025.06, pool: 1\n")));
    expect(found).toMatchObject({ cut: true, unparsedLines: 16 });
    const { "paintco/bundle": missing, ...rest } = whole;
    const paintco = ["paintco/brush-pro", "paintco/view.free", "paintco/brush lite: EDU"];
    const features = { ...rest, ...Object.fromEntries(paintco.map((name) => [name, "partial"])) };
    expect(states(found)).toEqual({ server: "partial", features });
  });

  test("a usage section without pools cuts the text", () => {
    const found = parse(text.slice(text.indexOf("\tpaintco license usage"), text.indexOf("\tsoundlab ISV")));
    expect(found).toMatchObject({ cut: true, unparsedLines: 0 });
  });
});

describe("a pool section that is not closed", () => {
  // Pools of one product are interleaved with those of others.
  const rows = ["a v1, pool: 1", COUNTS(0), "b v1, pool: 2", COUNTS(1), "a v2, pool: 3", COUNTS(22)];
  const section = POOLS + rows.map((row) => `\t${row}\n`).join("");
  const end = (text: string) => section.slice(0, section.indexOf(text) + text.length);
  const all = { "paintco/a": "partial", "paintco/b": "partial" };

  test.each([
    ["inside a line", end("b v1, pool: 2\n\tcount: 9"), all],
    [
      "behind a line of counts",
      end("b v1, pool: 2\n\tcount: 9, # reservations: 0, inuse: 1, exp: permanent\n"),
      all,
    ],
    ["behind a heading", end("b v1, pool: 2\n"), { "paintco/a": "partial", "paintco/b": "partial" }],
    ["between two pools", end("a v2, pool: 3\n").replace("\ta v2, pool: 3\n", ""), all],
    ["behind the last pool, with seats in use", section, all],
  ])("cut %s: every product in it is partial", (_, text, features) => {
    expect(states(parse(text))).toEqual({ server: "partial", features });
  });

  test("closed by the next section: only products with seats in use lack their users", () => {
    const closed = states(parse(`${section}\n\n\t------------------------\n`));
    expect(closed).toEqual({
      server: "partial",
      features: { "paintco/a": "partial", "paintco/b": "partial" },
    });
    const idle = section.replace(COUNTS(22), COUNTS(0));
    const half = states(parse(`${idle}\n\n\t------------------------\n`));
    expect(half.features).toEqual({ "paintco/a": "ok", "paintco/b": "partial" });
  });
});

describe("a text that contains everything twice", () => {
  test("two servers with an ISV server of one name: each counts", () => {
    const idle = (host: string) =>
      `${POOLS}\ta v1\n\t\tcount: 4, inuse: 0\n\t\tobsolete: 0\n`.replace("on h ", `on ${host} `);
    const both = parse(`${idle("lic1")}${idle("lic2")}`);
    expect(both.features).toMatchObject([{ name: "a", total: 8, cut: false }]);
  });
});

describe("unknown lines", () => {
  test("are counted and kept with their number", () => {
    const odd = "\tsomething new";
    const text = fixture("two-isv-servers.txt").replace("\tview.free v1.0, pool: 3", `${odd}\n$&`);
    const reading = parse(text);
    expect(reading).toMatchObject({ unparsedLines: 1, features: { length: 5 } });
    expect(reading.unparsed).toEqual([{ line: text.split("\n").indexOf(odd) + 1, text: odd }]);
  });

  test("unknown words behind known ones are reported, the known ones used", () => {
    const counts = "count: 9, # reservations: 0, inuse: 0, exp: 30-apr-20267, colour: red";
    const reading = parse(isv(["a v1", counts], []));
    const pools = [{ expiry: { expiresOn: "2026-04-30", permanent: false } }];
    expect(reading).toMatchObject({ unparsedLines: 1, features: [{ total: 9, used: 0, pools }] });
  });
});

const FIXTURES = ["two-isv-servers.txt", "isv-only.txt", "old-layout.txt"];

test("a silent server is printed as the tool's error", () => {
  const silent: Reading = {
    ...parse(fixture("unreachable.txt")),
    members: [{ host: "gone", port: 5053, status: "down", master: false, version: null, error: null }],
    errors: [],
  };
  expect(parse(rlm.render(silent, { address: "5053@lic", zone: "UTC" }))).toMatchObject({
    members: [{ host: "gone", status: "down" }],
    errors: [{ kind: "unreachable", major: -17 }],
    unparsed: [],
  });
});

describe("cut at every byte", () => {
  test.each(FIXTURES)("%s lacks pools unnoticed only after pools of an idle ISV server", (name) => {
    const text = fixture(name);
    const whole = parse(text);
    const bytes = new TextEncoder().encode(text);
    for (let length = 0; length < bytes.length; length++) {
      const { features, cut, errors, recognised, daemons } = parse(bytes.subarray(0, length));
      if (features.length === whole.features.length || cut || errors.length > 0) continue;
      const last = daemons.filter(({ status }) => status === "up").at(-1)?.name;
      const isIdle = features.every(({ daemon, used }) => daemon !== last || (used ?? 0) === 0);
      expect([length, recognised && !isIdle]).toEqual([length, false]);
    }
  });
});

describe("cut at the head, before every line", () => {
  test.each(FIXTURES)("%s never gives wrong numbers that look complete", (name) => {
    const lines = fixture(name).split("\n");
    const whole = parse(fixture(name));
    for (let from = 0; from < lines.length; from++) {
      const reading = parse(lines.slice(from).join("\n"));
      // A text that begins with the heading of an ISV server is complete for this ISV server.
      const ofDaemon = (daemon: string) => reading.daemons.some((each) => each.name === daemon);
      for (const truth of whole.features) {
        if (reading.cut || !reading.recognised) continue;
        if (reading.unparsedLines === 0 && !ofDaemon(truth.daemon)) continue;
        const own = reading.features.find((each) => each.daemon === truth.daemon && each.name === truth.name);
        const { name: product, total, used } = truth;
        expect([from, product, own?.total, own?.used]).toEqual([from, product, total, used]);
      }
    }
  });
});
