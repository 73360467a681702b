import { describe, expect, test } from "bun:test";
import { changed, fixture, parse, summary } from "./read.ts";

const K = "Kernwerk Systemes";
const TRUTH = [
  `${K}/SHD 3 of 8 seats pools 2 held 3 queued 1 ok`,
  `${K}/PLN 2 of 10 seats pools 1 held 2 assigned 4 ok`,
  `${K}/VWR 1 of unlimited seats pools 1 held 1 ok`,
  `${K} V5/FEX 610 of 1200 tokens pools 1 held 610 ok`,
  `${K} V5/FEY 0 of 800 tokens pools 1 held 0 ok`,
  `${K} V5/OPT 120 of 5000 credits pools 1 held 120 ok`,
];
const named = (text: string, name: string) => parse(text).features.find((one) => one.name === name);

describe("one table", () => {
  test.each(["run.txt", "stdin.txt"])("%s", (name) => {
    const reading = parse(fixture(name));
    expect(reading).toMatchObject({ unparsed: [], cut: false, recognised: true, toolVersion: "6.426.1" });
    expect(reading.members).toMatchObject([{ host: "lic-shape", status: "up", version: "6.426.1" }]);
    expect(summary(reading)).toEqual(TRUTH);
  });

  test("prompts before the header and before each other, without a last line end", () => {
    const reading = parse(fixture("glued.txt"));
    expect(reading).toMatchObject({ unparsed: [], cut: false });
    expect(summary(reading)).toEqual(TRUTH.slice(0, 1));
    // Only the query shows which server of the cluster answered.
    expect(reading.members.map(({ host, status }) => `${host} ${status}`)).toEqual([
      "lic-a unknown",
      "lic-b unknown",
      "lic-c unknown",
    ]);
    expect(parse(fixture("glued.txt"), { step: "4085@lic-b" }).members).toMatchObject([
      { host: "lic-b", port: 4085, status: "up" },
    ]);
  });

  test.each([
    [
      "Java's words on the same stream",
      (text: string) => `Picked up JAVA_TOOL_OPTIONS: -Duser.language=en\n${text}`,
    ],
  ])("%s", (_, turn) => {
    const reading = parse(turn(fixture("run.txt")));
    expect(reading).toMatchObject({ unparsed: [], cut: false, errors: [] });
    expect(summary(reading)).toEqual(TRUTH);
  });

  test("columns are found by their names, in any order and with others between", () => {
    const lines = fixture("idle.txt").split("\n");
    const at = lines.findIndex((line) => line.startsWith("Editor,"));
    const turned = lines.map((line, index) => {
      const cells = line.split(",");
      if (index === at)
        return [...cells.slice(0, 2), "Site", ...cells.slice(2, 13).reverse(), ...cells.slice(13)].join(",");
      return index === at + 1
        ? [...cells.slice(0, 2), "", ...cells.slice(2, 13).reverse(), ""].join(",")
        : line;
    });
    expect(summary(parse(turned.join("\n")))).toEqual([`${K}/SHD 0 of 6 seats pools 1 held 0 ok`]);
  });
});

