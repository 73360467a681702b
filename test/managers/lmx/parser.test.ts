import { describe, expect, test } from "bun:test";
import { applyPoll } from "../../../src/domain/polls/apply-poll.ts";
import { PERMANENT } from "../../../src/domain/reading.ts";
import { outcome, server } from "../../domain/make.ts";
import { fixture, parse, summary } from "./read.ts";

const HEAD = `LM-X End-user Utility v5.1

++++++++++++++++++++++++++++++++++++++++
LM-X License Server on 6200@h:

Server version: v5.1 Uptime: 1 day(s) 0 hour(s) 0 min(s) 0 sec(s)
`;
const block = (counts: string, ...lines: string[]) =>
  [
    "----------------------------------------",
    "Feature: a Version: 1.0 Vendor: V",
    "Start date: NONE Expire date: NONE",
    "Key type: EXCLUSIVE License sharing: HOST USER",
    "",
    counts,
    ...lines,
    "",
  ].join("\n");
const holder = (count: number, who = "u@h [192.0.2.1]") => [
  `${count} license(s) used by ${who}`,
  "Login time: 2025-06-04 08:15   Checkout time: 2025-06-04 08:17 ",
];

describe("a server in use", () => {
  const reading = parse(fixture("in-use.txt"));
  const [pro, old, mesh] = reading.features;

  test("server and features", () => {
    expect(reading).toMatchObject({ unparsed: [], cut: false, errors: [], toolVersion: "v4.9.5" });
    expect(reading.members).toMatchObject([{ host: "keys.example.org", status: "up", version: "v4.9.5" }]);
    expect(reading.daemons).toMatchObject([{ name: "WINDLAB", status: "up", totals: null }]);
    expect(summary(reading)).toEqual([
      "WINDLAB/Wind Tunnel: Pro 4/6 seats ann 1, bob.o'neil@mail.example.org 2, eva maria 1 ok",
      "WINDLAB/Wind Tunnel: Pro 0/2 seats - ok",
      "WINDLAB/mesh-core 1/unlimited seats kim 1, kim 1 shared",
      "WINDLAB/solver-pack 0/50 tokens - ok",
    ]);
  });

  test("versions of one feature are pools", () => {
    expect(pro?.pools).toMatchObject([
      { version: "7.2", kind: "floating", expiry: { expiresOn: "2025-12-31" } },
    ]);
    expect(old?.pools).toMatchObject([{ version: "6.0", expiry: PERMANENT }]);
    const picture = applyPoll(null, server({ manager: "lmx" }), outcome({ reading }), null);
    const whole = picture.features.find(({ name }) => name === "Wind Tunnel: Pro");
    expect(whole).toMatchObject({ total: 8, used: 4, state: "ok", pools: { length: 2 } });
  });

  test("holders: user, address and checkout time", () => {
    expect(pro?.checkouts[0]).toMatchObject({ host: "ws-01.example.org_ver2025", display: "192.0.2.11" });
    expect(pro?.checkouts[1]).toMatchObject({ host: "WS-02", display: "2001:db8::7", qualifier: null });
    expect(pro?.checkouts[0]?.startedAt).toBe(Date.UTC(2025, 5, 4, 6, 17));
    expect(pro?.checkouts.map(({ borrowed }) => borrowed)).toEqual([false, false, true]);
    expect(mesh?.checkouts.map(({ qualifier }) => qualifier)).toEqual(Array(2).fill("job 17: kim:node7"));
  });

  test("denials of the last 24 hours are ignored", () => {
    expect(reading.features.map(({ totals }) => totals)).toEqual(Array(4).fill(undefined));
  });
});

test("units of Altair are tokens, products with a limit count seats", () => {
  expect(summary(parse(fixture("units.txt")))).toEqual([
    "ALTAIR/GlobalZoneAM 33000/120000 tokens tom 21000, eve 12000 ok",
    "ALTAIR/HWSolverX 21000/unlimited tokens tom 21000 ok",
    "ALTAIR/HyperWorks 33000/100000 tokens tom 21000, eve 12000 ok",
    "ALTAIR/StepReader 1/4 seats eve 1 ok",
  ]);
});

test("several servers in one output, one of them down", () => {
  const reading = parse(fixture("several-servers.txt"));
  const members = reading.members.map(({ host, port, status }) => `${port}@${host} ${status}`);
  expect(members).toEqual([
    "6200@alpha.example.org up",
    "6201@beta.example.org down",
    "6200@gamma.example.org up",
  ]);
  expect(reading).toMatchObject({ errors: [], cut: false, unparsed: [], features: { length: 2 } });
});

