import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reading } from "../../../src/domain/reading.ts";
import { parse, summary } from "./read.ts";

const FOLDER = join(import.meta.dir, "../../fixtures/published/dsls");

const idle = (used: Readonly<Record<string, string>> = {}) =>
  [
    ["PAC", 1],
    ["PAJ", 6],
    ["PCA", 4],
    ["PCO", 2],
    ["PD5", 1],
    ["PV6", 7],
    ["PVG", 2],
    ["PW7", 2000],
    ["PW8", 2000],
    ["SRU", 2374],
  ].map(
    ([name, total]) =>
      `Dassault Systemes/${name} ${used[`${name}`] ?? 0} of ${total} tokens pools 1 held ${used[`${name}`] ?? 0} ok`,
  );

const truth: Record<string, (reading: Reading) => void> = {
  "omni-dsls-csv-idle.txt": (reading) => {
    expect(reading.toolVersion).toBe("6.425.4");
    expect(reading.members).toMatchObject([{ host: "localhost", status: "up", version: "6.425.4" }]);
    expect(summary(reading)).toEqual(idle());
  },
  "omni-dsls-csv-inuse.txt": (reading) => {
    expect(reading.members).toMatchObject([{ host: "localhost", status: "up" }]);
    expect(summary(reading)).toEqual(idle({ PW7: "2", SRU: "1559" }));
    const busy = reading.features.find(({ name }) => name === "SRU");
    const held = busy?.checkouts.map(({ user, host, count, handle, pid }) => [
      user,
      host,
      count,
      handle,
      pid,
    ]);
    expect(held).toEqual([
      ["user_2", "nid001626", 493, "02DBE16", 3148728],
      ["user_3", "nid001601", 533, "02DBE17", 2885345],
      ["user_4", "nid001671", 533, "02DBE18", 3206577],
    ]);
    for (const { pools } of reading.features) expect(pools[0]?.expiry.expiresOn).toBe("2025-01-01");
    expect(new Date(busy?.checkouts[0]?.startedAt ?? 0).toISOString()).toBe("2024-09-17T17:59:34.000Z");
  },
  "omni-dsls-cannot-connect.txt": (reading) => {
    const message = "Cannot connect to server localhost on port 1234";
    expect(reading.members).toMatchObject([
      { host: "localhost", port: 1234, status: "down", error: { message } },
    ]);
    expect(reading).toMatchObject({ features: [], errors: [{ message, kind: "unreachable" }] });
  },
};

describe("published samples", () => {
  const files = readdirSync(FOLDER);

  test.each(files)("%s is read to the last line", (name) => {
    const reading = parse(readFileSync(join(FOLDER, name)));
    expect(reading).toMatchObject({ unparsed: [], unparsedLines: 0, cut: false, recognised: true });
    truth[name]?.(reading);
  });

  test("every sample has an expectation", () => {
    expect(files.toSorted()).toEqual(Object.keys(truth).toSorted());
  });
});
