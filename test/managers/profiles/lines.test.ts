import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readAs } from "../read-as.ts";
import { linesProfile, profileOf, summary } from "./read.ts";

const FEATURE = String.raw`feature = '^(?<name>.+?): (?<used>\S+) of (?<total>\S+)$'`;
const USER = String.raw`checkout = '^\t(?<user>.+) on (?<host>\S+)(?: ×(?<count>\S+))?$'`;
const SEATS = linesProfile(`${FEATURE}\n${USER}`);

const read = (text: string, profile = SEATS) => readAs(profile, text);

describe("a line", () => {
  test("matches the first expression that fits", () => {
    const profile = linesProfile(`ignore = "^total"\n${FEATURE}`);
    expect(summary(read("total: 1 of 2\nsolver: 1 of 2\n", profile))).toEqual(["solver 2/1 ?"]);
    const reversed = linesProfile(`${FEATURE}\nignore = "^total"`);
    expect(summary(read("total: 1 of 2\n", reversed))).toEqual(["total 2/1 ?"]);
  });

  test("that matches no rule is unparsed and cuts its feature", () => {
    const reading = read("?\nsolver: 1 of 2\n\tada on ws1\n\tada at ws2\n");
    expect(reading.unparsed).toEqual([
      { line: 1, text: "?" },
      { line: 4, text: "\tada at ws2" },
    ]);
    expect(reading).toMatchObject({ stray: true, features: [{ cut: true }], cut: false });
  });

  test("of more than 64 kB is unparsed", () => {
    const reading = read(`solver: 1 of 2\n\tada on ws1\n${"a".repeat(70_000)}: 1 of 2\n`);
    expect(reading).toMatchObject({ unparsedLines: 1, features: [{ name: "solver", cut: true }] });
  });

  test("without a line end is ignored", () => {
    expect(read("solver: 1 of 2\n\tada on ws1 ×8")).toMatchObject({
      cut: true,
      features: [{ checkouts: [] }],
    });
  });
});

describe("counts", () => {
  test("that are not numbers are unknown", () => {
    for (const text of ["-", "n/a", "1.5", "1,000", "-1", "0x10", "1e3", "9".repeat(17)])
      expect(read(`solver: ${text} of ${text}\n`).features[0]).toMatchObject({ used: null, total: null });
  });

  test("are unlimited by words of the profile", () => {
    const profile = linesProfile(FEATURE, "unlimited = [99999, 'no limit', 'oo']");
    for (const text of ["99999", "OO"])
      expect(read(`solver: 3 of ${text}\n`, profile).features[0]).toMatchObject({
        total: null,
        used: 3,
        unlimited: true,
      });
  });

  test("follow from free seats", () => {
    const profile = linesProfile(
      String.raw`feature = '^(?<name>\w+)(?: used (?<used>\S+))?(?: free (?<free>\S+))?(?: total (?<total>\S+))?$'`,
    );
    const counts = (line: string) => {
      const [{ total, used } = { total: 0, used: 0 }] = read(`${line}\n`, profile).features;
      return { total, used };
    };
    expect(counts("solver free 3 total 5")).toEqual({ total: 5, used: 2 });
    expect(counts("solver used 2 free 3")).toEqual({ total: 5, used: 2 });
    expect(counts("solver free 6 total 5")).toEqual({ total: 5, used: null });
    expect(counts("solver total 5")).toEqual({ total: 5, used: null });
  });

  test("are compared with the users", () => {
    const state = (lines: string) => read(`${lines}\n`).features[0]?.consistency;
    expect(state("solver: 2 of 4\n\tada on ws1\n\tbob on ws2")).toBe("ok");
    expect(state("solver: 2 of 4\n\tada on ws1")).toBe("short");
    expect(state("solver: 1 of 4\n\tada on ws1\n\tada on ws1")).toBe("shared");
    expect(state("solver: 3 of 4\n\tada on ws1 ×3")).toBe("ok");
  });

  test("of users that are not numbers are unparsed", () => {
    expect(read("solver: 3 of 4\n\tada on ws1 ×many\n")).toMatchObject({
      unparsedLines: 1,
      features: [{ checkouts: [], cut: true }],
    });
    expect(read("solver: 0 of 4\n\tada on ws1 ×0\n").features[0]).toMatchObject({
      checkouts: [],
      consistency: "ok",
    });
  });

  test("are the sums of users with `sum_users`", () => {
    const profile = linesProfile(`feature = '^(?<name>\\w+) (?<total>\\d+)$'\n${USER}`, "sum_users = true");
    const text = "idle 3\nbusy 3\n\tada on ws1 ×2\n";
    expect(summary(read(text, profile))).toEqual(["idle 3/0 ?", "busy 3/2 ? ada@ws1×2"]);
    expect(summary(read(text, linesProfile(`feature = '^(?<name>\\w+) (?<total>\\d+)$'\n${USER}`)))).toEqual([
      "idle 3/? ?",
      "busy 3/2 ? ada@ws1×2",
    ]);
  });

  test("of tokens are not compared with users without counts", () => {
    const profile = linesProfile(`${FEATURE}\n${USER}`, 'unit = "tokens"');
    const [feature] = read("solver: 40 of 100\n\tada on ws1\n", profile).features;
    expect(feature).toMatchObject({ unit: "tokens", consistency: "ok" });
    expect(read("solver: 40 of 100\n\tada on ws1 ×3\n", profile).features[0]?.consistency).toBe("short");
  });
});

