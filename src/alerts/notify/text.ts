import { type AlertRecord, type AlertRule, SEVERITIES, type Severity } from "../../domain/alerts.ts";
import { amountOf, countOf, cutText, escapeControls } from "../../domain/plain-text.ts";
import { holderName } from "../../domain/session.ts";
import { span } from "../../domain/time/clock.ts";
import { dateTime, hostZone } from "../../domain/time/zone.ts";
import type { Unit } from "../../domain/words.ts";
import type { Message, Note, NotedAlert, NotedHolder } from "./note.ts";

/**
 * Messages as text. Names come from license tools and may contain anything, so line ends and control
 * characters are removed, and no name can start a line or header.
 */

const MAX_LINE = 400;
const MAX_SUBJECT = 120;
const MAX_ALERTS = 30;

export interface Paragraph {
  readonly note: Note | null;
  readonly head: string;
  readonly details: readonly string[];
  readonly link: string | null;
}

const TEST = "This is a test of licmond's notifications: no alert fires. Messages look like this:";

/** Returns one paragraph per alert, the worst first. */
export function paragraphs(message: Message, zone = hostZone()): Paragraph[] {
  const { test, dropped } = message;
  const remark = (head: string): Paragraph => ({ note: null, head, details: [], link: null });
  const notes = newest(message);
  const ordered = test ? notes : notes.toSorted((a, b) => rank(b) - rank(a) || a.id - b.id);
  const named = ordered.slice(0, MAX_ALERTS).map((note) => {
    const link = note.alert.link ?? null;
    return { note, head: headOf(note), details: detailsOf(note, zone).map(line), link };
  });
  const more = notes.length - named.length;
  return [
    ...(test ? [remark(TEST)] : []),
    ...named,
    ...(more > 0 ? [remark(`and ${more} more`)] : []),
    ...(dropped > 0 ? [remark(`${dropped} older messages were dropped: too many were queued`)] : []),
  ];
}

/**
 * Returns the last note of each alert: an alert that fired and resolved while its message was queued is
 * shown as resolved.
 */
export function newest({ notes, test }: Message): readonly Note[] {
  if (test) return notes;
  return [...Map.groupBy(notes, ({ alert }) => alert.id).values()].flatMap((own) => {
    const last = own.at(-1);
    // A target that does not know the alert yet sees it as fired, not as raised.
    const isNew = last?.kind === "raised" && own.some(({ kind }) => kind === "fired");
    return last === undefined ? [] : [isNew ? { ...last, kind: "fired" } : last];
  });
}

/** Returns the paragraphs as lines without line ends, with an empty line between paragraphs. */
export function lines(message: Message, zone?: string): string[] {
  return paragraphs(message, zone).flatMap(({ head, details, link }, index) => [
    ...(index === 0 ? [] : [""]),
    head,
    ...[...details, ...(link === null ? [] : [link])].map((detail) => `  ${detail}`),
  ]);
}

export function subject(message: Message): string {
  if (message.test) return "[licmond] test";
  const notes = newest(message);
  const [first, ...others] = notes;
  const text = first !== undefined && others.length === 0 ? headOf(first) : summary(notes);
  return cutText(`[licmond] ${text}`, MAX_SUBJECT);
}

export function worst(message: Message): Severity {
  return worstOf(newest(message)) ?? "info";
}

function worstOf(notes: readonly Note[]): Severity | undefined {
  const firing = notes.filter(({ kind }) => kind !== "resolved").map(({ alert }) => alert.severity);
  return SEVERITIES.findLast((severity) => firing.includes(severity));
}

function summary(notes: readonly Note[]): string {
  const resolved = notes.filter(({ kind }) => kind === "resolved").length;
  const firing = notes.length - resolved;
  const counts = [firing > 0 ? `${firing} firing` : "", resolved > 0 ? `${resolved} resolved` : ""];
  const servers = new Set(notes.flatMap(({ alert }) => alert.serverName ?? alert.server ?? []));
  const at = servers.size === 0 ? "" : ` at ${[...servers].join(", ")}`;
  const severity = firing === 0 ? "" : `${worstOf(notes)?.toUpperCase()}: `;
  return escapeControls(`${severity}${counts.filter(Boolean).join(", ")}${at}`);
}

/**
 * Text of a resolved alert by rule, with the condition and its worst value. Why the condition ended is
 * unknown.
 */
