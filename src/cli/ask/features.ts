import { globPattern } from "../../domain/plain-text.ts";
import { groupLimit } from "../../domain/polls/seat-groups.ts";
import type { FeatureRecord } from "../../domain/records.ts";
import { span } from "../../domain/time/clock.ts";
import { command, text } from "../command.ts";
import {
  ASK,
  ask,
  type Features,
  licenses,
  PLAIN,
  printRows,
  RED,
  type Row,
  show,
  YELLOW,
} from "./output.ts";
import { featuresNamed, NARROW } from "./who.ts";

export const FEATURE_HEADS = ["feature", "of", ">used", ">total", ">free", ">waiting", ">expires", "~state"];

export const features = command({
  args: [["[glob]", 'part of the name, or a pattern with * and ?, e.g. "LogicSim_*"; case-insensitive']],
  options: {
    ...NARROW,
    sort: text("<field>", "field of the API's record; prefix - for descending, e.g. -utilization"),
    ...ASK,
  },
  async run({ args: [glob = ""], options }, io) {
    const client = await ask(options, io);
    const { server, daemon, sort } = options;
    const answer = await client.get<Features>(licenses("features", { server, daemon, sort }));
    const isPattern = /[*?]/.test(glob);
    const pattern = globPattern((isPattern ? glob : `*${glob}*`).toLowerCase());
    const found = answer.features.filter(({ name }) => pattern.test(name.toLowerCase()));
    // Fails with the closest names.
    if (found.length === 0 && !isPattern && glob !== "")
      await featuresNamed(client, glob, { server, daemon });
    const shown = { ...answer, features: found, total: found.length };
    const schema = async () => (await import("../../domain/records.ts")).FeatureRecord;
    await show(options, io, shown, found, schema, () => {
      const rows = found.map((feature) => featureRow(feature, io.now()));
      printRows(io, FEATURE_HEADS, rows, "No matching features, or no license server has been read yet.");
    });
  },
});

type FeatureCounts = Omit<FeatureRecord, "pools" | "assigned">;

/** Returns a feature as a row for {@link FEATURE_HEADS}. */
export function featureRow(feature: FeatureCounts, now: number): Row {
  const { name, server, daemon, used, total, available, unlimited, queued, expiresAt, unit } = feature;
  const isExpired = expiresAt !== null && Date.parse(expiresAt) < now;
  const state = stateOf(feature, now) || (isExpired ? "expired" : "");
  return [
    available !== null && available <= 0 ? RED : state === "" ? PLAIN : YELLOW,
    name,
    `${server}/${daemon}`,
    String(used ?? "?"),
    `${unlimited ? "no limit" : (total ?? "?")}${unit === "seats" ? "" : ` ${unit}`}`,
    String(available ?? ""),
    queued === 0 ? "" : String(queued ?? "?"),
    feature.expiresOn ?? "",
    state === "" && groupLimit(feature) > 0 ? "limited by its seat group" : state,
  ];
}

/** Describes features whose numbers are not current; empty for the others. */
export function stateOf(
  { state, collectedAt, error }: Pick<FeatureRecord, "state" | "collectedAt" | "error">,
  now: number,
): string {
  if (state === "ok") return "";
  const age = collectedAt === null || state === "partial" ? "" : ` ${span(now - Date.parse(collectedAt))}`;
  return `${state}${age}${error === null ? "" : `: ${error}`}`;
}