describe("a group", () => {
  const DYNA = (used: string, sum: string) => `Using user specified server 31010@lic7

PROGRAM          EXPIRATION CPUS  USED   FREE    MAX | QUEUE
---------------- ----------      ----- ------ ------ | -----
IMPLICIT         01/31/2030   4      ${used}     20     50 |     1
 mia  s         7@node-1  20
EXPLICIT         01/31/2030          0     20     50 |     0
                   LICENSE GROUP  ${sum}     20     50 |     1
`;

  test("has a name and the use of each feature", () => {
    const reading = readAs("lsdyna", DYNA("-", "20"));
    expect(summary(reading)).toEqual([
      "IMPLICIT 50/20 (lsdyna) 2030-01-31 mia  s@node-1×20",
      "EXPLICIT 50/0 (lsdyna) 2030-01-31",
    ]);
    expect(reading.features[0]?.queue).toMatchObject([{ user: null, count: 1 }]);
    expect(reading).toMatchObject({ unparsedLines: 0, cut: false });
  });

  test("with another sum than its features is short", () => {
    const [first, second] = readAs("lsdyna", DYNA("-", "30")).features;
    expect([first?.consistency, second?.consistency]).toEqual(["short", "short"]);
  });

  test("counts once if the text contains it twice", () => {
    const once = readAs("lsdyna", DYNA("-", "20"));
    const twice = readAs("lsdyna", DYNA("-", "20").repeat(2));
    expect(summary(twice)).toEqual(summary(once).map((line) => `${line} cut`));
    const other = DYNA("-", "20").replace("lic7", "lic8");
    expect(readAs("lsdyna", DYNA("-", "20") + other).features).toHaveLength(4);
  });

  test("separates the features of two groups", () => {
    const text = DYNA("-", "20").replace(/(EXPLICIT[^\n]*\n)/, "          LICENSE GROUP 20 20 50 | 1\n$1");
    const groups = readAs("lsdyna", text).features.map(({ seatGroup }) => seatGroup);
    expect(groups).toEqual(["lsdyna", "lsdyna 2"]);
  });

  test("has its own line", () => {
    const profile = linesProfile(
      String.raw`group = '^package (?<name>\w+) until (?<expires>\S+)$'
feature = '^(?<group>\w+):(?<name>\w+) (?<used>\d+)/(?<total>\d+)$'`,
    );
    const text = "package big until 2030-05-01\nbig:solver 3/9\nbig:mesher 4/9\nodd:viewer 0/1\n";
    expect(summary(read(text, profile))).toEqual([
      "solver 9/3 (big) 2030-05-01",
      "mesher 9/4 (big) 2030-05-01",
      "viewer 1/0 (odd) ?",
    ]);
  });
});

describe("people", () => {
  test("may name their feature", () => {
    const profile = linesProfile(
      String.raw`checkout = '^(?<user>\w+) has (?<name>\w+)$'
feature = '^(?<name>\w+) (?<used>\d+)/(?<total>\d+)$'`,
    );
    const text = "ada has solver\nsolver 1/1\nsolver 1/4\nbob has solver\ncid has lost\n";
    expect(summary(read(text, profile))).toEqual([
      "solver 1/1 ? ada@?×1",
      "solver 4/1 ? bob@?×1",
      "lost ?/1 ? cid@?×1 cut",
    ]);
  });

  test("may be queued or assigned", () => {
    const profile = linesProfile(
      String.raw`${FEATURE}
queued = '^  waits: (?<user>\w+) (?<count>\d+)$'
assigned = '^  may: (?<user>\w+) since (?<start>\S+)$'`,
    );
    const [feature] = read("solver: 0 of 2\n  waits: ada 2\n  may: bob since 2026-01-02\n", profile).features;
    expect(feature).toMatchObject({
      queue: [{ user: "ada", count: 2 }],
      assigned: [{ user: "bob", since: Date.UTC(2026, 0, 2) }],
      checkouts: [],
    });
  });

  test("may have any name", () => {
    const name = fc.string({ unit: "binary", minLength: 1, maxLength: 30 });
    const fits = name.filter(
      (text) => /^[^\n\r\t@]+$/u.test(text) && text.isWellFormed() && text === text.trim(),
    );
    const profile = linesProfile(String.raw`${FEATURE}
checkout = '^\t(?<user>[^@]*)@(?<host>[^@]*)$'`);
    fc.assert(
      fc.property(fits, fits, (user, host) => {
        const reading = read(`solver: 1 of 1\n\t${user}@${host}\n`, profile);
        expect(reading).toMatchObject({ unparsedLines: 0, features: [{ checkouts: [{ user, host }] }] });
      }),
    );
    expect(read("solver: 1 of 1\n\t@\n", profile).features[0]?.checkouts).toMatchObject([
      { user: null, host: null },
    ]);
  });
});

