import { type AlertRule, SEVERITIES, type Severity } from "../../domain/alerts.ts";
import { escapeControls } from "../../domain/plain-text.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../domain/time/clock.ts";
import { hostZone, wallClock } from "../../domain/time/zone.ts";
import type { Message, Note, NotedAlert, NotedHolder } from "./note.ts";

/**
 * Messages in words. Names come from license tools and may be anything: no line end or control character of theirs
 * stays, so that none can begin a line, or a header, of its own.
 */

const MAX_LINE = 400;
const MAX_SUBJECT = 120;
/** Alerts named in one text; the rest is counted. */
const MAX_ALERTS = 30;
/** Servers named in the subject of several alerts. */
const MAX_SERVERS = 3;

/** What a message says of one alert: its line, what is known besides, and where there is more of it. */
export interface Paragraph {
  /** Null for what is about no alert. */
  readonly note: Note | null;
  readonly head: string;
  readonly details: readonly string[];
}

const TEST = "This is a test of licmond's notifications: no alert fires. Messages look like this:";

/** One paragraph for each alert, the worst first. */
export function paragraphs(message: Message, zone = hostZone()): Paragraph[] {
  const { test, dropped } = message;
  const remark = (head: string): Paragraph => ({ note: null, head, details: [] });
  const notes = newest(message);
  const ordered = test ? notes : notes.toSorted((a, b) => rank(b) - rank(a) || a.id - b.id);
  const named = ordered
    .slice(0, MAX_ALERTS)
    .map((note) => ({ note, head: headOf(note), details: detailsOf(note, zone).map(line) }));
  const more = notes.length - named.length;
  return [
    ...(test ? [remark(TEST)] : []),
    ...named,
    ...(more > 0 ? [remark(`and ${more} more`)] : []),
    ...(dropped > 0 ? [remark(`${dropped} older messages were thrown away: too many waited`)] : []),
  ];
}

/** The last note of each alert: an alert that began and ended while its message waited is over. */
export function newest({ notes, test }: Message): readonly Note[] {
  if (test) return notes;
  return [...Map.groupBy(notes, ({ alert }) => alert.id).values()].flatMap((own) => {
    const last = own.at(-1);
    // That it got worse is news to those who know of it.
    const isNew = last?.kind === "raised" && own.some(({ kind }) => kind === "fired");
    return last === undefined ? [] : [isNew ? { ...last, kind: "fired" } : last];
  });
}

/** The same as lines, without line ends of their own; an empty one is between paragraphs. */
export function lines(message: Message, zone?: string): string[] {
  return paragraphs(message, zone).flatMap(({ head, details }, index) => [
    ...(index === 0 ? [] : [""]),
    head,
    ...details.map((detail) => `  ${detail}`),
  ]);
}

/** What the message is about, on one line. */
export function subject(message: Message): string {
  if (message.test) return "[licmond] test";
  const notes = newest(message);
  const [first, ...others] = notes;
  const text = first !== undefined && others.length === 0 ? headOf(first) : summary(notes);
  return cut(`[licmond] ${text}`, MAX_SUBJECT);
}

