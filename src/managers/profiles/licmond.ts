import { expiryOn } from "../../domain/expiry.ts";
import { featureKey } from "../../domain/history.ts";
import {
  type AssignedReading,
  type CheckoutReading,
  type Expiry,
  emptyReading,
  type FeatureReading,
  PERMANENT,
  type PoolReading,
  type QueueReading,
  RESERVATION_TYPES,
  type Reading,
  type ReservationReading,
  type ToolError,
  UNKNOWN_EXPIRY,
} from "../../domain/reading.ts";
import { span } from "../../domain/time/clock.ts";
import { beginsWithDate } from "../../domain/time/zone.ts";
import { PART_STATUSES, POOL_KINDS, UNITS } from "../../domain/words.ts";
import type { ParseContext, TextParser } from "../manager.ts";
import type { Profile } from "../profile.ts";
import { createUnparsed } from "../read-output.ts";
import { compareCounts, sumOfCounts, toolError } from "../reading-parts.ts";
import { isObject, parseJson } from "./paths.ts";

/**
 * Parses the records that `licmond parse` prints, with any subset of their fields. The answer needs two
 * more fields: `asOf`, the time of the data, and `complete: true`, without which the answer counts as cut.
 */
export function createLicmondParser(profile: Profile, { zone, now, maxAgeMs }: ParseContext): TextParser {
  const unparsed = createUnparsed();

  function read(answer: Fields, truncated: boolean): Reading {
    const users = recordsOf(answer.users, unparsed.add).filter((user, index) => {
      if (text(user.feature) !== null) return true;
      unparsed.add(JSON.stringify(user), index + 1);
      return false;
    });
    const features = recordsOf(answer.features, unparsed.add).flatMap((feature, index) => {
      const name = text(feature.name);
      if (name === null) {
        unparsed.add(JSON.stringify(feature), index + 1);
        return [];
      }
      const daemon = text(feature.daemon) ?? "";
      const own = users.filter((user) => user.feature === name && (text(user.daemon) ?? "") === daemon);
      return [featureOf(feature, daemon, name, own, zone)];
    });
    const named = new Set(features.map(({ daemon, name }) => featureKey(daemon, name)));
    for (const [index, user] of users.entries()) {
      if (!named.has(featureKey(text(user.daemon) ?? "", text(user.feature) ?? "")))
        unparsed.add(JSON.stringify(user), index + 1);
    }
    const [server = {}] = recordsOf(answer.servers, unparsed.add);
    const lost = unparsed.read();
    return {
      ...emptyReading(profile.name),
      ...lost,
      ...(lost.unparsedLines > 0 && { stray: true as const }),
      members: recordsOf(server.members, unparsed.add).flatMap((member) => {
        const host = text(member.host);
        if (host === null) return [];
        const port = countOf(member.port);
        return [{ host, port, master: member.master === true, ...partOf(member) }];
      }),
      daemons: recordsOf(server.daemons, unparsed.add).flatMap((daemon) => {
        const name = text(daemon.name);
        return name === null ? [] : [{ name, totals: null, ...partOf(daemon) }];
      }),
      features,
      errors: errorsOf(answer, server),
      cut: truncated || answer.complete !== true,
      recognised: true,
    };
  }

  return {
    text(whole, truncated) {
      const refused = (problem: string) => ({ ...emptyReading(profile.name), problem });
      const parsed = parseJson(whole);
      if ("problem" in parsed) return refused(`The answer ${parsed.problem}.`);
      const { value } = parsed;
      if (!isObject(value)) return refused("The answer is not a JSON object.");
      const asOf = timeOf(value.asOf);
      if (asOf === null)
        return refused("The answer has no `asOf` (time of the data, e.g. 2026-01-31T08:15:30Z).");
      if (!Array.isArray(value.features) && errorsOf(value, {}).length === 0)
        return refused("The answer has no list `features`.");
      const age = now - asOf;
      // Also reject a clock that is far ahead, which would make an old answer look new.
      if (maxAgeMs !== undefined && Math.abs(age) > maxAgeMs) {
        const off = `${span(Math.abs(age))} ${age > 0 ? "old" : "ahead of this host's clock"}`;
        const message = `The answer is ${off} (its asOf is ${new Date(asOf).toISOString()}).`;
        return { ...emptyReading(profile.name), recognised: true, errors: [toolError(message, "query")] };
      }
      return { ...read(value, truncated), reportTime: asOf };
    },
  };
}

type Fields = Readonly<Record<string, unknown>>;

function recordsOf(list: unknown, reject: (text: string, place: number) => void): readonly Fields[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((each: unknown, index) => {
    if (isObject(each)) return [each];
    reject(JSON.stringify(each), index + 1);
    return [];
  });
}