describe("holders", () => {
  test("a set of licenses is a pool", () => {
    expect(named(fixture("run.txt"), "SHD")?.pools).toMatchObject([
      {
        version: "29",
        vendorString: "ConcurrentUser,STD,YLC,40011",
        total: 6,
        used: 3,
        expiry: { expiresOn: "2027-03-31" },
      },
      { version: "30", total: 2, used: 0, expiry: { expiresOn: "2028-01-01" } },
    ]);
    expect(named(fixture("run.txt"), "VWR")?.pools).toMatchObject([
      { kind: "uncounted", unlimited: true, total: null, expiry: { expiresOn: null, permanent: false } },
    ]);
  });

  test("programs of one user share a license", () => {
    const held = named(fixture("run.txt"), "SHD")?.checkouts ?? [];
    expect(held.map(({ user, host, pid, handle, count }) => [user, host, pid, handle, count])).toEqual([
      ["mreuter", "ws-041", 4711, "02F1A01", 1],
      ["okafor", "ws-007", 88, "02F1A02", 1],
      ["vogel", "ws-009", 4715, "02F1A03", 1],
    ]);
    expect(held[1]?.qualifier).toBe("C:\\Program Files\\Kernwerk, Inc\\SHAPE.exe");
    expect(new Date(held[0]?.startedAt ?? 0).toISOString()).toBe("2026-05-04T08:12:40.000Z");
  });

  test.each(["FEX", "OPT"])("tokens and credits are held since they were granted: %s", (name) => {
    // `Granted At` is later, because the program took the tokens again.
    const text = fixture("run.txt").replaceAll(
      /,(2026-05-0\d \d\d:\d\d:\d\d),\n/g,
      ",2026-05-04 10:00:30,\n",
    );
    const starts = (from: string) => named(from, name)?.checkouts.map(({ startedAt }) => startedAt);
    expect(starts(text)).toEqual(starts(fixture("run.txt")));
    expect(starts(text)?.at(-1)).toBe(Date.UTC(2026, 4, 4, 1, 12));
  });

  test("queued clients hold nothing", () => {
    expect(named(fixture("run.txt"), "SHD")?.queue).toMatchObject([
      { user: "quinn", host: "ws-011", count: 1, pool: 0 },
    ]);
  });

  test("a named license is used only while a program of its owner runs", () => {
    const feature = named(fixture("run.txt"), "PLN");
    expect(feature).toMatchObject({ total: 10, used: 2, pools: [{ used: 2 }] });
    expect(feature?.assigned?.map(({ user, host }) => `${user} on ${host}`)).toEqual([
      "mreuter on ws-041",
      "okafor on ws-007",
      "vogel on ws-009",
      'Jürgen "Jay" O\'Neill, Jr. on ws-011',
    ]);
    expect(new Date(feature?.assigned?.[1]?.since ?? 0).toISOString()).toBe("2026-02-02T10:30:00.000Z");
    const started = feature?.checkouts.map(({ user, startedAt }) => [
      user,
      new Date(startedAt ?? 0).toISOString(),
    ]);
    expect(started).toEqual([
      ["mreuter", "2026-05-04T08:20:00.000Z"],
      ["vogel", "2026-05-04T07:55:10.000Z"],
    ]);
  });

  test("times are in the server's zone", () => {
    const [first] = parse(fixture("run.txt"), { zone: "Europe/Berlin" }).features;
    expect(new Date(first?.checkouts[0]?.startedAt ?? 0).toISOString()).toBe("2026-05-04T06:12:40.000Z");
    expect(new Date(first?.pools[0]?.expiry.expiresAt ?? 0).toISOString()).toBe("2027-03-31T21:59:59.999Z");
  });

  test("one name with two units makes two features", () => {
    const text = changed("run.txt", ",FEY,Token,", ",FEX,ConcurrentUser,");
    expect(summary(parse(text)).slice(3, 5)).toEqual([
      `${K} V5/FEX [tokens] 610 of 1200 tokens pools 1 held 610 ok`,
      `${K} V5/FEX 0 of 800 seats pools 1 held 0 ok`,
    ]);
  });

  test("a line end and quotes within a cell", () => {
    const text = changed("run.txt", ",batch,FEX,", ',"bat\nch, ""2""",FEX,');
    expect(parse(text)).toMatchObject({ unparsed: [], cut: false });
    expect(named(text, "FEX")?.checkouts[0]?.user).toBe('bat\nch, "2"');
  });
});

