import type { AlertRecord, Severity } from "../../domain/alerts.ts";
import type { LoggingRecord } from "../../domain/denials.ts";
import { featureIdKey } from "../../domain/history.ts";
import { countOf } from "../../domain/plain-text.ts";
import type { ExpirationRecord, ServerRecord, SummaryRecord } from "../../domain/records.ts";
import { span } from "../../domain/time/clock.ts";
import type { Client } from "../client/client.ts";
import { command } from "../command.ts";
import type { CommandIo } from "../io.ts";
import { SOON_DAYS } from "./lists.ts";
import {
  ASK,
  ask,
  type Features,
  licenses,
  PLAIN,
  printLine,
  RED,
  type Row,
  seatsOf,
  show,
  tableOf,
  YELLOW,
} from "./output.ts";

const USUAL_ROWS = 24;

export const status = command({
  options: ASK,
  async run({ options }, io) {
    const answers = await askAll(await ask(options, io));
    const parts = { Wrong: wrongOf(answers), Full: fullOf(answers), Expiring: expiringOf(answers) };
    const rows = Object.entries(parts).flatMap(([part, findings]) =>
      findings.map((finding) => ({ part, ...finding })),
    );
    const schema = async () => ({ properties: COLUMNS });
    await show(options, io, answers, rows, schema, () => {
      const head = headOf(answers, io.now());
      for (const line of head) printLine(io, line);
      const filled = Object.entries(parts).filter(([, findings]) => findings.length > 0);
      // Besides its lines, each part has a blank line and a title. The last line is left for the prompt.
      const left = (io.terminal.rows ?? USUAL_ROWS) - 1 - head.length - 2 * filled.length;
      const wanted = filled.map(([, findings]) => findings.length);
      const lines = fairShare(left, wanted);
      for (const [part, findings] of filled) printPart(io, part, findings, lines);
    });
  },
});

const COLUMNS = { part: {}, severity: {}, server: {}, feature: {}, message: {}, since: {} };

type Answers = Awaited<ReturnType<typeof askAll>>;

async function askAll(client: Client) {
  const get = <T>(...path: Parameters<typeof licenses>) => client.get<T>(licenses(...path));
  const [summary, { servers }, { alerts }, { features }, { expirations }, { logging }] = await Promise.all([
    get<SummaryRecord>("summary"),
    get<{ servers: readonly ServerRecord[] }>("servers"),
    get<{ alerts: readonly AlertRecord[] }>("alerts", { state: "firing", limit: 10_000 }),
    get<Features>("features", { min_utilization: 100, sort: "-queued" }),
    get<{ expirations: readonly ExpirationRecord[] }>("expirations", { days: SOON_DAYS, limit: 10_000 }),
    get<{ logging: readonly LoggingRecord[] }>("denials", { start: "-1h", limit: 1 }),
  ]);
  return { summary, servers, alerts, features, expirations, logging };
}

interface Finding {
  readonly severity: Severity;
  readonly server: string | null;
  readonly feature: string | null;
  readonly message: string;
  readonly since: string | null;
}

/**
 * Rules of alerts that other parts of the screen always show. An alert of the rule `seats` is left out only
 * while its feature is shown as full.
 */
const ELSEWHERE: readonly string[] = ["expiry", "server_down", "server_degraded"];
/** Rules of alerts that are left out while their server is listed as down, degraded or unknown. */
const WITH_SERVER: readonly string[] = ["daemon_down", "stale"];

function wrongOf({ servers, alerts, features, logging }: Answers): Finding[] {
  const full = new Set(
    features.map(({ server, daemon, name }) => featureIdKey({ server, daemon, feature: name })),
  );
  const absent = servers.filter(({ enabled, status: is }) => enabled && is !== "up");
  const ofServers = absent.map((one): Finding => {
    const { id, status: is, error, members, daemons } = one;
    const parts = [...members.map((part) => ({ ...part, name: part.host })), ...daemons];
    const down = parts.filter((part) => part.status === "down").map(({ name }) => `${name} is down`);
    const why = error?.message ?? (down.join(", ") || (one.collectedAt === null ? "no data yet" : ""));
    const known = alerts.find(({ server, rule }) => server === id && /^(server_|stale$)/.test(rule));
    const severity = is === "down" ? "critical" : "warning";
    return { severity, server: id, feature: null, message: `${is}: ${why}`, since: known?.startedAt ?? null };
  });
  const others = alerts.filter(({ rule, server, daemon, feature }) => {
    const isTold =
      (WITH_SERVER.includes(rule) && absent.some(({ id }) => id === server)) ||
      (rule === "seats" && full.has(featureIdKey({ server, daemon, feature })));
    return !isTold && !ELSEWHERE.includes(rule);
  });
  const ofAlerts = others.map(
    ({ severity, server, feature, message, startedAt: since, acknowledged }): Finding => {
      const words = `${message}${acknowledged ? " (acknowledged)" : ""}`;
      return { severity, server, feature, message: words, since };
    },
  );
  const unseen = logging.filter(({ state }) => state === "unreadable");
  const ofLogs = unseen.map(({ server, message }): Finding => {
    const words = `denials are not visible: ${message}`;
    return { severity: "warning", server, feature: null, message: words, since: null };
  });
  const order = ["critical", "warning", "info"];
  const rank = ({ severity }: Finding) => order.indexOf(severity);
  return [...ofServers, ...ofLogs, ...ofAlerts].sort((a, b) => rank(a) - rank(b));
}

