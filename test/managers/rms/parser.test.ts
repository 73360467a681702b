import { describe, expect, test } from "bun:test";
import { applyPoll } from "../../../src/domain/polls/apply-poll.ts";
import { PERMANENT } from "../../../src/domain/reading.ts";
import { rms } from "../../../src/managers/rms/index.ts";
import type { ToolTarget } from "../../../src/managers/simulated-tool.ts";
import { outcome, server } from "../../domain/make.ts";
import { fixture, parse, summary, ZONE } from "./read.ts";

const CONTACT = ' [Contacting Sentinel RMS Development Kit server on host "h"]\n\n';
const END = " Press Enter to continue . . .\n";

/** Returns a complete feature with these counts, then other lines. */
function feature(counts: Record<string, string>, ...lines: string[]): string {
  const all = {
    "Feature name": '"a"  \t',
    "Feature version": '"1.0"',
    "Maximum concurrent user(s)": "9",
    "Unreserved tokens in use": "0",
    "Reserved tokens in use": "0",
    "Expiration date": "Sat Nov 19 23:59:59 2022",
    ...counts,
  };
  const own = Object.entries(all).map(([key, value]) => `   |- ${key.padEnd(31)}: ${value}`);
  return [" |- Feature Information", ...own, ...lines, ""].join("\n");
}
const client = (...more: string[]) => [
  "   |- Client Information",
  "     |- User name                      : u",
  "     |- Host name                      : ws1",
  "     |- Status                         : Running since Tue Nov 03 11:34:40 2020",
  ...more,
  "     |- Is commuter token              : NO",
];

describe("a server in use, as lsmon prints it on Windows", () => {
  const reading = parse(fixture("windows.txt"));
  const [plant, old] = reading.features;

  test("server, features and their own counts", () => {
    expect(reading).toMatchObject({ unparsed: [], cut: false, errors: [], daemons: [] });
    expect(reading).toMatchObject({
      toolVersion: "9.3.0.0105",
      members: [{ host: "keys.example.org", status: "up" }],
    });
    expect(summary(reading)).toEqual([
      "PLANT_3D 2.0 5/40 ann lee 1, O'Neil, Bob 3, eva 1 ok",
      "PLANT_3D 1.5 1/unlimited tom 1, tom 1 shared",
      'say "hi": A null 0/unlimited - ok',
    ]);
    expect(reading.features.map(({ reserved }) => reserved)).toEqual([6, 0, 0]);
  });

  test("versions of one feature are pools", () => {
    expect(plant?.pools).toMatchObject([{ kind: "floating", expiry: { expiresOn: "2025-12-31" } }]);
    expect(old?.pools).toMatchObject([{ kind: "uncounted", unlimited: true, expiry: PERMANENT }]);
    const picture = applyPoll(null, server({ manager: "rms" }), outcome({ reading }), null);
    const whole = picture.features.find(({ name }) => name === "PLANT_3D");
    expect(whole).toMatchObject({ used: 6, unlimited: true, state: "ok", pools: { length: 2 } });
  });

  test("clients: start, sharing and commuter tokens", () => {
    expect(plant?.checkouts[0]).toMatchObject({ host: "PC-0101", display: "local", qualifier: null });
    expect(plant?.checkouts[0]?.startedAt).toBe(Date.UTC(2025, 5, 4, 6, 15, 9));
    expect(plant?.checkouts.map(({ borrowed }) => borrowed)).toEqual([false, false, true]);
    expect(old?.checkouts.map(({ qualifier }) => qualifier)).toEqual(["tom: job 7", "tom: job 7"]);
    // A token that is held for a disconnected client has no start.
    expect(old?.checkouts[1]?.startedAt).toBeNull();
  });

  test("queued clients", () => {
    expect(plant?.queue).toMatchObject([{ user: "kim", host: "pc-0110", count: 2 }]);
  });
});

test("the Unix output without an end mark", () => {
  const reading = parse(fixture("unix.txt"));
  expect(reading).toMatchObject({ unparsed: [], cut: false });
  expect(summary(reading)).toEqual(["STATS 270 2/25 ida 1, jan 1 ok", "STATS-ADV 270 0/unlimited - ok"]);
  expect(reading.features[0]?.checkouts[1]).toMatchObject({
    display: null,
    startedAt: Date.UTC(2026, 1, 2, 9, 6, 30),
  });
});

describe("numbers", () => {
  test.each([
    ["Unlimited", true],
    ["2097150", true],
    ["4294967294", true],
    ["4294967293", false],
    ["99999", false],
  ])("a maximum of %s", (maximum, unlimited) => {
    const [found] = parse(CONTACT + feature({ "Maximum concurrent user(s)": maximum }) + END).features;
    expect(found).toMatchObject({ unlimited, total: unlimited ? null : Number(maximum), cut: false });
  });

  test("an invalid count is unknown", () => {
    const reading = parse(CONTACT + feature({ "Unreserved tokens in use": "drei" }) + END);
    expect(reading).toMatchObject({ unparsedLines: 1, features: [{ used: null, cut: true }] });
  });

  test("used = unreserved + reserved tokens in use", () => {
    const text = feature({ "Unreserved tokens in use": "3", "Reserved tokens in use": "2" }, ...client());
    expect(parse(CONTACT + text + END).features[0]).toMatchObject({ used: 5, consistency: "short" });
  });
});

