import { describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKnownHosts } from "../../src/managers/known-hosts.ts";
import { readOutputSync } from "../../src/managers/read-output.ts";
import { managerOf } from "../../src/managers/registry.ts";
import { scaleReading, scaleText, writeFakeTool } from "../../src/simulator/scale.ts";

const SIZE = {
  features: 50,
  checkouts: 1_003,
  instant: Date.parse("2026-11-18T10:01:00Z"),
  zone: "Europe/Berlin",
};

describe.each(["flexnet", "rlm"] as const)("scale: %s", (name) => {
  const manager = managerOf(name);

  test("as many features and checkouts as asked for, and the text says the same", () => {
    const options = { ...SIZE, address: name === "rlm" ? "5053@lic-scale" : "27000@lic-scale" };
    const reading = scaleReading(manager, options);
    expect(reading.features).toHaveLength(50);
    expect(reading.features.reduce((sum, { checkouts }) => sum + checkouts.length, 0)).toBe(1_003);
    const parser = manager.createParser({
      zone: SIZE.zone,
      now: SIZE.instant,
      knownHosts: createKnownHosts(),
    });
    const text = new TextEncoder().encode(scaleText(manager, options));
    expect(readOutputSync(text, parser)).toEqual(reading);
  });

  test("as long as asked for, to a byte a checkout", () => {
    const { length } = scaleText(manager, { ...SIZE, bytes: 250_000 });
    expect(length).toBeLessThanOrEqual(250_000);
    expect(length).toBeGreaterThan(250_000 - 1_003);
  });

  test("a length that the checkouts alone exceed is refused", () => {
    expect(() => scaleText(manager, { ...SIZE, bytes: 1_000 })).toThrow(RangeError);
  });
});

test("a fake tool prints its text, whatever it is asked, in folders of any name", async () => {
  const folder = await mkdtemp(join(tmpdir(), "licmond-scale-"));
  try {
    const tool = await writeFakeTool(join(folder, "it's here"), "lmutil", "said\nand done\n");
    const ran = Bun.spawnSync([tool, "lmstat", "-a"]);
    expect({ out: ran.stdout.toString(), code: ran.exitCode }).toEqual({ out: "said\nand done\n", code: 0 });
  } finally {
    await rm(folder, { recursive: true });
  }
});
