import { describe, expect, test } from "bun:test";
import type { RequestStep } from "../../../src/managers/manager.ts";
import { compile, expressionsOf } from "../../../src/managers/profile.ts";
import { dateReader } from "../../../src/managers/profiles/dates.ts";
import { profileManager } from "../../../src/managers/profiles/profile-manager.ts";
import { SHIPPED, shippedProfile, shippedText } from "../../../src/managers/profiles/shipped.ts";
import { MANAGERS, managerNames, managerOf } from "../../../src/managers/registry.ts";
import { profileOf } from "./read.ts";

const own = (keys: string) =>
  profileManager(profileOf(`[[managers]]\nname = "own"\nformat = "licmond"\n${keys}`));

describe("steps", () => {
  test("are one for each member, until one answers", () => {
    const lsdyna = managerOf("lsdyna");
    expect(lsdyna.until).toBe("first answer");
    expect(lsdyna.steps(["/opt/lstc_qrun"], "31010@lic7,lic8:7,[::1]")).toEqual([
      { name: "31010@lic7", argv: ["/opt/lstc_qrun", "-s", "31010@lic7", "-R"], env: {} },
      { name: "7@lic8", argv: ["/opt/lstc_qrun", "-s", "7@lic8", "-R"], env: {} },
      { name: "31010@[::1]", argv: ["/opt/lstc_qrun", "-s", "31010@[::1]", "-R"], env: {} },
    ]);
  });

  test("are a single step if the address is used unchanged", () => {
    const manager = own(
      `argv = ["x", "--at={address}"]\nenv = { LM = "{address}" }\nstdin = "{secret}\\n"\nstream = "stderr"`,
    );
    expect(manager.tools).toEqual(["x"]);
    expect(manager.steps(["nice", "x"], "a,b")).toEqual([
      {
        name: "a,b",
        argv: ["nice", "x", "--at=a,b"],
        env: { LM: "a,b" },
        stdin: "{secret}\n",
        stream: "stderr",
      },
    ]);
    expect(manager.steps(["x"], "/srv/usage.json")).toMatchObject([{ argv: ["x", "--at=/srv/usage.json"] }]);
  });

  test("are a request, which leaves the secret open", () => {
    expect(managerOf("jetbrains-fls").steps([], "fls")).toEqual([
      {
        name: "8080@fls",
        request: {
          method: "GET",
          url: "http://fls:8080/licenses-report.json",
          query: { token: "{secret}" },
        },
      },
    ]);
  });

  test("are a login and a request", () => {
    const [step] = managerOf("flexnet-embedded").steps([], "lls") as readonly RequestStep[];
    expect(step).toMatchObject({
      request: {
        method: "GET",
        url: "http://lls:7070/api/1.0/instances/~/features",
        headers: { Authorization: "Bearer {token}" },
      },
      login: { method: "POST", body: '{"user": "admin", "password": "{secret}"}' },
    });
    expect(step?.login?.token('{"token": "t0k"}')).toBe("t0k");
    expect(step?.login?.token('{"tokens": 1}')).toBeNull();
    expect(step?.login?.token("<html>")).toBeNull();
  });
});

test.each([
  ["", /is empty/],
  [" lic", /blank/],
  ["-x", /looks like an option/],
  ["li\tc", /control character/],
  ["7@lic:8", /invalid server "7@lic:8"/],
  ["lic;rm", /invalid server "lic;rm"/],
  ["70000@lic", /invalid port "70000" in "70000@lic"/],
  ["lic,LIC", /duplicate server "LIC"/],
  ["/etc/x", /invalid server/],
])("the address %j is refused", (address, words) => {
  expect(managerOf("lsdyna").parseAddress(address)).toMatchObject({ problem: expect.stringMatching(words) });
});

test("an address needs a port where the profile has none", () => {
  expect(managerOf("olicense").parseAddress("lic")).toMatchObject({
    problem: expect.stringContaining("has no port"),
  });
  expect(managerOf("olicense").parseAddress("lic:7")).toEqual({ members: [{ host: "lic", port: 7 }] });
  expect(own('argv = ["x"]').parseAddress("lic")).toEqual({ members: [{ host: "lic", port: null }] });
  expect(own('argv = ["x"]').parseAddress("/srv/a")).toEqual({ members: [] });
});

