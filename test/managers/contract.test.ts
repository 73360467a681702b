import { describe, expect, test } from "bun:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import {
  type CheckoutReading,
  type FeatureReading,
  type Reading,
  UNKNOWN_EXPIRY,
} from "../../src/domain/reading.ts";
import { MANAGERS, managerOf } from "../../src/managers/registry.ts";
import { CASES, outputsIn } from "./contract-cases.ts";
import { readAs } from "./read-as.ts";

const ALL_OUTPUTS = MANAGERS.flatMap(outputsIn).map(([, text]) => text);

test("every manager in code has a contract case", () => {
  const inCode = MANAGERS.filter((name) => managerOf(name).profile === undefined);
  expect(Object.keys(CASES).toSorted()).toEqual(inCode.toSorted());
});

describe.each([...MANAGERS])("%s", (manager) => {
  const contract = CASES[manager];
  const outputs = outputsIn(manager);
  const { profile, render, simulatedTool, until } = managerOf(manager);
  const parse = (text: string | Uint8Array) => readAs(manager, text, contract?.context);

  test("accepts any bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => expectSound(parse(bytes))),
      { numRuns: 300 },
    );
  });

  test("accepts outputs that are changed, cut, spliced and shuffled", () => {
    const own = outputs.map(([, text]) => text);
    const text = fc.constantFrom(...(own.length === 0 ? ALL_OUTPUTS : own));
    const place = fc.double({ min: 0, max: 1, noNaN: true });
    const part = fc.tuple(text, place);
    const junk = fc.string({ unit: "binary", maxLength: 12 });
    const spliced = fc
      .tuple(part, junk, part)
      .map(
        ([[head, at], inserted, [tail, from]]) =>
          head.slice(0, at * head.length) + inserted + tail.slice(from * tail.length),
      );
    const shuffled = text
      .chain((one) => fc.shuffledSubarray(one.split("\n")))
      .map((lines) => lines.join("\n"));
    fc.assert(
      fc.property(
        fc.oneof({ weight: 4, arbitrary: spliced }, { weight: 1, arbitrary: shuffled }),
        (damaged) => {
          const reading = parse(damaged);
          expectSound(reading);
          const lines = damaged.split(/\r?\n|\r/).filter((line) => /[^ \t]/.test(line)).length;
          if (managerOf(manager).profile?.format !== "json")
            expect(reading.unparsedLines).toBeLessThanOrEqual(Math.max(1, lines));
        },
      ),
      { numRuns: 500 },
    );
  });

  test.each(["", "\n\n", "hello\nworld\n", "\0\x01\xff\n", "-----------\n", "|-\n"])(
    "does not recognize %j",
    (text) => {
      const { recognised, cut, features, errors } = parse(text);
      // HASP's list has no start mark, so it is recognized in any text, but marked as cut.
      expect([recognised && !(cut && profile?.wrap), features, errors]).toEqual([false, [], []]);
    },
  );

  if (outputs.length === 0) return;

  test.each(outputs)("marks %s as cut if it is cut inside a line", (_, text) => {
    const bytes = new TextEncoder().encode(text.trimEnd());
    for (let length = 1; length < bytes.length; length++)
      if (contract === undefined && !/\s/.test(String.fromCharCode(bytes[length - 1] ?? 0)))
        expect([length, parse(bytes.subarray(0, length)).cut]).toEqual([length, true]);
    expect(readAs(manager, text, { ...contract?.context, truncated: true }).cut).toBe(true);
  });

  const hasEnd = profile === undefined || profile.end !== undefined;
  test.each(outputs.filter(([name]) => hasEnd && !contract?.endless?.includes(name)))(
    "never takes %s for complete if it is cut at any byte",
    (_, text) => {
      const bytes = new TextEncoder().encode(text.trimEnd());
      const whole = parse(text);
      for (let length = 0; length < bytes.length; length++) {
        const reading = parse(bytes.subarray(0, length));
        expectSound(reading);
        expectHonest(reading, whole, length);
        const isEmpty = reading.recognised && reading.features.length + reading.errors.length === 0;
        if (contract?.detectsMissingLines && isEmpty && whole.features.length > 0)
          expect([length, reading.cut]).toEqual([length, true]);
      }
    },
  );

  test.each(contract?.detectsMissingLines ? outputs : [])(
    "never takes %s for complete without one of its lines",
    (_, text) => {
      const lines = text.split("\n");
      const whole = new Map(parse(text).features.map((feature) => [versionOf(feature), feature]));
      for (const [index, missing] of lines.entries()) {
        const reading = parse(lines.toSpliced(index, 1).join("\n"));
        if (reading.cut || reading.stray || reading.unparsedLines > 0) continue;
        for (const feature of reading.features) {
          if (feature.cut || feature.consistency === "short") continue;
          const { total, used, unlimited } = whole.get(versionOf(feature)) ?? {};
          expect([index, missing, feature]).toMatchObject([index, missing, { total, used, unlimited }]);
        }
      }
    },
  );

  test.each(outputs)("reads %s with other line endings, with blank lines and in UTF-16", (_, text) => {
    const plain = parse(text);
    // Blank lines change the numbers of unparsed lines and the text of quoted cells, so skip outputs with either.
    if (plain.unparsedLines === 0 && !text.includes('"'))
      expect(parse(text.replaceAll("\n", "\n\n"))).toEqual(plain);
    expect(parse(text.replaceAll("\n", "\r\n"))).toEqual(plain);
    if (!text.includes('"')) expect(parse(text.replaceAll("\n", "\r"))).toEqual(plain);
    // The rules of profiles, and the quoted cells of DSLS, depend on blanks, so skip both.
    if (manager !== "dsls" && profile === undefined)
      for (const blanks of ["", "\t", "    "])
        for (const place of [/^[ \t]+(?=\S)/gm, /(?<!vendor_string.*)(?=\n)/g])
          expect({ ...parse(text.replaceAll(place, blanks)), unparsed: [] }).toEqual({
            ...plain,
            unparsed: [],
          });
    expect(parse(Buffer.from(`\uFEFF${text}`, "utf16le"))).toEqual(plain);
    expect(parse(Buffer.from(`\uFEFF${text}`, "utf16le").swap16())).toEqual(plain);
  });

  // Users of BETA LM name their feature, so the users of the second copy are added to the feature of the first copy.
  test.each(manager === "beta-lm" ? [] : outputs)("counts %s once if it is contained twice", (_, text) => {
    const once = parse(`${text}\n`);
    const twice = parse(`${text}\n${text}\n`);
    expect(countsOf(twice)).toEqual(countsOf(once));
    if (contract?.marksCopies) expect(twice.features.every(({ cut }) => cut)).toBe(true);
  });

  if (contract === undefined) return;

  test.each(contract.misuse.map((args) => [args]))("its simulated tool rejects %j", (args) => {
    const members = [{ host: "lic", port: 1 }];
    const target = {
      address: contract.address,
      version: "v1",
      zone: "UTC",
      members,
      reading: () => parse(""),
    };
    expect(simulatedTool?.answer(args, "", target)).toMatchObject({
      stdout: "",
      stderr: expect.stringMatching(/./),
      exitCode: 1,
    });
  });

  // Quadratic work would take minutes and time out.
  test("parses large and hostile outputs in linear time", () => {
    const { text, checkouts, hostile } = contract.large;
    expect(parse(text).features.flatMap((feature) => feature.checkouts)).toHaveLength(checkouts);
    for (const lines of hostile) expect(parse(lines).unparsedLines).toBeGreaterThan(0);
  });

  const reread = (reading: Reading, zone: string) => {
    const [{ host, port } = { host: "lic", port: 4084 }] = reading.members;
    const text = render(reading, { address: contract.address, zone });
    const { step: _, ...context } = contract.context;
    return readAs(manager, text, {
      ...context,
      zone,
      // The text does not tell which of several equal members answered; the collector knows it.
      ...(until === "first answer" && { step: `${port}@${host}` }),
    });
  };

  test("prints any reading so that parsing restores it", () => {
    fc.assert(
      fc.property(contract.readings, ({ reading, zone }) => expect(reread(reading, zone)).toEqual(reading)),
      { numRuns: 400 },
    );
  });

  test.each(outputs.filter(([name]) => !contract.unprintable?.includes(name)))(
    "prints the reading of %s so that parsing restores it",
    (_, text) => {
      const reading = parse(text);
      const restored = reread(reading, contract.context.zone);
      expect(restored).toEqual({ ...reading, unparsed: [], unparsedLines: 0 });
    },
  );
});