describe("a server", () => {
  const profile = linesProfile(
    String.raw`tool = '^stat (?<version>\S+)$'
member = '^server (?<port>\d+)@(?<host>\S+)$'
daemon = '^vendor (?<name>\w+) (?<version>\S+)$'
down = '^no answer'
error = '^failed: (?<error>.+)$'
${FEATURE}`,
    "end = '^bye$'",
  );

  test("has members, daemons and versions", () => {
    const reading = read("stat 1.2\nserver 7@lic\nvendor acme v3\nsolver: 1 of 2\nbye\n", profile);
    expect(reading).toMatchObject({
      toolVersion: "1.2",
      members: [{ host: "lic", port: 7, status: "up" }],
      daemons: [{ name: "acme", version: "v3", status: "up" }],
      features: [{ daemon: "acme", name: "solver" }],
      cut: false,
    });
  });

  test("with an error needs no end mark", () => {
    expect(read("server 7@lic\nno answer: 3\n", profile)).toMatchObject({
      members: [{ status: "down", error: { message: "no answer: 3" } }],
      errors: [{ kind: "unreachable" }],
      cut: false,
    });
    const failed = { errors: [{ kind: "query", message: "no such key" }], cut: false };
    expect(read("server 7@lic\nfailed: no such key\n", profile)).toMatchObject(failed);
  });

  test("has the step's name if the answer has none", () => {
    const at = (step: string) => readAs(SEATS, "solver: 1 of 2\n", { step }).members;
    expect(at("7@lic")).toMatchObject([{ host: "lic", port: 7, status: "up" }]);
    expect(at("lic")).toMatchObject([{ host: "lic", port: null }]);
    expect(readAs(SEATS, "what?\n", { step: "7@lic" }).members).toEqual([]);
  });

  test("without an end mark is cut", () => {
    expect(read("solver: 1 of 2\n", profile)).toMatchObject({ cut: true, features: [{ cut: true }] });
    expect(read("solver: 1 of 2\nbye", profile)).toMatchObject({ cut: true });
  });
});

test("dates follow patterns in the server's zone; others are unparsed", () => {
  const profile = profileOf(String.raw`[[managers]]
name = "own"
argv = ["own"]
format = "lines"
permanent = ["never"]
[managers.match]
feature = '^(?<name>\w+) until (?<expires>.+)$'
checkout = '^  (?<user>\w+) since (?<start>.+)$'
[managers.dates]
expires = "MM/dd/yyyy"
start = "EEE MMM d HH:mm:ss yyyy"
`);
  const text =
    "a until 12/30/2030\n  ada since Mon Feb 22 16:51:43 2021\nb until Never\nc until 13/30/2030\nd until -\n";
  const reading = readAs(profile, text, { zone: "Europe/Berlin" });
  expect(reading.features.map(({ pools }) => pools[0]?.expiry)).toEqual([
    { expiresOn: "2030-12-30", expiresAt: Date.parse("2030-12-30T22:59:59.999Z"), permanent: false },
    { expiresOn: null, expiresAt: null, permanent: true },
    { expiresOn: null, expiresAt: null, permanent: false },
    { expiresOn: null, expiresAt: null, permanent: false },
  ]);
  expect(reading.features[0]?.checkouts[0]?.startedAt).toBe(Date.parse("2021-02-22T15:51:43Z"));
  expect(reading.unparsed).toEqual([{ line: 4, text: "c until 13/30/2030" }]);
});

test("OLicense: unknown clients have their own heading", () => {
  const text = `Server: <lic1:31212:0> (Proxy: <>)
  tire;\tFreeFloating;\t4;\t2030-01-01 00:00:00;
    1 FloatsLockedBy:
      ada@ws1 #1
    2 FloatsLockedBy 'unknown clients'
      ida@pc-2.example.org #2
`;
  const [feature] = readAs("olicense", text).features;
  expect(feature).toMatchObject({ total: 4, used: 3, consistency: "ok" });
  expect(feature?.checkouts.map(({ user, host, count }) => [user, host, count])).toEqual([
    ["ada", "ws1", 1],
    ["ida", "pc-2.example.org", 2],
  ]);
});