describe("shipped profiles", () => {
  test.each([...SHIPPED])("%s is a valid config table", (name) => {
    const text = shippedText(name) ?? "";
    // The name is taken, so rename it, as an administrator who copies it must do.
    const copied = profileOf(text.replace(/^name = ".*"$/m, 'name = "copied"'));
    expect({ ...copied, name }).toEqual(shippedProfile(name) as typeof copied);
    expect(text).toMatch(/^# /);
    expect(text.split("\n").filter((line) => line.length > 240)).toEqual([]);
  });

  test("are loaded on demand", () => {
    expect(managerOf("lsdyna")).toBe(managerOf("lsdyna"));
    expect(managerOf("beta-lm")).toMatchObject({
      title: "BETA LM",
      experimental: true,
      commands: {},
      simulatedTool: null,
    });
    expect(managerOf("lsdyna").experimental).toBeUndefined();
    expect(() => managerOf("nosuch")).toThrow('unknown manager "nosuch"');
  });

  test("do not take the names of the config's profiles", () => {
    const profile = profileOf('[[managers]]\nname = "own"\nargv = ["x"]\nformat = "licmond"\n');
    expect(managerNames([profile])).toEqual([...MANAGERS, "own"]);
    expect(managerOf("own", [profile]).title).toBe("own");
    expect(managerOf("own", [profile])).toBe(managerOf("own", [profile]));
    expect(() => managerOf("own")).toThrow();
  });
});

test("expressions are named by their places, in the order in which they are tried", () => {
  const profile = profileOf(`[[managers]]
name = "own"
argv = ["x"]
format = "lines"
end = "z"
[managers.match]
ignore = ["b", "c"]
feature = '(?<name>a)'
`);
  expect(expressionsOf(profile).map(({ path }) => path.join("."))).toEqual([
    "end",
    "match.ignore.0",
    "match.ignore.1",
    "match.feature",
  ]);
});

test("an escape of another language is refused", () => {
  expect(() => compile("\\h+")).toThrow(SyntaxError);
});

test.each([
  [[], "2026-01-02", "2026-01-02T00:00:00.000Z"],
  [[], "2026-01-02 03:04", "2026-01-02T03:04:00.000Z"],
  [[], "2026-01-02T03:04:05.678+02:00", "2026-01-02T01:04:05.678Z"],
  [[], "2026-02-30", null],
  [[], "02.01.2026", null],
  [["dd.MM.yyyy HH:mm"], "02.01.2026   03:04", "2026-01-02T03:04:00.000Z"],
  [["M/d/yy h:mm a"], "1/2/26 12:04 AM", "2026-01-02T00:04:00.000Z"],
  [["M/d/yy h:mm a"], "1/2/26 1:04 p.m.", "2026-01-02T13:04:00.000Z"],
  [["d-MMM-yyyy"], "2-jan-2026", "2026-01-02T00:00:00.000Z"],
  [["d-MMM-yyyy"], "2-jän-2026", null],
  [["d-MMM-yyyy", "yyyy/MM/dd"], "2026/01/02", "2026-01-02T00:00:00.000Z"],
  [["*EEE MMM d, yyyy HH:mm*"], "until <b>Fri Jan 2, 2026 03:04</b>", "2026-01-02T03:04:00.000Z"],
  [["'day' d (M) yyyy"], "day 2 (1) 2026", "2026-01-02T00:00:00.000Z"],
  [["unix"], "1767323045", "2026-01-02T03:04:05.000Z"],
  [["unix_ms"], " 1767323045678 ", "2026-01-02T03:04:05.678Z"],
  [["unix"], "9999999999999999", null],
  [["HH:mm dd.MM.yyyy"], "25:00 01.01.2026", null],
])("%j reads %j", (patterns, text, instant) => {
  const found = dateReader(patterns)(text, "UTC");
  expect(found === null ? null : new Date(found.at).toISOString()).toBe(instant);
});

test.each([
  ["yyyy-MM", "has no day"],
  ["yyyy-MM-dd MM", "contains MM twice"],
  ["yyyy-MM-dd KK", 'contains unknown letters "KK"; known are'],
])("%s is no pattern", (pattern, why) => expect(() => dateReader([pattern])).toThrow(why));
