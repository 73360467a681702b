import { globPattern } from "../../alerts/settings.ts";
import type { FeatureRecord } from "../../domain/records.ts";
import { command, text } from "../command.ts";
import type { Cell } from "../terminal.ts";
import { printJson } from "../terminal.ts";
import {
  ASK,
  ask,
  expiryCell,
  licenses,
  printCsv,
  printRecords,
  printRows,
  RED,
  some,
  stateCell,
} from "./output.ts";
import { featuresNamed, NARROW } from "./who.ts";

export const FEATURE_HEADS = ["feature", "of", ">used", ">total", ">free", ">waiting", ">expires", "state"];

/** `licmond features`: what there is, how much of it is in use, and when it expires. */
export const features = command({
  args: [["[glob]", 'part of the names, or a pattern with * and ?, e.g. "LogicSim_*"; whatever the case']],
  options: {
    ...NARROW,
    sort: text("<field>", "field of the API's record, - before it for descending, e.g. -utilization"),
    ...ASK,
  },
  async run({ args: [glob = ""], options }, io) {
    const client = await ask(options, io);
    const { server, daemon, sort } = options;
    const isPattern = /[*?]/.test(glob);
    const literals = glob.split(/[*?]/);
    const search = literals.reduce((longest, part) => (part.length > longest.length ? part : longest), "");
    const query = { search: search || undefined, server, daemon, sort };
    if (options.csv && !isPattern)
      return printCsv(io, (await client.csv(licenses("features", { ...query, format: "csv" }))).text);
    const path = licenses("features", query);
    const answer = await client.get<{ features: readonly FeatureRecord[] }>(path);
    const pattern = globPattern(glob.toLowerCase());
    const found = answer.features.filter(({ name }) => !isPattern || pattern.test(name.toLowerCase()));
    // It knows the closest names.
    if (found.length === 0 && glob !== "" && !isPattern)
      await featuresNamed(client, glob, { server, daemon });
    if (options.json) return io.out(printJson({ ...answer, features: found, total: found.length }));
    if (options.csv) {
      const { columnsOf } = await import("../../http/answers/list.ts");
      const { FeatureRecord } = await import("../../domain/records.ts");
      return printRecords(io, columnsOf(FeatureRecord), found);
    }
    const rows = found.map((feature) => featureCells(feature, io.now()));
    printRows(io, FEATURE_HEADS, rows, "No license server has such a feature, or none was read yet.");
  },
});

/** What of a feature's record stands in tables. */
export type FeatureCounts = Omit<FeatureRecord, "pools">;

/** A feature as a row below {@link FEATURE_HEADS}. */
export function featureCells(feature: FeatureCounts, now: number): Cell[] {
  const { name, server, daemon, used, total, available, unlimited, queued } = feature;
  const { expiresAt, expiresOn } = feature;
  const free = available === null ? "" : String(available);
  return [
    name,
    `${server}/${daemon}`,
    String(used ?? "?"),
    unlimited ? "no limit" : String(total ?? "?"),
    available !== null && available <= 0 ? [free, RED] : free,
    some(queued),
    expiryCell(expiresAt, expiresOn, now),
    stateCell(feature, now),
  ];
}
