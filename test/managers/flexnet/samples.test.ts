import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { readLog } from "../read-log.ts";
import { featureOf, readText } from "./read.ts";

const ROOT = new URL("../../fixtures/published/", import.meta.url);
const FOLDERS = ["flexlm-lmstat", "flexlm-lmstat-i"];

/**
 * Expected counts of each sample; "-" is not checked. `named` lists features as `name total/used`. Among the 54 blocks of
 * exporter-app1, feature42 has two, with 13 lines of reservations.
 */
const TRUTH = new Map(
  readFileSync(new URL("../../fixtures/flexnet/samples.tsv", import.meta.url), "utf8")
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((row) => {
      const [name = "", features, checkouts, reservations, queue, unparsed, cut, ...texts] = row.split("\t");
      const [members, daemons, named, expiries] = texts.map((text) => (text === "-" ? undefined : text));
      const numbers = [features, checkouts, reservations, queue, unparsed].map(Number);
      return [name, { numbers, cut: cut === "true", members, daemons, named, expiries }];
    }),
);

describe("every lmstat sample", () => {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(new URL(`${folder}/`, ROOT)).map((name) => ({
      name: name.replace(/\.txt$/, ""),
      url: new URL(`${folder}/${name}`, ROOT),
    })),
  );

  test("is in the table", () => {
    expect(files.map(({ name }) => name).sort()).toEqual([...TRUTH.keys()].sort());
  });

  test.each(files)("$name", ({ name, url }) => {
    const truth = TRUTH.get(name);
    if (truth === undefined) throw new Error(`no truth for ${name}`);
    const reading = readText(new Uint8Array(readFileSync(url)));
    const { features, members, daemons } = reading;
    const count = (of: "checkouts" | "reservations" | "queue") =>
      features.reduce((sum, feature) => sum + feature[of].length, 0);
    const held = [count("checkouts"), count("reservations"), count("queue")];
    expect([features.length, ...held, reading.unparsedLines]).toEqual(truth.numbers);
    expect(reading).toMatchObject({ recognised: true, cut: truth.cut });
    for (const named of truth.named?.split("; ") ?? []) {
      const feature = featureOf(reading, named.split(" ")[0] ?? "");
      expect(`${feature.name} ${feature.total}/${feature.used}`).toBe(named);
    }
    for (const expected of truth.expiries?.split("; ") ?? []) {
      const feature = featureOf(reading, expected.split(" ")[0] ?? "");
      const expiry = feature.pools[0]?.expiry;
      expect(`${feature.name} ${expiry?.permanent ? "permanent" : expiry?.expiresOn}`).toBe(expected);
    }
    const printed = members.map(({ host, status, master }) => `${host}:${status}${master ? "*" : ""}`);
    if (truth.members !== undefined) expect(printed.join(" ")).toBe(truth.members);
    const vendors = daemons.map((daemon) => `${daemon.name}:${daemon.status}:${daemon.version}`);
    if (truth.daemons !== undefined) expect(vendors.join(" ")).toBe(truth.daemons);
    // A cut output lists fewer checkouts than it counts, so its last feature is short.
    if (truth.cut && count("checkouts") > 0) expect(features.at(-1)?.consistency).toBe("short");
  });
});

describe("published debug logs", () => {
  test.each([
    ["sergioedo-autodesk-2016.txt.gz", { OUT: 1918, IN: 1918, DENIED: 0 }, 252],
    ["upm-maple-scrubbed.txt.gz", { OUT: 262, IN: 262, DENIED: 0 }, 221],
    ["telelogic-doors-bracket-denied.txt", { OUT: 1, IN: 0, DENIED: 2 }, 0],
  ])("%s", (name, events, timestamps) => {
    const file = new Uint8Array(readFileSync(new URL(`flexlm-debuglog/${name}`, ROOT)));
    const bytes = name.endsWith(".gz") ? Bun.gunzipSync(file) : file;
    const { reader, events: told } = readLog(bytes, { zone: "Europe/Madrid" });
    const none = { malformed: 0, brokenTimes: 0, dateJumps: 0, withoutHead: 0 };
    expect(reader.counts).toMatchObject({ events, timestamps, ...none });
    for (const [index, { at }] of told.entries()) expect(at).toBeGreaterThanOrEqual(told[index - 1]?.at ?? 0);
  });
});