describe("dates", () => {
  test.each([
    ["Sat Nov 19 23:59:59 2022", { expiresOn: "2022-11-19", permanent: false }],
    ["License has no expiration.", { expiresOn: null, permanent: true }],
    ["License has no expiration", { expiresOn: null, permanent: true }],
  ])("%s", (date, expiry) => {
    const reading = parse(CONTACT + feature({ "Expiration date": date }) + END);
    expect(reading).toMatchObject({ unparsedLines: 0, features: [{ cut: false, pools: [{ expiry }] }] });
  });

  test.each(["Sun Nov 19 23:59:59 2022", "Tue Feb 30 00:00:00 2022", "19.11.2022", "sam. 19 nov. 2022"])(
    "%s is told, and never taken for permanent",
    (date) => {
      const reading = parse(CONTACT + feature({ "Expiration date": date }) + END);
      const expiry = { expiresOn: null, expiresAt: null, permanent: false };
      expect(reading).toMatchObject({ unparsedLines: 1, features: [{ cut: true, pools: [{ expiry }] }] });
    },
  );
});

describe("errors", () => {
  test.each([
    ["Server name not set, or monitor cannot talk to the server.", "unreachable"],
    ["Unable to contact any servers. Probably no servers running on this subnet.", "unreachable"],
    ['Error[5]: Cannot talk to the license server on host "h". Server not running??', "unreachable"],
    ['Failed to resolve the server host "h".', "unreachable"],
    ["You are not authorized to perform the requested operation.", "query"],
    ["Error[75]: something new", "query"],
  ] as const)("%s", (message, kind) => {
    const reading = parse(`${CONTACT} ${message}\n${END}`);
    expect(reading).toMatchObject({ errors: [{ message, kind }], cut: false, unparsed: [], features: [] });
    expect(reading.members).toMatchObject([{ host: "h", status: "down", error: { message } }]);
    expect(parse(`${message}\n`)).toMatchObject({ members: [], errors: [{ message, kind }] });
  });

  test("a server that stops in the middle of its answer", () => {
    const reading = parse(
      `${CONTACT + feature({})}Error[5]: Cannot talk to the license server on host "h".\n`,
    );
    expect(reading).toMatchObject({ cut: true, errors: [{ kind: "unreachable" }], features: { length: 1 } });
  });

  test("a server without licenses is up", () => {
    const reading = parse(fixture("no-license.txt"));
    expect(reading).toMatchObject({ features: [], errors: [], cut: false, members: [{ status: "up" }] });
    expect(parse(`${CONTACT}There is no license in the server h\n`)).toMatchObject({
      cut: false,
      unparsed: [],
    });
  });
});

describe("the check: tokens in use = Σ tokens of the clients", () => {
  const two = [...client(), ...client("     |- Number of tokens used          : 2")];
  test.each([
    ["3", "ok"],
    ["4", "short"],
    ["2", "shared"],
  ])("%s in use, 3 held", (used, consistency) => {
    const [found] = parse(CONTACT + feature({ "Unreserved tokens in use": used }, ...two) + END).features;
    expect(found).toMatchObject({ consistency, cut: false });
  });
});

describe("unknown text", () => {
  test("a key of a newer version is unparsed", () => {
    const reading = parse(CONTACT + feature({ "Tokens on the moon": "1" }) + END);
    expect(reading).toMatchObject({ unparsedLines: 1, features: [{ cut: false, used: 0 }] });
  });

  test("the keys of an unknown section are not the feature's", () => {
    const keys = ["Maximum concurrent user(s)     : 1", "Sharing limit                  : 3"];
    const other = ["   |- Team Information", ...keys.map((key) => `     |- ${key}`)];
    const reading = parse(CONTACT + feature({}, ...other) + END);
    expect(reading).toMatchObject({ unparsedLines: 3, features: [{ cut: true, total: 9 }] });
  });

  test("entries without their heading cut the feature above", () => {
    const below = feature({ "Feature name": '"b"', "Maximum concurrent user(s)": "1" }).split("\n").slice(1);
    const reading = parse(CONTACT + feature({}, ...client(), ...below) + END);
    expect(reading).toMatchObject({ unparsedLines: 6, features: [{ name: "a", cut: true, total: 9 }] });
  });

  test("another language is never complete", () => {
    const german = fixture("windows.txt").replaceAll("tokens in use", "Token in Benutzung");
    expect(parse(german).features.map(({ cut, used }) => `${used} ${cut}`)).toEqual(
      Array(3).fill("null true"),
    );
    const headings = fixture("windows.txt").replaceAll(" Information", " informations");
    expect(parse(headings)).toMatchObject({ cut: true, stray: true, features: [] });
  });

  test.each([
    ["a client that holds nothing", "     |- Number of tokens used          : 0"],
    ["a state in other words", "     |- Status                         : En cours depuis hier"],
    [
      "a start on a wrong weekday",
      "     |- Status                         : Running since Mon Nov 03 11:34:40 2020",
    ],
    ["a token that may be a commuter's", "     |- Is commuter token              : OUI"],
  ])("%s is told, the feature is cut", (_, line) => {
    const reading = parse(CONTACT + feature({ "Unreserved tokens in use": "1" }, ...client(line)) + END);
    expect(reading).toMatchObject({
      unparsedLines: 1,
      features: [{ cut: true, checkouts: [{ user: "u" }] }],
    });
  });
});