/** The worst severity of what fires; info when everything is resolved. */
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
  const named = [...servers].slice(0, MAX_SERVERS);
  const more = servers.size - named.length;
  const at = named.length === 0 ? "" : ` at ${named.join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  const severity = worstOf(notes)?.toUpperCase();
  return escapeControls(
    `${severity === undefined ? "" : `${severity}: `}${counts.filter(Boolean).join(", ")}${at}`,
  );
}

function headOf({ kind, alert }: Note): string {
  const severity = alert.severity.toUpperCase();
  const word = { fired: severity, raised: `WORSE: ${severity}`, reminder: `STILL ${severity}` };
  const where = placeOf(alert);
  const at = where === "" ? "" : ` ${where}:`;
  if (kind !== "resolved") return line(`${word[kind]}${at} ${alert.message}`);
  return line(`RESOLVED${at} ${OVER[alert.rule].was} for ${span(alert.durationSeconds * 1000)}`);
}

/** `EDA tools (eda), compiler`: people know the name, and commands take the id. */
function placeOf({ server, serverName, daemon, feature }: NotedAlert): string {
  const hasName = server !== null && serverName !== null && serverName !== server;
  const named = hasName ? `${serverName} (${server})` : server;
  const part = feature ?? (daemon === null ? null : `daemon ${daemon}`);
  return [named, part].filter((each) => each !== null && each !== "").join(", ");
}

function detailsOf({ kind, alert, at }: Note, zone: string): string[] {
  const { id, rule, startedAt, resolvedAt, peakValue, holders, link } = alert;
  const began = Date.parse(startedAt);
  const asked = `alert ${id}, rule ${rule}`;
  if (kind !== "resolved") {
    return [
      `since ${time(began, zone)} (${span(at - began)}); ${asked}`,
      ...(holders.length === 0
        ? []
        : [`held by ${holders.map((each) => holder(each, at, zone)).join("; ")}`]),
      ...(link === null ? [] : [link]),
    ];
  }
  const ended = Date.parse(resolvedAt ?? startedAt);
  const { worst: atWorst } = OVER[rule];
  const peak = peakValue === null || atWorst === undefined ? "" : `; at worst ${atWorst(peakValue)}`;
  return [
    `from ${wallTime(began, zone)} to ${time(ended, zone, began)}${peak}; ${asked}`,
    ...(link === null ? [] : [link]),
  ];
}

function holder({ user, host, seats, since }: NotedHolder, at: number, zone: string): string {
  const who = host === null ? user : `${user} on ${host}`;
  const many = seats === 1 ? "1 seat" : `${seats} seats`;
  return `${who}: ${many}${since === null ? "" : ` since ${wallTime(Date.parse(since), zone, at)}`}`;
}

interface Over {
  /** What was so, after the server and the feature. */
  readonly was: string;
  readonly worst?: (value: number) => string;
}

/** What a message says when an alert of a rule is over: no more than what was, because it may have ended in several ways. */
const OVER: Readonly<Record<AlertRule, Over>> = {
  server_down: { was: "the server was down" },
  server_degraded: { was: "the server was degraded" },
  daemon_down: { was: "it was down" },
  seats: { was: "seats were short", worst: (value) => `${value} % of them were in use` },
  expiry: {
    was: "its expiry was near or past",
    worst: (days) => (days < 0 ? `${-days} days past it` : `${days} days were left`),
  },
  denials: { was: "requests were denied", worst: (value) => `${value} of them` },
  held_too_long: { was: "a seat was held too long", worst: (value) => `${value} h` },
  stale: { was: "its numbers were stale" },
  unparsed: {
    was: "parts of the tool's output were not understood",
    worst: (value) => `${value} lines of it`,
  },
  totals_changed: { was: "its number of seats had changed" },
  disk: { was: "The disk was nearly full", worst: (value) => `${value} % of it was in use` },
  clock: { was: "The clock was in doubt", worst: (value) => `by ${value} days` },
};

/** `2026-03-02 13:15`, by the clocks of a zone; without the day where it is that of `besides`. */
function wallTime(at: number, zone: string, besides: number | null = null): string {
  const shown = (instant: number) =>
    new Date(wallClock(zone, instant)).toISOString().slice(0, 16).replace("T", " ");
  const isSameDay = besides !== null && shown(besides).slice(0, 10) === shown(at).slice(0, 10);
  return isSameDay ? shown(at).slice(11) : shown(at);
}

/** The same with the zone: `2026-03-02 13:15 CET`. */
function time(at: number, zone: string, besides?: number): string {
  const name = new Intl.DateTimeFormat("en-GB", { timeZone: zone, timeZoneName: "short" })
    .formatToParts(at)
    .find(({ type }) => type === "timeZoneName")?.value;
  return `${wallTime(at, zone, besides)} ${name ?? zone}`;
}

/** `2 h 10 min`: the two largest units. */
function span(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / MINUTE_MS));
  const [days, hours] = [Math.floor(ms / DAY_MS), Math.floor((ms % DAY_MS) / HOUR_MS)];
  if (minutes < 1) return "less than a minute";
  if (days > 0) return hours > 0 ? `${days} d ${hours} h` : `${days} d`;
  if (hours === 0) return `${minutes} min`;
  return minutes % 60 > 0 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
}

function rank({ kind, alert }: Note): number {
  return (kind === "resolved" ? 0 : 10) + SEVERITIES.indexOf(alert.severity);
}

function line(text: string): string {
  return cut(escapeControls(text), MAX_LINE);
}

/** Cut between characters, never inside one. */
function cut(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}
