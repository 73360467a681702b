import {
  type Alert,
  type AlertRule,
  type AlertSubject,
  daemonDownMessage,
  deniedMessage,
  heldMessage,
} from "../domain/alerts.ts";
import type { Denial } from "../domain/denials.ts";
import type { CheckoutPicture, FeaturePicture, ServerPicture } from "../domain/picture.ts";
import { amountOf, countOf, namesOf } from "../domain/plain-text.ts";
import { percent } from "../domain/polls/feature-picture.ts";
import { poolOf, sharedSets, sumOfKnown } from "../domain/polls/seat-groups.ts";
import { worstOfEach } from "../domain/polls/server-status.ts";
import type { Expiry } from "../domain/reading.ts";
import { holderName, userKey } from "../domain/session.ts";
import { daysLeft } from "../domain/stats/calendar.ts";
import { clockMessage, DAY_MS, HOUR_MS, iso } from "../domain/time/clock.ts";
import { type DataState, NO_SEAT_CODES } from "../domain/words.ts";
import { type TotalChange, totalMessage } from "./baseline.ts";
import type { SubjectSettings } from "./settings.ts";
import type { Patience, Watch } from "./watch.ts";

/** Alert rules: patience, subjects, severity and message. Pure. `evaluator.ts` applies them. */

/** Year from which an expiry date means "permanent", because some vendors write such dates. */
const FIRST_PERMANENT_YEAR = 2090;
/**
 * Percentages of the file system in use from which the disk alert is a warning or critical. From the
 * critical value on, health reports the disk as degraded.
 */
const DISK_WARNING = 90;
const DISK_CRITICAL = 95;
/** Percentage of `[fleet] outbox_size` in use from which the outbox alert is a warning. */
const OUTBOX_WARNING = 80;

/** Subject of an alert within its server. */
export type About = Pick<AlertSubject, "daemon" | "feature" | "detail">;
export type Finding = Pick<Alert, "severity" | "message" | "value" | "threshold">;

export interface Rule<Thing> {
  readonly rule: AlertRule;
  readonly patience: Patience;
  /** Returns 0 for fine and more for worse. Null means unknown, which neither fires nor resolves an alert. */
  level(thing: Thing, settings: SubjectSettings, at: number, watch: Watch): number | null;
  /**
   * `level` is the level of the alert after its waiting times, at least 1. The observation itself may be at
   * a higher or lower level.
   */
  finding(thing: Thing, level: number, settings: SubjectSettings, at: number, watch: Watch): Finding;
}

export interface PictureRule<Thing> extends Rule<Thing> {
  of(picture: ServerPicture, settingsOf: SettingsOfFeature): Iterable<Thing>;
  about(thing: Thing): About;
}

type SettingsOfFeature = (daemon: string, feature: string) => SubjectSettings;

/** A rule about events. Its alert ends if no further event follows within `lastsMs`. */
export interface HappeningRule<Thing> {
  readonly rule: AlertRule;
  readonly lastsMs: number;
  finding(thing: Thing): Finding;
}

export interface HostLook {
  readonly disk: number | null;
  /** By how much the clock is ahead of the stored time; negative means behind, null means trusted. */
  readonly clockDoubtMs: number | null;
  /**
   * Percentage of the fleet's outbox in use, and whether facts were dropped since the hub last answered;
   * null without a fleet.
   */
  readonly outbox: { readonly percent: number; readonly dropped: boolean } | null;
}

export type Denied = Pick<Denial, "server" | "daemon" | "feature" | "count" | "at" | "code"> &
  Partial<Pick<Denial, "reason">>;

export const THE_SERVER: About = { daemon: null, feature: null, detail: null };

const SERVER = { of: (picture: ServerPicture) => [picture], about: () => THE_SERVER };
const aboutFeature = ({ daemon, name }: FeaturePicture): About => ({ daemon, feature: name, detail: null });

/**
 * Seats of a feature. For a seat group, this is one entry with the seats of all members, under the first
 * name.
 */
interface Seats extends FeaturePicture {
  /** Names of all members of the group. */
  readonly members?: readonly string[];
}

/** Returns each set of seats once. Stale, failed or partial numbers neither fire nor resolve an alert. */
function seatsIn({ features }: ServerPicture): Seats[] {
  const sets = sharedSets(features).filter((set) => set.every(({ state }) => state === "ok"));
  return sets.flatMap((set) => (set.length === 1 ? set : groupOf(set)));
}

