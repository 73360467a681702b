import { DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/time/clock.ts";
import { wallClock } from "../domain/time/zone.ts";
import { type Week, weekAt, weekOf } from "./calendar.ts";
import { hash } from "./random.ts";
import type { Grant, Schedule } from "./seats.ts";
import type { Site } from "./site.ts";
import type { FeatureSpec, ServerSpec } from "./spec.ts";

interface Line {
  readonly at: number;
  /** Order among the lines of one second. Lines that free a seat come first. */
  readonly order: number;
  readonly daemon: string;
  readonly message: string;
}

/** Maximum number of DENIED lines of a denied request, and the time between them. */
const RETRIES = 3;
const RETRY_MS = 40_000;
const FULL = '(Licensed number of users already reached. (-4,342:10054 ""))';
/** Creates the log of lmgrd and its vendor daemons. */
export function createSimulatedLog(site: Site, server: ServerSpec) {
  const { seed } = site;
  let last = { index: Number.NaN, lines: [] as readonly Line[] };

  function linesOf(index: number): readonly Line[] {
    if (last.index === index) return last.lines;
    const week = weekOf(site.clock, index);
    // The week ends in the first hours of the next Monday.
    const midnights = [...week.midnights, ...weekOf(site.clock, index + 1).midnights.slice(0, 1)];
    const lines = [
      ...midnights.flatMap((midnight) => datesOf(site.clock.zone, server, midnight)),
      ...greedyLines(seed, server, week),
      ...server.features.flatMap((feature) =>
        featureLines(seed, server, feature, site.schedule(server, feature, week.startsAt)),
      ),
    ].filter(({ at }) => at >= week.startsAt && at < week.endsAt);
    lines.sort((a, b) => a.at - b.at || a.order - b.order);
    last = { index, lines };
    return lines;
  }

  /** Returns the lines of [from, to), epoch ms. Adjacent parts make the whole log. */
  return function text(from: number, to: number): string {
    const parts: string[] = [];
    for (let index = weekAt(site.clock, from).index; weekOf(site.clock, index).startsAt < to; index++) {
      for (const { at, daemon, message } of linesOf(index)) {
        if (at >= from && at < to) parts.push(`${clockOf(site.clock.zone, at)} (${daemon}) ${message}\n`);
      }
    }
    return parts.join("");
  };
}

function featureLines(seed: number, server: ServerSpec, feature: FeatureSpec, played: Schedule): Line[] {
  const { daemon, name } = feature;
  const lines: Line[] = [];
  const add = (at: number, order: number, message: string) =>
    lines.push({ at: Math.floor(at / 1000) * 1000, order, daemon, message });
  const what = ({ request: { actor, count } }: Pick<Grant, "request">) =>
    `"${name}" ${actor.user}@${actor.host}  ${count > 1 ? `(${count} licenses) ` : ""}`;

  for (const grant of played.grants) {
    const { startedAt, endsAt, pool } = grant;
    // The first pool was full if the seat is from another pool. The log then shows a denial that the client
    // does not notice.
    if (pool > 0) add(startedAt, 1, `DENIED: ${what(grant)}${FULL}`);
    add(startedAt, 2, `OUT: ${what(grant)}`);
    add(endsAt, 0, `IN: ${what(grant)}`);
  }
  for (const wait of played.waits) {
    add(wait.from, 1, `QUEUED: ${what(wait)}`);
    add(wait.to, 1, `DEQUEUED: ${what(wait)}`);
  }
  for (const denial of played.denials) {
    const tries = 1 + (hash(seed, server.id, name, denial.at, "tries") % RETRIES);
    for (let index = 0; index < tries; index++) {
      add(denial.at + index * RETRY_MS, 1, `DENIED: ${what(denial)}${FULL}`);
    }
  }
  return lines;
}

function greedyLines(seed: number, server: ServerSpec, { startsAt, endsAt }: Week): Line[] {
  const { greedyJob: job, staff } = server;
  const feature = server.features.find(({ name }) => name === job?.feature);
  if (job === undefined || feature === undefined) return [];
  const minute = hash(seed, server.id, "greedy") % 60;
  const message = `DENIED: "${feature.name}" regress@cn-${staff.site}-0001  (${job.seats} licenses) ${FULL}`;
  const lines: Line[] = [];
  for (let at = Math.ceil(startsAt / HOUR_MS) * HOUR_MS + minute * MINUTE_MS; at < endsAt; at += HOUR_MS) {
    for (let again = 0; again < RETRIES; again++)
      lines.push({ at: at + again * RETRY_MS, order: 1, daemon: feature.daemon, message });
  }
  return lines;
}

/** lmgrd and each daemon print the date every six hours (`ls_timestamp`). */
function datesOf(zone: string, { daemons }: ServerSpec, midnight: number): Line[] {
  return [0, 6, 12, 18].flatMap((hour) => {
    const at = Math.min(midnight + hour * HOUR_MS, midnight + DAY_MS) + 3_000;
    const local = new Date(wallClock(zone, at));
    const date = `${local.getUTCMonth() + 1}/${local.getUTCDate()}/${local.getUTCFullYear()}`;
    return ["lmgrd", ...daemons.map(({ name }) => name)].map((daemon) => ({
      at,
      order: 0,
      daemon,
      message: `TIMESTAMP ${date}`,
    }));
  });
}

function clockOf(zone: string, at: number): string {
  const local = new Date(wallClock(zone, at));
  const two = (number: number) => String(number).padStart(2, "0");
  return `${String(local.getUTCHours()).padStart(2)}:${two(local.getUTCMinutes())}:${two(local.getUTCSeconds())}`;
}
