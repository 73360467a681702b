import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reading } from "../../../src/domain/reading.ts";
import { parse, summary } from "./read.ts";

const FOLDER = join(import.meta.dir, "../../fixtures/published/sentinel-rms");

const CLIENTS = "usr001 1, user000002 1, UserNameAB 1";

const truth: Record<string, (reading: Reading) => void> = {
  // 13 tokens are in use, but only three clients were published.
  "aveva-two-features-clients.txt": (reading) => {
    expect(summary(reading)).toEqual(["ARMS_ID 1.0 0/99999 - ok", `AVEVA201 1.0 13/130 ${CLIENTS} short`]);
    for (const { pools, reserved } of reading.features) {
      expect(pools[0]?.expiry.expiresOn).toBe("2022-11-19");
      expect(reserved).toBe(0);
    }
    const [first] = reading.features[1]?.checkouts ?? [];
    expect(first).toMatchObject({ host: "OENS-1-8222", display: "local", borrowed: false });
    expect(first?.startedAt).toBe(Date.UTC(2020, 10, 3, 10, 34, 40));
  },
  // Abbreviated by the publisher: the missing data is unknown, and the features are incomplete.
  "aveva-one-feature-full.txt": (reading) => {
    const expected = ["ARMS_ID 1.0 null/null - ok cut", `AVEVA201 1.0 null/null ${CLIENTS} ok cut`];
    expect(summary(reading)).toEqual(expected);
  },
  "arms-id-single-feature.txt": (reading) => {
    expect(summary(reading)).toEqual(["ARMS_ID 1.0 null/99999 - ok cut"]);
  },
};

describe("published samples", () => {
  const files = readdirSync(FOLDER);

  test.each(files)("%s is read to the last line", (name) => {
    const reading = parse(readFileSync(join(FOLDER, name)));
    expect(reading).toMatchObject({ unparsed: [], unparsedLines: 0, recognised: true, cut: false });
    expect(reading).toMatchObject({ errors: [], toolVersion: "9.1.0.0104" });
    const host = "999385-pc.samba.corporate.example";
    expect(reading.members).toMatchObject([{ host, port: null, status: "up" }]);
    truth[name]?.(reading);
  });

  test("every sample has an expectation", () => {
    expect(files.toSorted()).toEqual(Object.keys(truth).toSorted());
  });
});