function featureOf(
  feature: Fields,
  daemon: string,
  name: string,
  users: readonly Fields[],
  zone: string,
): FeatureReading {
  const unit = UNITS.find((each) => each === feature.unit) ?? "seats";
  const seatGroup = text(feature.seatGroup);
  const { unlimited, total, used } = seatsOf(feature);
  const listed = recordsOf(feature.pools, () => {});
  const pools = (listed.length === 0 ? [feature] : listed).map((pool) => poolOf(pool, zone));
  const reserved = countOf(feature.reserved);
  const of = (kind: string) => users.filter((user) => (user.kind ?? "checkout") === kind);
  const assigned = of("assigned")
    .map(assignedOf)
    .filter((each) => each !== null);
  const checkouts = of("checkout").map(checkoutOf);
  const held = sumOfCounts(checkouts);
  const reservations = of("reservation").map(reservationOf);
  const kept = reserved ?? sumOfCounts(reservations);
  const error = text(feature.error);
  return {
    daemon,
    name,
    ...(unit !== "seats" && { unit }),
    ...(seatGroup !== null && { seatGroup }),
    total,
    used,
    unlimited,
    error: error === null ? null : toolError(error, "query"),
    pools,
    checkouts,
    reservations,
    queue: of("queued").map(queueOf),
    ...(assigned.length > 0 && { assigned }),
    ...(reserved !== null && { reserved }),
    // If no users are listed, do not compare, because the answer may leave users out.
    consistency: compareCounts(checkouts.length === 0 ? null : used, held, kept),
    cut: feature.state === "partial",
  };
}

function seatsOf(of: Fields) {
  const unlimited = of.unlimited === true;
  return { unlimited, total: unlimited ? null : countOf(of.total), used: countOf(of.used) };
}

function poolOf(pool: Fields, zone: string): PoolReading {
  const kind = POOL_KINDS.find((each) => each === pool.kind) ?? "unknown";
  const [version, vendorString] = [text(pool.version), text(pool.vendorString)];
  return { number: null, version, vendorString, kind, ...seatsOf(pool), expiry: expiryOf(pool, zone) };
}

function expiryOf({ permanent, expiresOn }: Fields, zone: string): Expiry {
  if (permanent === true) return PERMANENT;
  if (typeof expiresOn !== "string" || !/^\d{4}-\d\d-\d\d$/.test(expiresOn) || !beginsWithDate(expiresOn))
    return UNKNOWN_EXPIRY;
  const [year = 0, month = 0, day = 0] = expiresOn.split("-").map(Number);
  return expiryOn(zone, year, month, day);
}

function personOf(user: Fields) {
  return {
    user: text(user.user),
    host: text(user.host),
    display: text(user.display),
    qualifier: text(user.qualifier),
    version: text(user.version),
    count: Math.max(1, countOf(user.count) ?? 1),
    handle: text(user.handle),
    pool: null,
  };
}

function checkoutOf(user: Fields): CheckoutReading {
  const times = { startedAt: timeOf(user.startedAt), lingerSeconds: countOf(user.lingerSeconds) };
  return { ...personOf(user), pid: countOf(user.pid), ...times, borrowed: user.borrowed === true };
}

function queueOf(user: Fields): QueueReading {
  return personOf(user);
}

function reservationOf(user: Fields): ReservationReading {
  const { type, name } = isObject(user.reservedFor) ? user.reservedFor : {};
  const known = RESERVATION_TYPES.find((each) => each === type) ?? "other";
  return { type: known, name: text(name) ?? "", count: Math.max(1, countOf(user.count) ?? 1), pool: null };
}

function assignedOf(user: Fields): AssignedReading | null {
  const { user: name, host } = personOf(user);
  return name === null ? null : { user: name, host, since: timeOf(user.startedAt) };
}

function partOf(part: Fields) {
  const error = text(part.error);
  return {
    status: PART_STATUSES.find((each) => each === part.status) ?? "unknown",
    version: text(part.version),
    error: error === null ? null : toolError(error, "unreachable"),
  } as const;
}

function errorsOf(answer: Fields, server: Fields): ToolError[] {
  const own = text(answer.error);
  const { code, message } = isObject(server.error) ? server.error : {};
  const said = text(message);
  return [
    ...(own === null ? [] : [toolError(own, "query")]),
    ...(said === null
      ? []
      : [toolError(said, code === "LICENSE_SERVER_UNREACHABLE" ? "unreachable" : "query")]),
  ];
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function countOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

function timeOf(value: unknown): number | null {
  const at = typeof value === "string" && beginsWithDate(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) || !/(?:Z|[+-]\d\d:\d\d)$/.test(String(value)) ? null : at;
}