function groupOf(set: readonly FeaturePicture[]): Seats[] {
  const byName = set.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const pool = poolOf(set);
  const { total, used } = pool;
  const utilization = total === null || used === null ? null : percent(used, total);
  const queued = sumOfKnown(set.map((member) => member.queued));
  const members = byName.map(({ name }) => name);
  return byName.slice(0, 1).map((first) => ({ ...first, ...pool, utilization, queued, members }));
}

type Say = (message: string, value?: number | null, threshold?: number | null) => Finding;
const [info, warning, critical] = (["info", "warning", "critical"] as const).map(
  (severity): Say =>
    (message, value = null, threshold = null) => ({ severity, message, value, threshold }),
) as [Say, Say, Say];

/** Also evaluated by time, because a date comes closer whether or not the server answers. */
export const EXPIRY = row({
  rule: "expiry",
  patience: "none",
  of: ({ server, features }) => features.map((feature) => ({ feature, zone: server.timezone })),
  about: ({ feature }) => aboutFeature(feature),
  /**
   * The level is the number of limits that were reached, plus one after expiry. Only a fresh reading proves
   * a renewal, so for any other reading level 0 counts as unknown.
   */
  level({ feature: { expiry, state }, zone }, { expiryDays }, at) {
    const days = isPermanent(expiry) ? Number.POSITIVE_INFINITY : daysLeft(expiry, zone, at);
    if (days === null) return null;
    const level = days < 0 ? expiryDays.length + 1 : expiryDays.filter((limit) => days <= limit).length;
    return level === 0 && !isFresh(state) ? null : level;
  },
  finding({ feature: { name, expiry }, zone }, _level, { expiryDays }, at) {
    const days = daysLeft(expiry, zone, at) ?? 0;
    if (days < 0) return critical(`The license of ${name} expired on ${expiry.expiresOn}`, days, 0);
    const when = days === 0 ? "today" : days === 1 ? "tomorrow" : `in ${days} days`;
    const passed = expiryDays.filter((limit) => days <= limit);
    const limit = passed.length === 0 ? 0 : Math.min(...passed);
    return warning(`The license of ${name} expires on ${expiry.expiresOn}, ${when}`, days, limit);
  },
});

/** Time after a denial during which the feature counts as having more demand than seats. */
const DEMAND_MS = HOUR_MS;
/** Number of percentage points below the warning level at which a shortage ends. */
const ENDS_BELOW = 5;

/**
 * Seats of a feature run short: nearly all or all are in use, or users wait. One alert covers all cases;
 * its severity changes with them. Also evaluated by time, so that the alert fires when `for` ends instead
 * of at the next poll.
 */
export const SEATS = row({
  rule: "seats",
  patience: "seats",
  of: seatsIn,
  about: aboutFeature,
  level({ utilization, queued, used, unlimited }, settings, at, { level: firing, denied }) {
    // Unlimited or uncounted features have no percentage but may have a queue.
    if (utilization === null && queued === null) return used === null && !unlimited ? null : 0;
    const { usageWarning, usageCritical, criticalNeedsDemand } = settings;
    const use = utilization ?? 0;
    const isAskedFor = denied !== undefined && at - denied.lastAt < DEMAND_MS;
    if ((queued ?? 0) > 0) return 2;
    if (use >= usageCritical && (isAskedFor || !criticalNeedsDemand)) return 2;
    const least = Math.min(usageWarning, usageCritical);
    return use >= (firing > 0 ? least - ENDS_BELOW : least) ? 1 : 0;
  },
  finding(feature, level, { usageWarning, usageCritical }, _at, { denied }) {
    const { utilization, queued } = feature;
    const limit = utilization === null ? null : level === 2 ? usageCritical : usageWarning;
    const waiting = (queued ?? 0) > 0 ? `requests for ${amountOf(queued ?? 0, feature.unit)} wait` : null;
    const refused = denied === undefined ? null : `${countOf(denied.count, "request")} denied since it began`;
    const message = [useOf(feature), waiting, refused].filter((part) => part !== null).join("; ");
    return (level === 2 ? critical : warning)(message, utilization, limit);
  },
});

