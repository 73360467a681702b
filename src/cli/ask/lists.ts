import type { DenialRecord, LoggingRecord } from "../../domain/denials.ts";
import type { AvailabilityRecord, OutageRecord } from "../../domain/outages.ts";
import { amountOf, countOf, escapeControls } from "../../domain/plain-text.ts";
import type { ExpirationRecord } from "../../domain/records.ts";
import { parseDuration, span } from "../../domain/time/clock.ts";
import { command, integer, optionOr, reader } from "../command.ts";
import { ASK, ask, LIMIT, minuteOf, PLAIN, printRows, RED, type Row, showList, YELLOW } from "./output.ts";
import { featuresNamed, NARROW } from "./who.ts";

/** Start of a range, as the API accepts it. `7d` is short for `-7d`. */
const since = reader((given) => {
  const back = given.replace(/^-/, "");
  if (parseDuration(back) !== null) return `-${back}`;
  return Number.isNaN(Date.parse(given)) ? null : given;
}, "Expected a duration back from now, e.g. 7d, or a time, e.g. 2026-01-31 (UTC without a zone).");
const sinceOr = (usual: string) =>
  optionOr("<time>", "start of the range: 7d, 12h, 2026-01-31", since, usual);

/** Returns `in the last 7d`, or `since 2026-01-31`. */
const sinceWords = (start: string) =>
  start.startsWith("-") ? `in the last ${start.slice(1)}` : `since ${start}`;

export const denials = command({
  args: [["[feature]", "only this feature; case-insensitive"]],
  options: { since: sinceOr("-1d"), ...NARROW, limit: LIMIT, ...ASK },
  async run({ args: [name], options }, io) {
    const { since: start, server, daemon } = options;
    const narrow = { server, daemon };
    const named = async (of: string) => featuresNamed(await ask(options, io), of, narrow);
    // Pass an unknown name on, so that the API fails and suggests the closest names.
    const known = name === undefined ? [] : await named(name).catch(() => []);
    const feature = known.length > 0 ? [...new Set(known.map((one) => one.name))] : name;
    const schema = async () => (await import("../../domain/denials.ts")).DenialRecord;
    const print = (list: readonly DenialRecord[], { logging }: { logging: readonly LoggingRecord[] }) => {
      const rows = list.map((denial): Row => {
        const { timestamp, user, host, count, attempts, outcome, reason } = denial;
        const who = `${user ?? ""}${host === null ? "" : `@${host}`}`;
        const what = [denial.feature ?? "", who, denial.server, String(count), String(attempts)];
        const paint = outcome === "denied" ? RED : PLAIN;
        const words = `${outcome.replace("_", " ")}${reason === null ? "" : `: ${reason}`}`;
        return [paint, minuteOf(timestamp, io.now()), ...what, words];
      });
      const heads = [">when", "feature", "user", "server", ">seats", ">times", "~outcome"];
      printRows(io, heads, rows, `No denials ${sinceWords(start)}.`);
      const unseen = logging.filter(({ state }) => state !== "on");
      for (const [why, of] of Map.groupBy(unseen, ({ state, message }) => message ?? state)) {
        const servers = of.map(({ server: id }) => id).join(", ");
        io.err(`${escapeControls(`Denials of ${servers} are not visible: ${why}`)}\n`);
      }
    };
    await showList(options, io, "denials", { start, ...narrow, feature }, schema, print);
  },
});

/** Number of days before its expiry from which a license is colored, and listed by `status`. */
export const SOON_DAYS = 30;

export const expiring = command({
  options: {
    days: optionOr("<days>", "days to look ahead", integer(0, 36_500, "Expected 0 to 36500."), 90),
    ...NARROW,
    limit: LIMIT,
    ...ASK,
  },
  async run({ options }, io) {
    const { days, server, daemon } = options;
    const schema = async () => (await import("../../domain/records.ts")).ExpirationRecord;
    const print = (list: readonly ExpirationRecord[]) => {
      const rows = list.map((one): Row => {
        const { daysLeft, expiresOn, feature, total, unit } = one;
        const paint = daysLeft === null || daysLeft >= SOON_DAYS ? PLAIN : daysLeft < 0 ? RED : YELLOW;
        const left = String(daysLeft ?? "?");
        const of = total === null || unit === "seats" ? String(total ?? "") : amountOf(total, unit);
        return [paint, expiresOn ?? "", left, feature, of, `${one.server}/${one.daemon}`];
      });
      const heads = [">expires", ">days", "feature", ">seats", "of"];
      printRows(io, heads, rows, `Nothing expires within ${countOf(days, "day")}.`);
    };
    await showList(options, io, "expirations", { days, server, daemon }, schema, print);
  },
});

export const outages = command({
  options: { since: sinceOr("-7d"), server: NARROW.server, limit: LIMIT, ...ASK },
  async run({ options }, io) {
    const { since: start, server } = options;
    const schema = async () => (await import("../../domain/outages.ts")).OutageRecord;
    type Beside = { readonly servers: readonly AvailabilityRecord[] };
    const print = (list: readonly OutageRecord[], beside: Beside) => {
      const rows = list.map((outage): Row => {
        const { status, startedAt, endedAt, durationSeconds, reason } = outage;
        const until = endedAt === null ? "ongoing" : minuteOf(endedAt, io.now());
        const times = [minuteOf(startedAt, io.now()), until, span(durationSeconds * 1_000)];
        return [status === "down" ? RED : YELLOW, outage.server, status, ...times, reason ?? ""];
      });
      const heads = ["server", "status", ">from", ">to", ">for", "~reason"];
      printRows(io, heads, rows, `No outages ${sinceWords(start)}.`);
      const percent = (value: number | null) => (value === null ? "?" : `${value} %`);
      const servers = beside.servers.map(({ server: id, availability, coverage }): Row => {
        return [PLAIN, id, percent(availability), percent(Math.round(coverage * 10_000) / 100)];
      });
      if (rows.length > 0) io.out("\n");
      printRows(io, ["server", ">available", ">monitored"], servers, "No servers configured.");
    };
    // Show ongoing outages first, because they may have begun long before the others.
    const goesOn = ({ endedAt }: OutageRecord) => endedAt === null;
    await showList(options, io, "outages", { start, server }, schema, print, goesOn);
  },
});
