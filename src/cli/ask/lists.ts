import type { DenialRecord } from "../../domain/denials.ts";
import type { ExpirationRecord } from "../../domain/records.ts";
import { parseDuration } from "../../domain/time/clock.ts";
import { command, integer, optionOr, reader, text } from "../command.ts";
import { countOf } from "../io.ts";
import type { Cell } from "../terminal.ts";
import { ASK, expiryCell, LIMIT, minuteOf, printList, printRows, RED, span, YELLOW } from "./output.ts";

/** Beginning of a range, as the API takes it: `7d` may stand for `-7d`. */
const since = reader(
  (given) =>
    parseDuration(given.replace(/^-/, "")) !== null
      ? `-${given.replace(/^-/, "")}`
      : Number.isNaN(Date.parse(given))
        ? null
        : given,
  "It takes a duration back from now, e.g. 7d, or a time, e.g. 2026-01-31 (UTC without a zone).",
);
const sinceOr = (usual: string) => optionOr("<time>", `from when on: 7d, 12h, 2026-01-31`, since, usual);

/** `in the last 7d`, or `since 2026-01-31`. */
const sinceWords = (start: string) =>
  start.startsWith("-") ? `in the last ${start.slice(1)}` : `since ${start}`;
const SERVER = text("<id>", "only of this server");

/** `licmond denials`: who was turned away. */
export const denials = command({
  args: [["[feature]", "only of this feature"]],
  options: { since: sinceOr("-1d"), server: SERVER, limit: LIMIT, ...ASK },
  async run({ args: [feature], options }, io) {
    const { since: start, server } = options;
    const query = { start, server, feature };
    const heads = [">when", "feature", "user", "host", ">seats", ">times", "outcome", "server", "reason"];
    await printList<DenialsAnswer>(options, io, "denials", query, (answer) => {
      const rows = answer.denials.map((denial): Cell[] => [
        minuteOf(denial.timestamp),
        denial.feature ?? "",
        denial.user ?? "",
        denial.host ?? "",
        String(denial.count),
        String(denial.attempts),
        denial.outcome === "denied" ? [OUTCOMES.denied, RED] : OUTCOMES[denial.outcome],
        denial.server,
        denial.reason ?? "",
      ]);
      printRows(io, heads, rows, `No denial is known ${sinceWords(start)}.`);
      for (const { server: id, state, message } of answer.logging)
        if (state !== "on") io.err(`Denials of ${id} cannot be seen: ${message ?? state}\n`);
    });
  },
});

interface DenialsAnswer {
  readonly denials: readonly DenialRecord[];
  readonly total: number;
  readonly logging: readonly { server: string; state: string; message: string | null }[];
}

const OUTCOMES: Readonly<Record<DenialRecord["outcome"], string>> = {
  denied: "denied",
  granted_later: "granted later",
  queued: "queued",
};

/** `licmond expiring`: what has expired, and what will soon. */
export const expiring = command({
  options: {
    days: optionOr("<days>", "how far to look", integer(0, 36_500, "It takes 0 to 36500."), 90),
    server: SERVER,
    limit: LIMIT,
    ...ASK,
  },
  async run({ options }, io) {
    const { days, server } = options;
    const heads = [">expires", ">days", "feature", ">seats", "of"];
    await printList<ExpirationsAnswer>(options, io, "expirations", { days, server }, (answer) => {
      const rows = answer.expirations.map((one): Cell[] => [
        expiryCell(one.expiresAt, one.expiresOn, io.now()),
        String(one.daysLeft ?? "?"),
        one.feature,
        String(one.total ?? ""),
        `${one.server}/${one.daemon}`,
      ]);
      printRows(io, heads, rows, `Nothing expires within ${countOf(days, "day")}.`);
    });
  },
});

interface ExpirationsAnswer {
  readonly expirations: readonly ExpirationRecord[];
  readonly total: number;
}

/** `licmond outages`: when servers were not up, and how much of the time they were. */
export const outages = command({
  options: { since: sinceOr("-7d"), server: SERVER, limit: LIMIT, ...ASK },
  async run({ options }, io) {
    const { since: start, server } = options;
    await printList<OutagesAnswer>(options, io, "outages", { start, server }, (answer) => {
      const rows = answer.outages.map((outage): Cell[] => [
        outage.server,
        outage.status === "down" ? [outage.status, RED] : [outage.status, YELLOW],
        minuteOf(outage.startedAt),
        outage.endedAt === null ? "goes on" : minuteOf(outage.endedAt),
        span(outage.durationSeconds * 1_000),
        outage.reason ?? "",
      ]);
      printRows(
        io,
        ["server", "status", ">from", ">to", ">for", "reason"],
        rows,
        `No outage ${sinceWords(start)}.`,
      );
      const percent = (value: number | null) => (value === null ? "?" : `${value} %`);
      const servers = answer.servers.map(({ server: id, availability, coverage }) => [
        id,
        percent(availability),
        percent(Math.round(coverage * 10_000) / 100),
      ]);
      if (rows.length > 0) io.out("\n");
      printRows(io, ["server", ">available", ">looked at"], servers, "No server is configured.");
    });
  },
});

/** What the API answers of outages. */
interface OutagesAnswer {
  readonly outages: readonly {
    readonly server: string;
    readonly status: string;
    readonly reason: string | null;
    readonly startedAt: string;
    readonly endedAt: string | null;
    readonly durationSeconds: number;
  }[];
  readonly total: number;
  readonly servers: readonly { server: string; availability: number | null; coverage: number }[];
}