function expectSound({ features, unparsed, unparsedLines }: Reading): void {
  expect(unparsed).toHaveLength(Math.min(200, unparsedLines));
  for (const { checkouts, reservations, queue, pools, consistency, used, total } of features) {
    for (const { count, pool } of [...checkouts, ...reservations, ...queue])
      expect(count >= 1 && (pool ?? 0) < Math.max(1, pools.length)).toBe(true);
    const held = [...checkouts, ...reservations].reduce((sum, { count }) => sum + count, 0);
    // A copied feature may be "short" even if its used seats are unknown, but never "shared".
    if (used === null) expect(consistency).not.toBe("shared");
    if (consistency === "shared") expect(held).toBeGreaterThanOrEqual(used ?? 0);
    for (const count of [used, total]) expect(count === null || count >= 0).toBe(true);
  }
}

/** Checks a part of an output: a feature that looks complete must have the same numbers as in the whole output. */
function expectHonest(reading: Reading, whole: Reading, length: number): void {
  const left = new Map<string, FeatureReading[]>(
    Map.groupBy(whole.features, idOf)
      .entries()
      .map(([id, list]) => [id, [...list]]),
  );
  for (const feature of reading.features) {
    const truth = left.get(idOf(feature))?.shift();
    // A text that is cut within a name may end with a shorter name, so skip features that are marked as incomplete.
    if (reading.cut || feature.cut || feature.consistency === "short") continue;
    const { total, used, unlimited } = feature;
    expect([length, idOf(feature), total, used, unlimited]).toEqual([
      length,
      idOf(feature),
      truth?.total ?? null,
      truth?.used ?? null,
      truth?.unlimited ?? false,
    ]);
    expect(feature.reservations).toEqual(truth?.reservations.slice(0, feature.reservations.length) as never);
    // lsmon does not mark the end of a queued client, so the last client may be incomplete.
    if (reading.manager !== "rms")
      expect(feature.queue).toEqual(truth?.queue.slice(0, feature.queue.length) as never);
    const holders = feature.checkouts.map(holderOf);
    expect(holders).toEqual(truth?.checkouts.slice(0, holders.length).map(holderOf) ?? []);
    // Missing checkouts cannot be detected if the used seats are unknown, if seats are shared, or if some are reserved.
    if (truth?.consistency === "ok" && used !== null && !unlimited && (feature.reserved ?? 0) === 0)
      expect(holders).toHaveLength(truth.checkouts.length);
    for (const pool of feature.pools) {
      const same = truth?.pools.filter(({ version }) => version === pool.version) ?? [];
      const isKnown = (key: "total" | "used") =>
        pool[key] === null || same.some((each) => each[key] === pool[key]);
      const { expiry } = pool;
      const isExpiryKnown =
        expiry === UNKNOWN_EXPIRY || same.some((each) => isDeepStrictEqual(each.expiry, expiry));
      expect([length, idOf(feature), isKnown("total"), isKnown("used"), isExpiryKnown]).toEqual([
        length,
        idOf(feature),
        true,
        true,
        true,
      ]);
    }
  }
}

function holderOf({ user, host, count }: CheckoutReading): string {
  return `${user}@${host} ${count}`;
}

function idOf({ daemon, name }: FeatureReading): string {
  return `${daemon}/${name}`;
}

function versionOf(feature: FeatureReading): string {
  return `${idOf(feature)} ${feature.pools[0]?.version}`;
}

function countsOf({ features }: Reading): string[] {
  return features
    .map((feature) => `${idOf(feature)} ${feature.used}/${feature.total} ${feature.checkouts.length}`)
    .toSorted();
}