describe("inconsistent rows", () => {
  test.each<[string, string | RegExp, string, string]>([
    ["rows of tokens below Inuse", ",1200,610,360,", ",1200,610,300,", "FEX"],
    ["a person is missing of those that have one", /.*,okafor,okafor,.*\n/, "", "PLN"],
    ["a seat is missing", /.*,vogel,vogel@DESIGN.*\n/, "", "SHD"],
  ])("%s: partial", (_, from, to, name) => {
    const text = changed("run.txt", from, to);
    expect(named(text, name)?.consistency).toBe("short");
    expect(parse(text).unparsedLines).toBe(0);
  });

  test("more checkouts than Inuse are shared", () => {
    const text = changed("run.txt", /,1200,610,/g, ",1200,600,");
    expect(named(text, "FEX")?.consistency).toBe("shared");
  });

  test.each<[string, string | RegExp, string, string]>([
    ["a count that is none", ",1200,610,360,", ",1.200,610,360,", "FEX"],
    ["rows of one set that differ in their counts", ",1200,610,360,", ",1300,610,360,", "FEX"],
    [
      "a day that the calendar lacks",
      "2026-05-03 22:00:10,2026-05-04 10:00:59,2026-05-03",
      "2026-02-30 22:00:10,2026-05-04 10:00:59,2026-05-03",
      "FEX",
    ],
    ["a user with a comma", ",batch,FEX,", ",batch,2,FEX,", "FEX"],
    ["a named user with a comma", ",okafor,okafor,,", ",okafor, B.,okafor,,", "PLN"],
    ["tokens that are no number", ",1200,610,360,", ",1200,610,many,", "FEX"],
    ["a model that nobody knows", ",FEY,Token,", ",FEY,Pooled,", "FEY"],
    ["a set printed twice without a user", /(.*,FEY,Token,.*\n)/, "$1$1", "FEY"],
  ])("%s: its line, and its feature is partial", (_, from, to, name) => {
    const reading = parse(changed("run.txt", from, to));
    expect(reading).toMatchObject({ unparsedLines: 1, cut: true });
    const partial = reading.features.filter(({ cut }) => cut).map((one) => one.name);
    expect(partial).toEqual([name]);
  });

  test.each<[string, string | RegExp, string]>([
    ["a row of too many cells", ",batch,FEX,", ",batch,1,2,FEX,"],
    ["a row of too few", /Kernwerk Systemes V5,.*,FEY,.*\n/, "Kernwerk Systemes V5,7C01\n"],
    ["words behind a quote", ",batch,FEX,", ',"bat"ch,FEX,'],
  ])("%s: its line, and the server is partial", (_, from, to) => {
    expect(parse(changed("run.txt", from, to))).toMatchObject({ unparsedLines: 1, cut: true, stray: true });
  });

  test.each<[string, string | RegExp, string]>([
    ["an editor with a comma", /Kernwerk Systemes V5(?=.*,FEY,)/, "Kernwerk Systemes, V5"],
    ["a feature with a comma", ",FEY,Token,STD,", ",FEY,2,Token,STD,"],
    ["an end that is no date", "2027-03-31 01:59:00,40012,800,0", "31.03.2027 01:59,40012,800,0"],
    ["no end, and an editor with a comma", /Kernwerk Systemes(?=.*,VWR,)/, "Kernwerk, Systemes"],
  ])("%s: its line, and no feature of another name", (_, from, to) => {
    const reading = parse(changed("run.txt", from, to));
    expect(reading).toMatchObject({ unparsedLines: 1, cut: true });
    const kept = summary(reading);
    expect(kept).toHaveLength(TRUTH.length - 1);
    expect(TRUTH).toEqual(expect.arrayContaining(kept));
  });

  test("an unclosed quote loses only its own line", () => {
    const reading = parse(changed("run.txt", ",batch,FEX,", ',"batch,FEX,'));
    expect(reading).toMatchObject({ unparsedLines: 1, cut: true });
    expect(reading.unparsed[0]?.text).toContain('"batch');
    expect(summary(reading).filter((line) => !line.includes("/FEX"))).toEqual(
      TRUTH.filter((line) => !line.includes("/FEX")),
    );
    expect(reading.features.find(({ name }) => name === "FEX")?.consistency).toBe("short");
  });

  test("a second table", () => {
    const reading = parse(fixture("run.txt") + fixture("run.txt"));
    expect(summary(reading)).toEqual(TRUTH);
    expect(reading.stray).toBe(true);
  });
});

