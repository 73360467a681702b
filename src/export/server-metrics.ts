import type { FeaturePicture, ServerPicture } from "../domain/picture.ts";
import { isSeats, poolOf, seatSets, sharedSets, sumOfKnown } from "../domain/polls/seat-groups.ts";
import { worstOfEach } from "../domain/polls/server-status.ts";
import { DATA_STATES, PART_STATUSES, SERVER_STATUSES } from "../domain/words.ts";
import { counter, type Emit, emitKnown, emitOneOf, gauge, type Labels, seconds } from "./family.ts";

/**
 * Families about features and their pools. Seat metrics exclude features that count tokens, so sums do not mix units. A
 * sum over features counts a seat group once per member.
 */
export const FEATURE = {
  info: gauge(
    "license_feature_info",
    "Always 1; unit (seats, tokens, credits), and seat_group, a set of seats shared by features of the server.",
  ),
  issued: gauge("license_feature_seats_issued", "Seats issued; absent when unlimited, unknown or stale."),
  used: gauge(
    "license_feature_seats_used",
    "Seats in use as reported by the tool, including reservations; absent when unknown or stale.",
  ),
  available: gauge(
    "license_feature_seats_available",
    "Free seats, below 0 when more are in use than issued; absent when unlimited, unknown or stale.",
  ),
  reserved: gauge("license_feature_seats_reserved", "Reserved seats."),
  queued: gauge("license_feature_seats_queued", "Seats of queued requests."),
  unitsIssued: gauge(
    "license_feature_units_issued",
    "Tokens or credits issued, for features that do not count seats; absent when unlimited, unknown or stale.",
  ),
  unitsUsed: gauge("license_feature_units_used", "Tokens or credits in use; absent when unknown or stale."),
  utilization: gauge(
    "license_feature_utilization_ratio",
    "Seats in use divided by seats issued, 1 = full; absent when unlimited, unknown or stale.",
  ),
  unlimited: gauge(
    "license_feature_unlimited",
    "1 when seats are unlimited or uncounted; absent when stale.",
  ),
  state: gauge(
    "license_feature_state",
    "Always 1; state of the data: ok, partial, stale (not read by the last poll) or failed.",
  ),
  collected: gauge(
    "license_feature_collected_timestamp_seconds",
    "Time of the last good reading of the feature; absent before the first.",
  ),
  poolIssued: gauge(
    "license_pool_seats_issued",
    "Seats of the pool; absent when unlimited, unknown or stale.",
  ),
  poolUsed: gauge("license_pool_seats_used", "Seats of the pool in use; absent if not reported by the tool."),
  poolExpiry: gauge(
    "license_pool_expiry_timestamp_seconds",
    "End of the pool's last valid day; absent when permanent or unknown.",
  ),
} as const;

/** Emits one feature. Expiry dates are emitted even if the numbers are stale. */
function emitFeature(server: Labels, feature: FeaturePicture, emit: Emit): void {
  const labels: Labels = [...server, ["daemon", feature.daemon], ["feature", feature.name]];
  const fresh = isFresh(feature);
  const { unit = "seats", seatGroup } = feature;
  emit(FEATURE.info, [...labels, ["unit", unit], ["seat_group", seatGroup ?? ""]], 1);
  emit(FEATURE.state, [...labels, ["state", feature.state]], 1);
  emitKnown(emit, FEATURE.collected, labels, seconds(feature.collectedAt));
  for (const pool of feature.pools) {
    const inPool: Labels = [...labels, ["pool", pool.id], ["version", pool.version ?? ""]];
    emitKnown(emit, FEATURE.poolExpiry, inPool, seconds(pool.expiry.expiresAt));
    if (!fresh || !isSeats(feature)) continue;
    if (!pool.unlimited) emitKnown(emit, FEATURE.poolIssued, inPool, pool.total);
    emitKnown(emit, FEATURE.poolUsed, inPool, pool.used);
  }
  if (!fresh) return;
  const { total, used, unlimited } = feature;
  emit(FEATURE.unlimited, labels, unlimited ? 1 : 0);
  if (isSeats(feature)) {
    emitKnown(emit, FEATURE.issued, labels, total);
    emitKnown(emit, FEATURE.used, labels, used);
    for (const name of ["available", "reserved", "queued"] as const)
      emitKnown(emit, FEATURE[name], labels, feature[name]);
  } else {
    emitKnown(emit, FEATURE.unitsIssued, [...labels, ["unit", unit]], total);
    emitKnown(emit, FEATURE.unitsUsed, [...labels, ["unit", unit]], used);
  }
  if (!unlimited && total !== null && used !== null && total > 0)
    emit(FEATURE.utilization, labels, used / total);
}

const ofDaemon = (name: string, what: string) =>
  counter(name, `${what} since the start of the daemon, counted by the daemon itself (RLM).`);