test("several clients below one heading", () => {
  const more = client().slice(1, -2).concat("     |- Is commuter token              : YES");
  more[0] = "     |- User name                      : v";
  const text = feature({ "Unreserved tokens in use": "2" }, ...client(), ...more);
  const [found] = parse(CONTACT + text + END).features;
  expect(found).toMatchObject({
    consistency: "ok",
    checkouts: [{ user: "u" }, { user: "v", borrowed: true }],
  });
});

test.each([
  ["only the banner", "  Sentinel RMS Development Kit 9.1.0.0104 Application Monitor\n", true],
  ["nothing behind the host", CONTACT, true],
  ["a feature without its expiry", CONTACT + feature({}).replace(/.*Expiration.*\n/, ""), true],
  ["… which the end mark makes whole", CONTACT + feature({}).replace(/.*Expiration.*\n/, "") + END, false],
  ["a client without its last line", CONTACT + feature({}, ...client().slice(0, -1)), true],
  ["a line without its end", `${CONTACT + feature({})}   |- Allowed on`, true],
  ["a feature without a name", `${CONTACT} |- Feature Information\n${END}`, true],
  ["a feature without its heading", CONTACT + client().join("\n") + END, true],
  ["whole, without the end mark", CONTACT + feature({}), false],
])("cut or not: %s", (_, text, cut) => {
  expect(parse(text).cut).toBe(cut);
});

test.each(["windows.txt", "unix.txt"])("%s has the same reading with tabs around colons", (name) => {
  const text = fixture(name);
  expect(parse(text.replaceAll(/ +: /g, "\t:\t"))).toEqual(parse(text));
});

describe("simulated lsmon", () => {
  const whole = parse(fixture("windows.txt"));
  const site: ToolTarget = {
    address: "keys.example.org",
    version: "9.3.0.0105",
    zone: ZONE,
    members: [{ host: "keys.example.org", port: 0 }],
    reading: ([asked]) => ({
      ...whole,
      members: whole.members.map((one) => ({ ...one, host: asked?.host ?? "" })),
    }),
  };
  const answer = (...args: string[]) => rms.simulatedTool?.answer(args, "", site);

  test("answers under the name that it is called by", () => {
    const { stdout = "", ...rest } = answer("lsmon", "other") ?? {};
    expect(rest).toEqual({ stderr: "", exitCode: 0 });
    expect(parse(stdout)).toMatchObject({ members: [{ host: "other" }], features: whole.features });
  });
});

describe("a block that is cut in its middle", () => {
  const two = feature({ "Unreserved tokens in use": "2" }, ...client(), ...client()).replace(
    /: u\n(?=.*\n.*\n.*$)/,
    ": v\n",
  );
  const rest = feature({ "Feature name": '"b"' });
  const whole = CONTACT + two + rest + END;
  const isCut = (text: string) =>
    parse(text).features.map(({ name, cut, consistency }) => `${name} ${cut || consistency === "short"}`);

  test("is whole with all its lines", () => {
    expect(isCut(whole)).toEqual(["a false", "b false"]);
  });

  test.each([
    [
      "a feature's maximum to the next feature",
      "   |- Maximum",
      ' |- Feature Information\n   |- Feature name                   : "b"',
    ],
    ["a feature's expiry alone", "   |- Expiration", "   |- Client Information"],
    ["a client's host", "     |- Host name", "     |- Status"],
    ["a client's start", "     |- Status", "     |- Is commuter"],
    ["a client's last line", "     |- Is commuter", "   |- Client Information"],
    ["the heading of the clients", "   |- Client Information", "     |- Host name"],
  ])("from %s", (_, from, to) => {
    const begin = whole.indexOf(from);
    const text = whole.slice(0, begin) + whole.slice(whole.indexOf(to, begin));
    expect(isCut(text)).toEqual(["a true", "b false"]);
  });

  test("within a license of the last feature, without the end mark", () => {
    const license = (...keys: string[]) =>
      ["   |- License Information", ...keys.map((key) => `     |- ${key} : x`)].join("\n");
    const text = (...keys: string[]) =>
      `${CONTACT}${feature({ "Public vendor information": "x" }).trimEnd()}\n${license(...keys)}\n`;
    expect(isCut(text("License Hash", "Expiration date"))).toEqual(["a false"]);
    expect(isCut(text("License Hash", "License status"))).toEqual(["a true"]);
  });
});
