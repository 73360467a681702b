import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { run } from "../../cli/rig.ts";
import { readAs } from "../read-as.ts";
import { profileOf, summary } from "./read.ts";

const OWN = profileOf('[[managers]]\nname = "own"\nargv = ["own"]\nformat = "licmond"\n');
const NOW = Date.parse("2030-01-01T12:00:00Z");
const answer = (more: object) => JSON.stringify({ asOf: "2030-01-01T12:00:00Z", complete: true, ...more });
const read = (more: object, options = {}) => readAs(OWN, answer(more), { now: NOW, ...options });

test("a minimal answer", () => {
  const reading = read({
    features: [{ name: "solver", total: 5, used: 2, expiresOn: "2031-02-03" }],
    users: [
      { feature: "solver", user: "ada", host: "ws1" },
      { feature: "solver", user: "bob" },
    ],
  });
  expect(reading).toMatchObject({ cut: false, unparsedLines: 0, recognised: true, reportTime: NOW });
  expect(summary(reading)).toEqual(["solver 5/2 2031-02-03 ada@ws1×1 bob@?×1"]);
});

test("an answer with all fields", () => {
  const user = { feature: "solver", daemon: "acme", user: "ada", host: "ws1" };
  const reading = read({
    servers: [
      {
        members: [{ host: "lic", port: 7, status: "up", master: true, version: "v2" }],
        daemons: [{ name: "acme", status: "up", version: null }],
      },
    ],
    features: [
      {
        ...{ daemon: "acme", name: "solver", unit: "tokens", seatGroup: "big", total: 9, used: 4 },
        ...{ reserved: 1, permanent: true },
        pools: [{ version: "2.0", kind: "floating", total: 9, used: 4, permanent: true }],
      },
    ],
    users: [
      {
        ...user,
        count: 3,
        pid: 77,
        handle: "a1",
        startedAt: "2030-01-01T11:00:00Z",
        borrowed: true,
        lingerSeconds: 60,
      },
      { ...user, kind: "queued", count: 2 },
      { ...user, kind: "assigned", user: "eve" },
      { ...user, kind: "reservation", user: null, count: 1, reservedFor: { type: "group", name: "cfd" } },
    ],
  });
  expect(reading).toMatchObject({
    members: [{ host: "lic", port: 7, status: "up", master: true }],
    daemons: [{ name: "acme", status: "up" }],
    features: [
      {
        ...{ unit: "tokens", seatGroup: "big", total: 9, used: 4, reserved: 1, consistency: "ok" },
        pools: [{ version: "2.0", kind: "floating", expiry: { permanent: true } }],
        checkouts: [{ user: "ada", count: 3, pid: 77, handle: "a1", borrowed: true, lingerSeconds: 60 }],
        queue: [{ user: "ada", count: 2 }],
        assigned: [{ user: "eve", host: "ws1" }],
        reservations: [{ type: "group", name: "cfd", count: 1 }],
      },
    ],
  });
});

test("accepts the output of `licmond parse` with asOf and complete", async () => {
  const text = `rlmutil v12.2
rlm status on lic (port 5053), up 3d 02:00:00
rlm software version v12.2 (build:2)

	--------- ISV servers ----------
   Name           Port Running Restarts
	acme           5054   Yes       0

	------------------------

	acme ISV server status on lic (port 5054), up 3d 02:00:00
	acme software version v12.2 (build: 2)

	acme license pool status on lic (port 5054)

	solver v2.0
		count: 5, # reservations: 0, inuse: 1, exp: 31-jan-2031
		obsolete: 0, min_remove: 120, total checkouts: 3

	------------------------

	acme license usage status on lic (port 5054)

	solver v2.0: ada@ws1 1/0 at 01/01 09:30  (handle: 41)
`;
  const printed = await run(["parse", "--manager", "rlm", "--timezone", "UTC"], { stdin: text, now: NOW });
  expect(printed).toMatchObject({ exitCode: 0, err: "" });
  const reading = read(JSON.parse(printed.out));
  const direct = readAs("rlm", text, { now: NOW });
  expect(summary(reading)).toEqual(summary(direct));
  expect(reading.members).toEqual(direct.members);
  expect(reading.features[0]?.checkouts[0]).toMatchObject({
    handle: "41",
    startedAt: Date.parse("2030-01-01T09:30Z"),
  });
});

describe("an answer is refused", () => {
  const refused = (text: string) => readAs(OWN, text, { now: NOW });
  test.each([
    ['{"complete": true, "features": []}', /has no `asOf`/],
    ['{"asOf": "yesterday", "features": []}', /has no `asOf`/],
    ['{"asOf": "2030-01-01T12:00:00", "features": []}', /has no `asOf`/],
    ['{"asOf": "2030-02-30T12:00:00Z", "features": []}', /has no `asOf`/],
    ['{"asOf": "2030-01-01T12:00:00Z"}', /no list `features`/],
    ["[]", /not a JSON object/],
    ["oops", /not valid JSON/],
  ])("%j", (text, problem) => {
    expect(refused(text)).toMatchObject({ recognised: false });
    expect(refused(text).problem).toMatch(problem);
  });

  test("that is older than two polls or as far ahead", () => {
    const maxAgeMs = 2 * 60_000 + 30_000;
    const made = (ms: number) =>
      read({ asOf: new Date(NOW - ms).toISOString(), features: [{ name: "solver" }] }, { maxAgeMs });
    expect(made(150_000).features).toHaveLength(1);
    expect(made(150_001)).toMatchObject({ recognised: true, features: [], errors: [{ kind: "query" }] });
    expect(made(150_001).errors[0]?.message).toContain("old");
    expect(made(-150_001).errors[0]?.message).toContain("ahead of this host's clock");
    expect(readAs(OWN, answer({ features: [] }), { now: NOW + 1e12 }).errors).toEqual([]);
  });
});

test("an answer without `complete` is cut", () => {
  expect(read({ complete: false, features: [] }).cut).toBe(true);
  expect(read({ complete: "true", features: [] }).cut).toBe(true);
});

test("counts that are not integers are unknown", () => {
  for (const count of ["5", 2.5, -1, null, 1e300, true])
    expect(read({ features: [{ name: "solver", total: count, used: count }] }).features[0]).toMatchObject({
      total: null,
      used: null,
    });
});

test("records without a feature are unparsed", () => {
  const reading = read({
    features: [{ total: 1 }, 5],
    users: [{ user: "ada" }, { user: "bob", feature: "x" }],
  });
  expect(reading).toMatchObject({ unparsedLines: 4, stray: true });
});

test("errors of the script and of a server", () => {
  expect(read({ error: "the portal is closed" })).toMatchObject({
    errors: [{ kind: "query", message: "the portal is closed" }],
  });
  const error = { code: "LICENSE_SERVER_UNREACHABLE", message: "No license server answers." };
  expect(read({ servers: [{ error }], features: [] }).errors).toMatchObject([{ kind: "unreachable" }]);
});

test("no answer makes the parser throw", () => {
  const part = fc.array(
    fc.dictionary(fc.constantFrom("name", "feature", "user", "count", "pools", "kind"), fc.jsonValue()),
  );
  fc.assert(
    fc.property(part, part, fc.jsonValue(), (features, users, servers) => {
      expect(read({ features, users, servers }).recognised).toBe(true);
    }),
  );
});
