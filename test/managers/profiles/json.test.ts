import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readAs } from "../read-as.ts";
import { profileOf, summary } from "./read.ts";

const jsonProfile = (body: string) =>
  profileOf(`[[managers]]\nname = "own"\nargv = ["own"]\nformat = "json"\n${body}`);

const SEATS = jsonProfile(`features = "data.pools[].features"
users = "sessions"
error = "error.message"
[managers.fields]
name = ["title", "id"]
total = "seats.total"
used = "seats.used"
expires = "until"
[managers.user_fields]
"user@host" = "who"
count = "n"
start = "at"
`);
const answer = (features: unknown, more = {}) => JSON.stringify({ data: { pools: [{ features }] }, ...more });

describe("paths", () => {
  test("lead to lists, features and users", () => {
    const sessions = [{ who: "mia@home@ws1", n: 2, at: "2026-01-02T03:04:05+01:00" }, { who: "tom" }];
    const reading = readAs(
      SEATS,
      answer([
        { title: "solver", seats: { total: "5", used: 3 }, until: "2030-05-01", sessions },
        { title: "", id: 7, seats: { total: 2.5, used: null } },
      ]),
    );
    expect(reading).toMatchObject({ unparsedLines: 0, cut: false, recognised: true });
    expect(summary(reading)).toEqual(["solver 5/3 2030-05-01 mia@home@ws1×2 tom@?×1", "7 ?/? ?"]);
    expect(reading.features[0]?.checkouts[0]).toMatchObject({
      user: "mia@home",
      host: "ws1",
      startedAt: Date.parse("2026-01-02T02:04:05Z"),
    });
  });

  test("without a value make the answer unreadable", () => {
    expect(readAs(SEATS, '{"data": {}}')).toMatchObject({
      recognised: false,
      problem: 'The answer contains no list at "data.pools[].features".',
    });
  });

  test("ignore inherited keys", () => {
    const profile = jsonProfile('features = "constructor"\nfields = { name = "toString" }');
    expect(readAs(profile, "{}").recognised).toBe(false);
  });
});

test("an empty list means that the server is up", () => {
  const reading = readAs(SEATS, answer([]), { step: "8080@fls" });
  expect(reading).toMatchObject({ features: [], members: [{ host: "fls", port: 8080, status: "up" }] });
});

test("an answer may be an error", () => {
  expect(readAs(SEATS, '{"error": {"message": "no token"}}')).toMatchObject({
    recognised: true,
    errors: [{ kind: "query", message: "no token" }],
  });
});

test("features without a name are unparsed", () => {
  const reading = readAs(SEATS, answer([{ title: "solver" }, { seats: { total: 1 } }, "odd"]));
  expect(reading.unparsed).toEqual([
    { line: 2, text: '{"seats":{"total":1}}' },
    { line: 3, text: '"odd"' },
  ]);
});

test("users may have their own list", () => {
  const profile = jsonProfile(`features = "features"
users = "/sessions"
fields = { name = "n", total = "t", used = "u" }
user_fields = { name = "feature", user = "login" }`);
  const text = JSON.stringify({
    sessions: [{ feature: "solver", login: "ada" }],
    features: [{ n: "solver", t: 2, u: 1 }],
  });
  expect(summary(readAs(profile, text))).toEqual(["solver 2/1 ? ada@?×1"]);
});

test("`where` filters features", () => {
  const profile = jsonProfile(`features = ""
where = { type = ["float", "token"], id = "*" }
fields = { name = "id" }`);
  const text = JSON.stringify([{ id: "a", type: "float" }, { id: "b", type: "node" }, { type: "float" }]);
  expect(summary(readAs(profile, text))).toEqual(["a ?/? ?"]);
});

describe("an answer that is not JSON", () => {
  test.each(["", "<html>login</html>", '{"data": ', "[1, 2", "nul"])("%j is an error", (text) => {
    expect(readAs(SEATS, text)).toMatchObject({
      recognised: false,
      problem: "The answer is not valid JSON.",
    });
  });

  test("deep nesting is a problem", () => {
    const deep = "[".repeat(1_000_000);
    expect(readAs(SEATS, deep).problem).toBe("The answer is nested more than 64 deep.");
    expect(readAs(SEATS, answer([{ title: deep }])).features).toHaveLength(1);
  });
});

test("an answer that is cut at any byte is not recognized", () => {
  const text = answer([{ title: "sølver", seats: { total: 5, used: 1 } }]);
  const bytes = new TextEncoder().encode(text);
  for (let end = 0; end < bytes.length; end++)
    expect(readAs(SEATS, bytes.subarray(0, end)).recognised).toBe(false);
  expect(readAs(SEATS, bytes, { truncated: true }).cut).toBe(true);
});

