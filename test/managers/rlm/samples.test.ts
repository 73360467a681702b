import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reading } from "../../../src/domain/reading.ts";
import { parse, summary } from "./read.ts";

const FOLDER = join(import.meta.dir, "../../fixtures/published/rlm");

const truth: Record<string, (reading: Reading) => void> = {
  "omni-rlm-csci-tabs.txt": (reading) => {
    expect(reading.members).toMatchObject([{ status: "up", version: "v12.2" }]);
    const totals = { checkouts: 937, denials: 0, removals: 0 };
    expect(reading.daemons).toMatchObject([{ name: "csci", status: "up", totals }]);
    expect(summary(reading)).toEqual([
      "csci/converge 1/0 reserved 0 pools 1 seats 0 ok",
      "csci/converge_gui 45/0 reserved 0 pools 1 seats 0 ok",
      "csci/converge_gui_polygonica 1/0 reserved 0 pools 1 seats 0 ok",
      "csci/converge_super 1000/93 reserved 0 pools 1 seats 93 ok",
      "csci/converge_tecplot 45/0 reserved 0 pools 1 seats 0 ok",
    ]);
    const busy = reading.features[3];
    expect(busy?.pools[0]?.expiry.expiresOn).toBe("2022-01-31");
    const seats = busy?.checkouts.map(({ count, handle }) => `${count} ${handle}`);
    expect(seats).toEqual(["29 15a", "27 128", "37 15a"]);
    expect(new Date(reading.reportTime ?? 0).toISOString()).toBe("2021-11-03T12:48:38.000Z");
  },
  "omni-rlm-no-licenses.txt": (reading) => {
    expect(reading.features).toHaveLength(5);
    expect(reading.features[3]).toMatchObject({ name: "converge_super", total: 1000, used: 0, cut: false });
    expect(reading.daemons[0]?.totals?.checkouts).toBe(262);
  },
  "omni-rlm-noerror.txt": (reading) => {
    expect(reading).toMatchObject({ members: [], features: [], errors: [{ kind: "unreachable" }] });
    expect(reading.errors[0]?.message).toEndWith("No error");
  },
  "omni-rlm-bad-hostname.txt": (reading) => {
    expect(reading.members).toMatchObject([{ host: "licserv0001", port: 27007, status: "down" }]);
    expect(reading.errors).toMatchObject([{ major: -131, minor: -18, system: -2, kind: "unreachable" }]);
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
