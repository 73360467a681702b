import { featureKey } from "../history.ts";
import type { FeaturePicture, ServerPicture } from "../picture.ts";
import type { PollOutcome } from "../poll.ts";
import type { FeatureReading, Reading } from "../reading.ts";
import { longestSilence, type MonitoredServer } from "../server.ts";
import { mergeBlocks, readFeature, staleFeature } from "./feature-picture.ts";
import { packageGroup, poolOf, seatGroups, sharedSets } from "./seat-groups.ts";
import { isAnswered, isUnreadable, serverStatus, worstOfEach } from "./server-status.ts";

/**
 * Number of consecutive good readings without a feature after which the feature is removed. One is not
 * enough, because cut output can look complete.
 */
const MISSED_UNTIL_REMOVED = 2;

export function initialPicture(server: MonitoredServer): ServerPicture {
  return {
    server,
    status: "unknown",
    state: "failed",
    members: [],
    daemons: [],
    error: null,
    collectedAt: null,
    lastPollAt: null,
    nextPollAt: null,
    pollDurationMs: null,
    toolVersion: null,
    cut: false,
    unparsedLines: 0,
    unparsed: [],
    reachability: [],
    features: [],
  };
}

/**
 * Merges the outcome of a poll into the previous picture. After a failed poll the numbers keep their
 * `collectedAt` and become stale.
 */
export function applyPoll(
  previous: ServerPicture | null,
  server: MonitoredServer,
  outcome: PollOutcome,
  nextPollAt: number | null,
): ServerPicture {
  const before = previous ?? initialPicture(server);
  const poll = {
    server,
    lastPollAt: outcome.finishedAt,
    nextPollAt,
    pollDurationMs: outcome.durationMs,
    reachability: outcome.reachability,
  };
  const { reading, error, finishedAt } = outcome;
  if (reading === null || error !== null) {
    return {
      ...before,
      ...poll,
      error,
      state: before.collectedAt === null ? "failed" : "stale",
      features: featuresAfterFailure(before.features, reading, finishedAt),
      unparsedLines: reading?.unparsedLines ?? 0,
      unparsed: reading?.unparsed ?? [],
      ...partsAfterFailure(before, outcome),
    };
  }

  const { members, daemons, toolVersion, cut, unparsedLines, unparsed } = reading;
  const features = layOver(before.features, reading, finishedAt);
  const partial = cut || reading.stray === true || features.some(({ state }) => state === "partial");
  const status = serverStatus(members, daemons, outcome.quorum);
  return {
    ...poll,
    // A reading without member lines (RLM's ISV part alone) still proves that a server answered.
    status: status === "unknown" && reading.features.some(isAnswered) ? "up" : status,
    state: partial ? "partial" : "ok",
    members,
    daemons,
    error: null,
    collectedAt: finishedAt,
    toolVersion,
    cut,
    unparsedLines,
    unparsed,
    features,
  };
}

/** Returns when the numbers become stale: 2 × interval + timeout after the last good reading. Null: never. */
export function staleDeadline(picture: ServerPicture): number | null {
  if (picture.collectedAt === null || picture.state === "stale" || picture.state === "failed") return null;
  return picture.collectedAt + longestSilence(picture.server);
}

/** Marks the numbers stale. */
export function markStale(picture: ServerPicture): ServerPicture {
  const state = picture.collectedAt === null ? "failed" : "stale";
  return { ...picture, state, features: picture.features.map((feature) => staleFeature(feature)) };
}

/**
 * Returns the last good numbers, and features for which the tool printed only an error. Removes no feature.
 */
function featuresAfterFailure(
  before: readonly FeaturePicture[],
  reading: Reading | null,
  at: number,
): readonly FeaturePicture[] {
  return reading !== null && reading.features.length > 0
    ? layOver(before, { ...reading, cut: true }, at)
    : before.map((feature) => staleFeature(feature));
}

/**
 * Returns members, daemons and status after a failed poll. Uses those of the poll's reading if it has
 * members or only errors. Otherwise daemons are unknown, and so are members and status unless the server
 * was unreachable, i.e. down.
 */