test("no answer makes the parser throw", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.array(fc.jsonValue()), (text, features) => {
      expect(readAs(SEATS, text).manager).toBe("own");
      expect(readAs(SEATS, answer(features)).recognised).toBe(true);
    }),
  );
});

describe("shipped profiles", () => {
  test("JetBrains FLS: the total is the sum of used and free seats", () => {
    const text = JSON.stringify({
      licenses: [{ name: "IDE", available: 3, allocated: 2, type: "COMMERCIAL" }],
    });
    expect(summary(readAs("jetbrains-fls", text))).toEqual(["IDE 5/2 ?"]);
  });

  test("HASP: objects between comments, with an end mark", () => {
    const text = `/*JSON:features*/
{"index":"1","fid":"10","fn":"Mesher","prname":"Mill","logc":"2","logl":"5","lic":"Expires on<br>Fri Dec 31, 2027 23:59"},
{"index":"2","fid":"11","fn":"","logc":"0","logl":"-1","lic":"Perpetual"},
{"cnt":"2"}
/*admin_status:ok*/
`;
    const reading = readAs("hasp", text);
    expect(reading).toMatchObject({ unparsedLines: 0, cut: false });
    expect(summary(reading)).toEqual(["Mesher 5/2 2027-12-31", "11 ∞/0 permanent"]);
    for (let end = 0; end < text.indexOf('"cnt"'); end++) {
      const part = readAs("hasp", text.slice(0, end));
      expect(part.cut || !part.recognised).toBe(true);
    }
    expect(readAs("hasp", "<html><form>login</form></html>").recognised).toBe(false);
  });

  test("FlexNet Embedded: counts as numbers and texts, uncounted ones", () => {
    const feature = { featureVersion: "2.0", used: 4, reserved: 0, vendor: "acme" };
    const text = JSON.stringify([
      { ...feature, featureName: "agent", featureCount: "10", expiry: "2029-02-28" },
      { ...feature, featureName: "core", featureCount: 0, uncounted: true, expiry: "permanent" },
      { ...feature, featureName: "late", featureCount: 7, expiry: "2029-02-28 23:59:59 UTC" },
    ]);
    const reading = readAs("flexnet-embedded", text);
    expect(summary(reading)).toEqual(["agent 10/4 2029-02-28", "core ∞/4 permanent", "late 7/4 2029-02-28"]);
    expect(reading.features[0]).toMatchObject({ daemon: "acme", reserved: 0 });
  });

  test("SideFX: a list under no key or another, people as objects and texts", () => {
    const licenses = [
      { product: "FX", total: 4, available: 1, users: [{ user: "ada@ws1" }, { host: "bob@ws2" }, "cid@ws3"] },
      { product: "Engine", total: 2, users: [] },
      { product: "Core", total: 2, users: [{ user: "dan", host: "ws4" }] },
    ];
    const wanted = ["FX 4/3 ? ada@ws1×1 bob@ws2×1 cid@ws3×1", "Engine 2/0 ?", "Core 2/1 ? dan@ws4×1"];
    expect(summary(readAs("sidefx", JSON.stringify({ licenses })))).toEqual(wanted);
    expect(summary(readAs("sidefx", JSON.stringify(licenses)))).toEqual(wanted);
  });

  test("MathLM: classes as pools, people by name", () => {
    const text = `Online help is available at
http://help.example/network

MathLM Version 11.2
MathLM Server calc.example
Date : Thursday, August 29 2030 14:11:59

License Usage Summary:
                            License    Total    Total
Program                        Class    in Use    Authorized

Mathematica                    A        2        20
Mathematica                    B        0        5
Sub MathKernel                 A        1        80

Licenses in Use:
Program            Version        Class    Username    Hostname            Duration
Mathematica        11.1           A        ada         ws1.example         08:49
Mathematica        11.2           A        bob b       ws2.example         106:33
Sub MathKernel     11.2           A        ada         ws1.example         06:52
`;
    const reading = readAs("mathlm", text);
    expect(reading).toMatchObject({ unparsed: [], members: [{ host: "calc.example" }], toolVersion: "11.2" });
    expect(summary(reading)).toEqual([
      "Mathematica 20/2 ? ada@ws1.example×1 bob b@ws2.example×1",
      "Mathematica 5/0 ?",
      "Sub MathKernel 80/1 ? ada@ws1.example×1",
    ]);
  });
});