export const SERVER = {
  info: gauge(
    "license_server_info",
    "Always 1; name, manager and the labels of the config, each as label_<name>.",
  ),
  enabled: gauge("license_server_enabled", "1 while the server is polled, 0 while the config disables it."),
  status: gauge("license_server_status", "1 for the current status, 0 for the others."),
  dataState: gauge("license_server_data_state", "1 for the outcome of the last poll, 0 for the others."),
  collected: gauge(
    "license_server_collected_timestamp_seconds",
    "Time of the last good reading; absent before the first.",
  ),
  polled: gauge("license_server_last_poll_timestamp_seconds", "Time of the last poll of any outcome."),
  pollDuration: gauge("license_server_last_poll_duration_seconds", "Duration of the last poll."),
  issued: gauge(
    "license_server_seats_issued",
    "Seats issued by all limited features with current data, each seat group once, without tokens and credits.",
  ),
  used: gauge(
    "license_server_seats_used",
    "Seats in use of all limited features with current data, each seat group once, without tokens and credits.",
  ),
  features: gauge("license_server_features", "Features of the server by state of their data."),
  checkouts: gauge(
    "license_server_checkouts",
    "Checkouts in the last good reading, while it is current; without components of packages.",
  ),
  unparsed: gauge("license_server_unparsed_lines", "Unrecognized lines in the last output."),
  memberStatus: gauge(
    "license_member_status",
    "1 for the current status of a member host, 0 for the others.",
  ),
  memberMaster: gauge("license_member_master", "1 for the master, 0 for the other members."),
  memberReachable: gauge(
    "license_member_reachable",
    "1 if the member accepted a TCP connection at the last poll.",
  ),
  memberConnect: gauge(
    "license_member_connect_seconds",
    "Duration of the TCP connection attempt to the member at the last poll.",
  ),
  daemonStatus: gauge(
    "license_daemon_status",
    "1 for the current status of a vendor daemon or ISV server, 0 for the others.",
  ),
  daemonCheckouts: ofDaemon("license_daemon_checkouts_total", "Checkouts"),
  daemonDenials: ofDaemon("license_daemon_denials_total", "Denials"),
  daemonRemovals: ofDaemon("license_daemon_removals_total", "Removals"),
} as const;

/** Number of features emitted per step. Other work can run between steps. */
const FEATURES_A_STEP = 50;

/**
 * Emits all metrics of one server in short steps. Omits data that is not current, because a repeated number
 * looks fresh; states, times and expiry dates are always emitted. `of` has the labels of every sample.
 */
export function* emitServer(picture: ServerPicture, emit: Emit, of: Labels = []): Generator<void> {
  const { server, features, status, state } = picture;
  const labels: Labels = [...of, ["server", server.id]];
  const own = Object.entries(server.labels).map(([name, value]) => [`label_${name}`, value] as const);
  emit(SERVER.info, [...labels, ["name", server.name], ["manager", server.manager], ...own], 1);
  emit(SERVER.enabled, labels, server.enabled ? 1 : 0);
  emitOneOf(emit, SERVER.status, labels, "status", SERVER_STATUSES, status);
  emitOneOf(emit, SERVER.dataState, labels, "state", DATA_STATES, state);
  emitKnown(emit, SERVER.collected, labels, seconds(picture.collectedAt));
  emitKnown(emit, SERVER.polled, labels, seconds(picture.lastPollAt));
  emitKnown(emit, SERVER.pollDuration, labels, seconds(picture.pollDurationMs));
  if (picture.lastPollAt !== null) emit(SERVER.unparsed, labels, picture.unparsedLines);
  emitParts(picture, labels, emit);
  yield;

  const states = { ok: 0, partial: 0, stale: 0, failed: 0 };
  for (const [index, feature] of features.entries()) {
    states[feature.state]++;
    emitFeature(labels, feature, emit);
    if (index % FEATURES_A_STEP === FEATURES_A_STEP - 1) yield;
  }
  for (const state of DATA_STATES) emit(SERVER.features, [...labels, ["state", state]], states[state]);
  if (!isFresh(picture)) return;
  const counted = sharedSets(features).flat();
  emit(
    SERVER.checkouts,
    labels,
    counted.reduce((sum, { checkouts }) => sum + checkouts.length, 0),
  );
  const limited = seatSets(features)
    .map((set) => poolOf(set.filter(isFresh)))
    .filter(({ total }) => total !== null);
  emitKnown(emit, SERVER.issued, labels, sumOfKnown(limited.map(({ total }) => total)));
  emitKnown(emit, SERVER.used, labels, sumOfKnown(limited.map(({ used }) => used)));
}

function isFresh({ state }: ServerPicture | FeaturePicture): boolean {
  return state === "ok" || state === "partial";
}

function emitParts(picture: ServerPicture, server: Labels, emit: Emit): void {
  for (const [member, { status, master }] of byName(picture.members)) {
    const labels: Labels = [...server, ["member", member]];
    emitOneOf(emit, SERVER.memberStatus, labels, "status", PART_STATUSES, status);
    emit(SERVER.memberMaster, labels, master ? 1 : 0);
  }
  for (const [member, { reachable, connectMs }] of byName(picture.reachability)) {
    if (reachable === null) continue;
    const labels: Labels = [...server, ["member", member]];
    emit(SERVER.memberReachable, labels, reachable ? 1 : 0);
    emitKnown(emit, SERVER.memberConnect, labels, seconds(connectMs));
  }
  for (const { name, status, totals } of worstOfEach(picture.daemons)) {
    const labels: Labels = [...server, ["daemon", name]];
    emitOneOf(emit, SERVER.daemonStatus, labels, "status", PART_STATUSES, status);
    if (!isFresh(picture)) continue;
    emitKnown(emit, SERVER.daemonCheckouts, labels, totals?.checkouts);
    emitKnown(emit, SERVER.daemonDenials, labels, totals?.denials);
    emitKnown(emit, SERVER.daemonRemovals, labels, totals?.removals);
  }
}

/** Returns the first part of each name: tools may print a part twice, and a duplicate series is an error. */
function byName<Part extends { readonly host: string; readonly port: number | null }>(
  parts: readonly Part[],
): Map<string, Part> {
  const named = parts.map(
    (part) => [part.port === null ? part.host : `${part.port}@${part.host}`, part] as const,
  );
  return new Map(named.toReversed());
}