function fullOf({ features, alerts }: Answers): Finding[] {
  const seats = alerts.filter(({ rule }) => rule === "seats");
  const told = new Map(seats.map((alert) => [featureIdKey(alert), alert]));
  return features.map((feature) => {
    const { server, daemon, name, queued, state } = feature;
    const known = told.get(featureIdKey({ server, daemon, feature: name }));
    const waiting = queued ? `, ${queued} waiting` : "";
    const message = `${seatsOf(feature)} in use${waiting}${state === "ok" ? "" : ` (${state})`}`;
    const severity = queued ? "critical" : (known?.severity ?? "warning");
    return { severity, server, feature: name, message, since: known?.startedAt ?? null };
  });
}

function expiringOf({ expirations }: Answers): Finding[] {
  const groups = Map.groupBy(expirations, ({ server, expiresOn }) => `${expiresOn} ${server}`);
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { server, expiresOn, daysLeft } = first;
    const days = daysLeft ?? 0;
    const when = days < 0 ? `${-days} d ago` : days === 0 ? "today" : `in ${days} d`;
    const names = [...new Set(group.map(({ feature }) => feature))];
    const message = `${expiresOn}, ${when}: ${names.join(", ")}`;
    return { severity: days < 0 ? "critical" : "warning", server, feature: null, message, since: null };
  });
}

function headOf({ summary, servers }: Answers, now: number): string[] {
  const { seats, users, queued, staleFeatures, features } = summary;
  const counts = Object.entries(summary.servers).filter(([, count]) => count > 0);
  const states = counts.map(([is, count]) => `${count} ${is}`).join(", ");
  const waiting = queued === 0 ? "" : `, ${queued} waiting`;
  const use = `${seats.used ?? "?"} of ${seats.total ?? "?"} seats in use by ${countOf(users, "user")}${waiting}`;
  const enabled = servers.filter((server) => server.enabled);
  const ages = enabled.flatMap(({ collectedAt: at }) => (at === null ? [] : [now - Date.parse(at)]));
  const [youngest, oldest] = [span(Math.min(...ages)), span(Math.max(...ages))];
  const age = youngest === oldest ? youngest : `${youngest}–${oldest}`;
  const never = enabled.length - ages.length;
  const read = [
    ...(ages.length === 0 ? [] : [`Data is ${age} old`]),
    ...(never === 0 ? [] : [`${countOf(never, "server")} never read`]),
    ...(staleFeatures === 0 ? [] : [`${staleFeatures} of ${countOf(features, "feature")} stale`]),
  ];
  return [`Servers: ${states || "none"}. ${use}.`, ...(read.length === 0 ? [] : [`${read.join("; ")}.`])];
}

const PAINTS: Readonly<Record<Severity, string>> = { critical: RED, warning: YELLOW, info: PLAIN };

/** Prints a part with at most `lines` lines below its title; the last line counts the omitted ones. */
function printPart(io: CommandIo, part: string, findings: readonly Finding[], lines: number): void {
  const shown = findings.length > lines ? findings.slice(0, Math.max(0, lines - 1)) : findings;
  const rows = shown.map(({ severity, server, feature, message, since }): Row => {
    const age = since === null ? "" : span(io.now() - Date.parse(since));
    return [PAINTS[severity], server ?? "licmond", feature ?? "", message, age];
  });
  const heads = [`${part} ${findings.length}`, "", "", ">for"];
  const table = rows.length === 0 ? heads.slice(0, 1) : tableOf(io, heads, rows);
  const more = shown.length < findings.length ? [`… and ${findings.length - shown.length} more`] : [];
  io.out(`\n${[...table, ...more].join("\n")}\n`);
}

export function fairShare(lines: number, wanted: readonly number[]): number {
  const used = (most: number) => wanted.reduce((sum, want) => sum + Math.min(want, most), 0);
  let most = 0;
  while (most < lines && used(most + 1) <= lines) most += 1;
  return most;
}