const OVER: Readonly<Record<AlertRule, readonly [was: string, worst?: (value: number) => string]>> = {
  server_down: ["the server was down"],
  server_degraded: ["the server was degraded"],
  daemon_down: ["it was down"],
  seats: ["seats were short", (value) => `${value} % of them were in use`],
  expiry: [
    "its expiry was near or past",
    (days) => `${countOf(Math.abs(days), "day")} ${days < 0 ? "past it" : "left"}`,
  ],
  denials: ["requests were denied", (value) => `${value} of them`],
  held_too_long: ["a seat was held too long", (value) => `${value} h`],
  stale: ["its numbers were stale"],
  unparsed: ["parts of the tool's output were not understood", (value) => `${countOf(value, "line")} of it`],
  totals_changed: ["its number of seats had changed"],
  disk: ["the disk was nearly full", (value) => `${value} % of it was in use`],
  clock: ["the clock was in doubt", (value) => `by ${countOf(value, "day")}`],
  outbox: ["too much waited for the hub", (value) => `${value} % of outbox_size was in use`],
  site_silent: ["the site was silent"],
  site_behind: ["the hub was behind the site", (minutes) => countOf(minutes, "minute")],
  site_clock: ["the site's clock differed from the hub's", (seconds) => `by ${countOf(seconds, "second")}`],
  site_version: ["the site's version did not match the hub's"],
  site_refused: ["facts of the site could not be stored", (value) => `${value} of them`],
  site_clone: ["two processes pushed for the site"],
};

export function overMessage(
  alert: Pick<AlertRecord, "rule" | "durationSeconds" | "peakValue">,
  unit: Unit = "seats",
): string {
  const [words, worst] = OVER[alert.rule];
  const was = unit === "seats" ? words : words.replace(/^(?:a seat was|seats were)/, `${unit} were`);
  const peak = alert.peakValue === null || worst === undefined ? "" : `; at worst ${worst(alert.peakValue)}`;
  return `${was} for ${span(alert.durationSeconds * 1000)}${peak}`;
}

function headOf({ kind, alert }: Note): string {
  // A changed number of seats is not necessarily worse.
  const raised = alert.rule === "totals_changed" ? "" : "WORSE: ";
  const prefix = { fired: "", raised, reminder: "STILL ", resolved: "" };
  const word = kind === "resolved" ? "RESOLVED" : `${prefix[kind]}${alert.severity.toUpperCase()}`;
  const where = placeOf(alert);
  return line(`${word} ${where === "" ? "" : `${where}: `}${alert.message}`);
}

/** Formats a place: `EDA tools (eda), compiler`. People know the name; commands take the id. */
function placeOf({ server, serverName, daemon, feature }: NotedAlert): string {
  const hasName = server !== null && serverName !== null && serverName !== server;
  const named = hasName ? `${serverName} (${server})` : server;
  const part = feature ?? (daemon === null ? null : `daemon ${daemon}`);
  return [named, part].filter((each) => each !== null && each !== "").join(", ");
}

function detailsOf({ kind, alert, at }: Note, zone: string): string[] {
  const { id, rule, startedAt, holders, unit } = alert;
  const began = Date.parse(startedAt);
  const when =
    kind === "resolved" ? `began ${time(began, zone)}` : `since ${time(began, zone)} (${span(at - began)})`;
  const held = holders.map((each) => holder(each, unit, at, zone)).join("; ");
  return [`${when}; alert ${id}, rule ${rule}`, ...(holders.length === 0 ? [] : [`held by ${held}`])];
}

function holder(
  { seats, since, ...who }: NotedHolder,
  unit: NotedAlert["unit"],
  at: number,
  zone: string,
): string {
  return `${holderName(who)}: ${amountOf(seats, unit)}${since === null ? "" : ` since ${wallTime(Date.parse(since), zone, at)}`}`;
}

/**
 * Formats a time in a zone, e.g. `2026-03-02 13:15`. The day is left out if it is the same as that of
 * `besides`.
 */
function wallTime(at: number, zone: string, besides: number | null = null): string {
  const shown = (instant: number) => dateTime(zone, instant);
  const isSameDay = besides !== null && shown(besides).slice(0, 10) === shown(at).slice(0, 10);
  return isSameDay ? shown(at).slice(11) : shown(at);
}

function time(at: number, zone: string): string {
  const name = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" })
    .formatToParts(at)
    .find(({ type }) => type === "timeZoneName")?.value;
  return `${wallTime(at, zone)} ${name ?? zone}`;
}

function rank({ kind, alert }: Note): number {
  return (kind === "resolved" ? 0 : 10) + SEVERITIES.indexOf(alert.severity);
}

function line(text: string): string {
  return cutText(escapeControls(text), MAX_LINE);
}