function useOf({ name, members, used, total, utilization, unit = "seats" }: Seats): string {
  const of = `of ${members === undefined ? name : namesOf(members)}`;
  if (utilization === null)
    return used === 1
      ? `${amountOf(1, unit)} ${of} is in use`
      : `${used ?? "An unknown number of"} ${unit} ${of} are in use`;
  if (used !== total) return `${utilization} % of the ${unit} ${of} are in use (${used} of ${total})`;
  return total === 1
    ? `The only ${unit.slice(0, -1)} ${of} is in use`
    : `All ${total} ${unit} ${of} are in use`;
}

/** Reports whether a denial means that a feature has too few seats. */
export function isForWantOfSeats({ feature, code }: Pick<Denied, "feature" | "code">): boolean {
  return feature !== null && (code === null || NO_SEAT_CODES.includes(code));
}

export const PICTURE_RULES: readonly PictureRule<unknown>[] = [
  /** The server is down. A server of unknown status is neither down nor up. */
  row({
    rule: "server_down",
    patience: "poll",
    ...SERVER,
    level: ({ status }) => (status === "unknown" ? null : status === "down" ? 1 : 0),
    finding: ({ server, error }) => critical(`${server.id} is down${reason(error)}`),
  }),
  /**
   * Some members or daemons work and others do not. While the server is down, this rule neither fires nor
   * resolves.
   */
  row({
    rule: "server_degraded",
    patience: "poll",
    ...SERVER,
    level: ({ status }) => (status === "degraded" ? 1 : status === "up" ? 0 : null),
    finding({ server, members, daemons, error }) {
      const lost = [...members.map(({ host, status }) => ({ name: host, status })), ...daemons]
        .filter(({ status }) => status === "down")
        .map(({ name }) => name);
      const why = lost.length === 0 ? reason(error) : `: ${lost.join(", ")} down`;
      return warning(`${server.id} is degraded${why}`);
    },
  }),
  row({
    rule: "daemon_down",
    patience: "poll",
    of: ({ server, daemons }) => worstOfEach(daemons).map((daemon) => ({ server, daemon })),
    about: ({ daemon }) => ({ daemon: daemon.name, feature: null, detail: null }),
    level: ({ daemon: { status } }) => (status === "unknown" ? null : status === "down" ? 1 : 0),
    finding: ({ server, daemon: { name, error } }) =>
      critical(`${daemonDownMessage(server.id, name)}${reason(error)}`),
  }),
  /**
   * Polls fail to read the server although it is not known to be down, e.g. because the tool is missing or
   * its output is not recognized.
   */
  row({
    rule: "stale",
    patience: "poll",
    ...SERVER,
    level: ({ status, state }) => (status === "down" ? null : isFresh(state) ? 0 : 1),
    finding({ server, collectedAt, error }) {
      const never = collectedAt === null;
      const what = never ? `${server.id} could never be read` : `The numbers of ${server.id} are stale`;
      return warning(`${what}${reason(error)}`);
    },
  }),
  SEATS,
  /**
   * Checkouts held for longer than `held_hours`, one subject per user and host. Sorted longest first, because
   * alerts are numbered in this order and the tool's order may be by name.
   */
  row({
    rule: "held_too_long",
    patience: "none",
    of: holders,
    about: ({ daemon, name, detail }) => ({ daemon, feature: name, detail }),
    level: ({ since }, { heldHours }, at) => (at - since > heldHours * HOUR_MS ? 1 : 0),
    finding({ name, unit, since, who }, _level, { heldHours }, at) {
      const hours = Math.floor(((at - since) / HOUR_MS) * 10) / 10;
      return warning(heldMessage(who, name, hours, heldHours, unit), hours, heldHours);
    },
  }),
  EXPIRY,
];

export const UNPOLLED: Rule<{ readonly server: string; readonly due: number }> = {
  rule: "stale",
  patience: "none",
  level: () => 1,
  finding: ({ server, due }) => warning(`${server} has not been polled since ${iso(due)}`),
};

/** Duration of an alert after which its number of unrecognized lines counts as usual. */
export const USUAL_AFTER_MS = DAY_MS;

/** More lines of the output than usual are unrecognized. */
export const UNPARSED: Rule<{ readonly server: string; readonly lines: number; readonly usual: number }> = {
  rule: "unparsed",
  patience: "poll",
  level: ({ lines, usual }) => (lines > usual ? 1 : 0),
  finding: ({ server, lines, usual }) =>
    info(
      `${countOf(lines, "line")} of the output of ${server} ${lines === 1 ? "is" : "are"} not recognized (usually ${usual})`,
      lines,
      usual,
    ),
};