describe("errors", () => {
  test.each([
    ["Unable to connect to license server!", "unreachable"],
    ["Network error (host not found)", "unreachable"],
    ["License server does not support this request.", "query"],
  ] as const)("%s", (words, kind) => {
    const reading = parse(`LM-X License Server on 6200@h:\n\nXF Error: ${words}\n`);
    const error = { message: `XF Error: ${words}`, kind };
    expect(reading.errors).toMatchObject([error]);
    expect(reading.members).toMatchObject([{ host: "h", port: 6200, status: "down", error }]);
    expect(reading).toMatchObject({ cut: false, unparsed: [] });
  });

  test("no server", () => {
    const reading = parse(fixture("none-available.txt"));
    expect(reading).toMatchObject({ members: [], cut: false, errors: [{ kind: "unreachable" }] });
  });

  test("a server that stops in the middle of its answer", () => {
    const text = `${HEAD}${block("1 of 2 license(s) used:", ...holder(1))}XF Error: Connection lost!\n`;
    const reading = parse(text);
    expect(reading).toMatchObject({ cut: true, errors: [{ kind: "unreachable" }], features: { length: 1 } });
  });
});

describe("the check: used = Σ counts of the holders", () => {
  test.each([
    [2, "ok"],
    [3, "short"],
    [1, "shared"],
  ])("%i used, 2 held", (used, consistency) => {
    const text = `${HEAD}${block(`${used} of 9 license(s) used:`, ...holder(1), ...holder(1, "v@i [::1]"))}`;
    expect(parse(text).features[0]).toMatchObject({ consistency, cut: false });
  });
});

describe("unknown lines", () => {
  test("cut their feature, or are stray outside of features", () => {
    const inside = parse(`${HEAD}${block("0 of 1 license(s) used", "Mood: fine")}`);
    expect(inside).toMatchObject({ unparsedLines: 1, cut: false, features: [{ cut: true }] });
    const outside = parse(`${HEAD}Mood: fine\n${block("0 of 1 license(s) used")}`);
    expect(outside).toMatchObject({ unparsedLines: 1, stray: true, features: [{ cut: false }] });
  });

  test.each([
    ["a total in other words", "3 von 5 Lizenzen"],
    ["a second line of counts", "0 of 7 license(s) used"],
    ["a holder of nothing", "0 license(s) used by u@h [192.0.2.1] last 24 hours"],
    ["sharing without a holder", "Shared on custom string: x"],
    ["times without a holder", "Login time: 2025-06-04 08:15   Checkout time: 2025-06-04 08:17"],
  ])("%s", (_, line) => {
    const reading = parse(`${HEAD}${block("0 of 1 license(s) used", line)}`);
    expect(reading).toMatchObject({ unparsedLines: 1, features: [{ used: 0, total: 1, cut: true }] });
  });

  test("a holder without times cuts the feature", () => {
    const lines = ["1 license(s) used by u@h [192.0.2.1]", ...holder(1)];
    const reading = parse(`${HEAD}${block("2 of 2 license(s) used:", ...lines)}`);
    expect(reading).toMatchObject({ cut: false, features: [{ cut: true, checkouts: { length: 2 } }] });
  });

  test("a holder with an impossible time is kept", () => {
    const lines = holder(1).map((line) => line.replaceAll("2025-06-04", "2025-02-30"));
    const reading = parse(`${HEAD}${block("1 of 1 license(s) used:", ...lines)}`);
    expect(reading).toMatchObject({ unparsedLines: 1, features: [{ cut: false, consistency: "ok" }] });
    expect(reading.features[0]?.checkouts[0]?.startedAt).toBeNull();
  });
});

test.each([
  ["only the banner", "LM-X End-user Utility v5.1\n", true],
  ["a heading alone", "LM-X License Server on 6200@h:\n", true],
  ["a server that names nothing", HEAD, true],
  ["a feature without counts", HEAD + block("").trimEnd(), true],
  ["a feature without its server", block("0 of 1 license(s) used"), true],
  ["a holder without times", HEAD + block("1 of 1 license(s) used:", "1 license(s) used by u@h [::1]"), true],
  ["counts without a line end", `${HEAD}${block("0 of 1 license(s) used").trimEnd()}`, false],
  [
    "a holder cut in his address",
    `${HEAD}${block("1 of 1 license(s) used:", "1 license(s) us")}`.trimEnd(),
    true,
  ],
  ["a list without its sentence", "LM-X license server(s):\n", true],
])("cut or not: %s", (_, text, cut) => {
  expect(parse(text).cut).toBe(cut);
});

test("lines in the wrong order are read but not complete", () => {
  const reading = parse(`Feature: Reader Version: 12.0 Vendor: ALTAIR
Start date: 2014-02-03 Expire date: 2014-09-30
Key type: EXCLUSIVE License sharing: CUSTOM VIRTUAL
25000 license(s) used by ada@ws1 [192.0.2.1]
0 of 1 license(s) used
Server version: v4.4.4 Uptime: 10 day(s) 1 hour(s) 10 min(s) 0 sec(s)
LM-X License Server on 6200@lic1:
`);
  expect(reading).toMatchObject({ unparsed: [], unparsedLines: 0, recognised: true });
  expect(summary(reading)).toEqual(["ALTAIR/Reader 0/1 seats ada 25000 shared"]);
  expect(reading).toMatchObject({ cut: true, features: [{ cut: true, pools: [{ version: "12.0" }] }] });
});
