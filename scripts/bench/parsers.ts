import { createKnownHosts } from "../../src/managers/manager.ts";
import { readOutputSync } from "../../src/managers/read-output.ts";
import { managerOf } from "../../src/managers/registry.ts";
import { dslsOutput } from "./dsls-output.ts";
import { medianTimes } from "./measure.ts";
import { INSTANT, largeHolderBlocks } from "./shapes.ts";
import type { Bench, Row } from "./table.ts";

/** About ten megabytes of what each manager's tool prints; FlexNet has a bench of its own. */
const TEN_MEGABYTES: Readonly<Record<string, () => Uint8Array>> = {
  dsls: () => dslsOutput(10),
  lmx: () => largeHolderBlocks("lmx", 10),
  rms: () => largeHolderBlocks("rms", 10),
};
const ROUNDS = 15;

/** Each manager's parser over a large output, beside decoding and splitting the same bytes. */
export const parsers: Bench = {
  name: "parsers",
  what: "outputs of 10 MB of the other managers: time beside decode + split",
  async run() {
    const rows: Row[] = [];
    for (const [manager, output] of Object.entries(TEN_MEGABYTES)) rows.push(await rowOf(manager, output()));
    return rows;
  },
};

async function rowOf(manager: string, bytes: Uint8Array): Promise<Row> {
  const read = () => {
    const context = { zone: "UTC", now: INSTANT, knownHosts: createKnownHosts() };
    return readOutputSync(bytes, managerOf(manager).createParser(context));
  };
  const { unparsedLines, cut, features } = read();
  if (unparsedLines > 0 || cut) throw new Error(`${manager}: ${unparsedLines} lines were not understood`);
  const holders = features.reduce((total, feature) => total + feature.checkouts.length, 0);
  const [split = NaN, parse = NaN] = await medianTimes(ROUNDS, [
    () => new TextDecoder().decode(bytes).split("\n").length,
    read,
  ]);
  const megabytes = (bytes.length / 1_000_000).toFixed(0);
  return {
    what: `${manager}: parse ${megabytes} MB, ${holders} checkouts, beside decode + split`,
    ours: parse,
    baseline: split,
    unit: "ms",
    bound: { of: "ratio", atMost: 15 },
  };
}