function partsAfterFailure(
  before: ServerPicture,
  { reading, error, reachability, quorum }: PollOutcome,
): Pick<ServerPicture, "members" | "daemons" | "status"> {
  const unknown = { status: "unknown" } as const;
  const daemons = before.daemons.map((daemon) => ({ ...daemon, ...unknown }));
  const isErrorsAlone = reading !== null && isUnreadable(reading);
  if (reading !== null && (reading.members.length > 0 || isErrorsAlone)) {
    const status = serverStatus(reading.members, reading.daemons, quorum);
    return {
      members: reading.members,
      daemons: reading.daemons.length > 0 ? reading.daemons : daemons,
      // Members may answer although the query as a whole fails. The status is then unknown.
      status: status === "down" ? status : isErrorsAlone ? "degraded" : "unknown",
    };
  }
  const refused = reachability.length > 0 && reachability.every((member) => member.reachable === false);
  const down = error?.code === "LICENSE_SERVER_UNREACHABLE" || (error?.code === "TIMEOUT" && refused);
  const status = down ? "down" : "unknown";
  const members = before.members.map(
    (member) => ({ ...member, status, master: false, error: null }) as const,
  );
  return { members, daemons, status };
}

function layOver(
  before: readonly FeaturePicture[],
  reading: Reading,
  collectedAt: number,
): readonly FeaturePicture[] {
  const known = new Map(before.map((feature) => [featureKey(feature.daemon, feature.name), feature]));
  const daemonStatus = new Map(worstOfEach(reading.daemons).map((daemon) => [daemon.name, daemon.status]));
  const isUp = (daemon: string) => (daemonStatus.get(daemon) ?? "up") === "up";
  /** Returns a feature that is missing from this reading, or null if it was missing too often. */
  const missedOnce = (feature: FeaturePicture): FeaturePicture | null => {
    const missed = feature.missed + (!reading.cut && isUp(feature.daemon) ? 1 : 0);
    return missed < MISSED_UNTIL_REMOVED ? staleFeature(feature, missed) : null;
  };

  const packages = new Set(before.map(({ name }) => packageGroup(name)));
  const features = mergeBlocks(reading.features).map((read) => {
    const block = inPackage(read, known.get(featureKey(read.daemon, read.name)), packages);
    const key = featureKey(block.daemon, block.name);
    const previous = known.get(key) ?? null;
    known.delete(key);
    // If a daemon is down, lmstat prints "No such feature exists" for its features, so keep their last
    // numbers.
    if (block.error !== null && !isUp(block.daemon) && previous !== null && previous.collectedAt !== null)
      return staleFeature(previous);
    // A license file contains no usage. If a server reported usage before, the feature is missing from this
    // reading.
    const kept =
      block.fromFile === true && previous !== null && knowsUse(previous) ? missedOnce(previous) : null;
    return kept ?? readFeature(block, collectedAt, previous);
  });
  for (const missing of known.values()) {
    const kept = missedOnce(missing);
    if (kept !== null) features.push(kept);
  }
  return withinGroups(features, collectedAt);
}

/**
 * Adds a feature to the seat group of its package. Only checkouts show which features form a package, so an
 * idle package keeps its earlier group.
 */
function inPackage(
  block: FeatureReading,
  previous: FeaturePicture | undefined,
  packages: ReadonlySet<string>,
): FeatureReading {
  const seatGroup = previous?.seatGroup;
  if (block.seatGroup !== undefined || seatGroup === undefined || !packages.has(seatGroup)) return block;
  return { ...block, seatGroup };
}

/**
 * Limits a feature's free seats to those left in its seat group. A component with more seats than its
 * package also draws on other packages, so the limit does not apply to it.
 */
function withinGroups(features: readonly FeaturePicture[], readAt: number): readonly FeaturePicture[] {
  const left = new Map<FeaturePicture, number>();
  for (const group of seatGroups(features)) {
    const { total, used } = poolOf(sharedSets(group).flat());
    if (group.length === 1 || total === null || used === null) continue;
    for (const feature of group) if ((feature.total ?? 0) <= total) left.set(feature, total - used);
  }
  if (left.size === 0) return features;
  return features.map((feature) => {
    const { available, collectedAt } = feature;
    if (available === null || collectedAt !== readAt) return feature;
    return { ...feature, available: Math.min(available, left.get(feature) ?? available) };
  });
}

function knowsUse({ used, checkouts, reservations, queue }: FeaturePicture): boolean {
  return used !== null || checkouts.length + reservations.length + queue.length > 0;
}