describe("no table", () => {
  test("an unreachable server", () => {
    const message = "Cannot connect to server lic-shape on port 4084";
    const error = { message, kind: "unreachable" };
    const down = { members: [{ host: "lic-shape", port: 4084, status: "down", error }], errors: [error] };
    expect(parse(fixture("unreachable.txt"))).toMatchObject({ ...down, unparsedLines: 0, recognised: true });
  });

  test("one text with an unreachable server of a cluster and the answer of the next", () => {
    const both = `==> 4084@lic-a: DSLicSrv (1)\n${fixture("unreachable.txt").replace("lic-shape", "lic-a")}\n==> 4084@lic-b: DSLicSrv (0)\n`;
    const reading = parse(both + fixture("glued.txt"));
    expect(reading).toMatchObject({ unparsed: [], cut: false });
    expect(summary(reading)).toEqual(TRUTH.slice(0, 1));
    expect(reading.members.map(({ host, status }) => `${host} ${status}`)).toEqual([
      "lic-a down",
      "lic-b unknown",
      "lic-c unknown",
    ]);
  });

  test("a server that is not ready", () => {
    const reading = parse(fixture("not-ready.txt"), { step: "4084@lic-b" });
    expect(reading).toMatchObject({
      features: [],
      unparsedLines: 0,
      errors: [{ message: "Ready: no", kind: "query" }],
    });
    expect(reading.members).toMatchObject([{ host: "lic-b", port: 4084, status: "down" }]);
  });

  test("the text form is an error", () => {
    const reading = parse(fixture("text.txt"));
    expect(reading).toMatchObject({ features: [], errors: [{ kind: "query" }], recognised: true });
    expect(reading.members).toMatchObject([{ status: "unknown" }]);
  });

  test.each([
    ["translated", (text: string) => text.replace("Editor,EditorId,Feature,", "Editor,EditorId,Lizenz,")],
    ["separated by tabs", (text: string) => text.replaceAll(",", "\t")],
    ["separated by semicolons", (text: string) => text.replaceAll(",", ";")],
    ["UTF-16 without its mark", (text: string) => Buffer.from(text, "utf16le")],
    ["not there", () => "ls: command not found\n"],
    ["empty", () => ""],
  ])("a table that is %s is not read", (_, turn) => {
    const reading = parse(turn(fixture("run.txt")));
    expect(reading).toMatchObject({ features: [], recognised: false, cut: true });
  });

  test.each(["Error: wrong password", "Invalid command: getLicenseUsage", "Access denied"])("%s", (words) => {
    const text = `License Administration Tool Version 6.426.1 Built on Nov 20, 2024.\n${words}\n`;
    expect(parse(text)).toMatchObject({ errors: [{ message: words, kind: "query" }], recognised: true });
  });
});

test("names in EUC-KR do not change a count", () => {
  // 김 in EUC-KR.
  const [head = "", tail = ""] = fixture("run.txt").replace("Jürgen", "J").split(",batch,");
  const bytes = Buffer.concat([Buffer.from(`${head},`), Buffer.from([0xb1, 0xe8]), Buffer.from(`,${tail}`)]);
  const reading = parse(bytes);
  expect(reading.unparsedLines).toBe(0);
  expect(summary(reading)).toEqual(TRUTH);
});

test("without a final prompt, a feature may lack whole sets of licenses", () => {
  const bytes = new TextEncoder().encode(fixture("stdin.txt"));
  const truth = new Map(parse(bytes).features.map((one) => [`${one.daemon}/${one.name}`, one]));
  for (let length = 0; length < bytes.length; length++) {
    const { features, cut, recognised } = parse(bytes.subarray(0, length));
    if (cut || !recognised) continue;
    expect(bytes[length - 1]).toBe(0x0a);
    for (const { daemon, name, pools, consistency, checkouts } of features) {
      const own = truth.get(`${daemon}/${name}`);
      if (consistency === "short") continue;
      expect(pools).toEqual(own?.pools.slice(0, pools.length) ?? []);
      expect(checkouts).toEqual(own?.checkouts ?? []);
    }
  }
});

// Quadratic work would take minutes and time out.
test("50,000 unclosed quotes are parsed in linear time", () => {
  const [head = ""] = fixture("run.txt").split("Kernwerk");
  const reading = parse(`${head}${'"a,b\n'.repeat(50_000)}admin >quit\n`);
  expect(reading.unparsedLines).toBeGreaterThan(20_000);
  expect(reading.features).toEqual([]);
});