export const HOST_RULES: readonly Rule<HostLook>[] = [
  {
    rule: "disk",
    patience: "poll",
    level: ({ disk }) => (disk === null ? null : diskLevel(disk)),
    finding({ disk }, level) {
      const message = `${disk} % of the file system that holds the database is in use`;
      return level === 2 ? critical(message, disk, DISK_CRITICAL) : warning(message, disk, DISK_WARNING);
    },
  },
  /** The clock differs from the stored time. */
  {
    rule: "clock",
    patience: "none",
    level: ({ clockDoubtMs }) => (clockDoubtMs === null ? 0 : 1),
    finding: ({ clockDoubtMs }) =>
      warning(clockMessage(clockDoubtMs ?? 0), Math.trunc((clockDoubtMs ?? 0) / DAY_MS), 1),
  },
  /**
   * The outbox for the hub is nearly full, or facts were dropped from it. The days of dropped facts are
   * sent as a whole once the hub answers.
   */
  {
    rule: "outbox",
    patience: "poll",
    level: ({ outbox }) => (outbox?.dropped ? 2 : (outbox?.percent ?? 0) >= OUTBOX_WARNING ? 1 : 0),
    finding: ({ outbox }, level) =>
      level === 2
        ? critical("Facts for the hub were dropped: once the hub answers, it gets whole days instead")
        : warning(
            `${outbox?.percent ?? 0} % of outbox_size waits for the hub`,
            outbox?.percent,
            OUTBOX_WARNING,
          ),
  },
];

export const TOTALS_CHANGED: HappeningRule<TotalChange> = {
  rule: "totals_changed",
  lastsMs: DAY_MS,
  finding: (change) => warning(totalMessage(change), change.to ?? null, change.from ?? null),
};

export const DENIALS: HappeningRule<
  Pick<AlertSubject, "daemon" | "feature"> & Pick<Denied, "count" | "reason">
> = {
  rule: "denials",
  lastsMs: HOUR_MS,
  finding: ({ daemon, feature, count, reason = null }) =>
    warning(`${deniedMessage(daemon, feature)}${reason === null ? "" : `: ${reason}`}`, count, 0),
};

/** Returns 0 for fine, 1 for warning, 2 for critical. */
export function diskLevel(percent: number): 0 | 1 | 2 {
  return percent >= DISK_CRITICAL ? 2 : percent >= DISK_WARNING ? 1 : 0;
}

function isPermanent({ expiresOn, permanent }: Expiry): boolean {
  return permanent || Number(expiresOn?.slice(0, 4)) >= FIRST_PERMANENT_YEAR;
}

function isFresh(state: DataState): boolean {
  return state === "ok" || state === "partial";
}

interface Holder extends Pick<FeaturePicture, "daemon" | "name" | "unit"> {
  readonly detail: string;
  readonly who: string;
  readonly since: number;
}

function holders({ features }: ServerPicture, settingsOf: SettingsOfFeature): Holder[] {
  const watched = features.filter(
    ({ daemon, name, state }) => state === "ok" && settingsOf(daemon, name).heldHours > 0,
  );
  return sharedSets(watched)
    .flat()
    .flatMap(({ daemon, name, unit = "seats", checkouts }) => {
      const longest = longestByHolder(checkouts).entries();
      return [...longest].map(([detail, holder]) => ({ daemon, name, unit, detail, ...holder }));
    })
    .sort((a, b) => a.since - b.since);
}

/**
 * Returns the longest-held seat of each holder. Borrowed seats are away for days on purpose and do not count.
 */
function longestByHolder(checkouts: readonly CheckoutPicture[]) {
  const longest = new Map<string, Pick<Holder, "since" | "who">>();
  for (const { user, host, borrowed, beganAt, startedAt } of checkouts) {
    const since = beganAt ?? startedAt;
    if (borrowed || since === null) continue;
    const detail = `${userKey(user)}\0${host?.toLowerCase() ?? ""}`;
    const known = longest.get(detail);
    if (known === undefined || since < known.since)
      longest.set(detail, { since, who: holderName({ user, host }) });
  }
  return longest;
}

function reason(error: { readonly message: string } | null): string {
  return error === null ? "" : `: ${error.message}`;
}

/** Erases the type of a rule's subjects, after checking the rule against its own type. */
function row<Thing>(rule: PictureRule<Thing>): PictureRule<unknown> {
  return rule;
}
