import { SEVERITIES, type Severity } from "../../domain/alerts.ts";
import { escapeControls } from "../../domain/plain-text.ts";
import type { Message, Note, NoteKind } from "./note.ts";

/**
 * Messages in words. Names come from license tools and may be anything: no line end or control character of theirs
 * stays, so that none can begin a line, or a header, of its own.
 */

const MAX_LINE = 400;
const MAX_SUBJECT = 120;
/** Alerts named in one text; the rest is counted. */
const MAX_LINES = 30;

const WORD_OF: Readonly<Record<NoteKind, string>> = {
  fired: "FIRING",
  raised: "WORSE",
  resolved: "RESOLVED",
  reminder: "STILL FIRING",
};

/** One line for each alert, the worst first, without line ends of their own. */
export function lines({ notes, test, dropped }: Message): string[] {
  if (test) return ["This is a test of licmond's notifications. No alert fires."];
  const named = notes
    .toSorted((a, b) => rank(b) - rank(a) || a.id - b.id)
    .slice(0, MAX_LINES)
    .map(lineOf);
  const more = notes.length - named.length;
  return [
    ...named,
    ...(more > 0 ? [`and ${more} more`] : []),
    ...(dropped > 0 ? [`${dropped} older messages were thrown away: too many waited`] : []),
  ];
}

/** What the message is about, on one line. */
export function subject(message: Message): string {
  if (message.test) return "[licmond] test";
  const text = message.notes.length === 1 ? lines(message)[0] : summary(message.notes);
  return cut(`[licmond] ${text}`, MAX_SUBJECT);
}

/** The worst severity of what fires; info when everything is resolved. */
export function worst({ notes }: Message): Severity {
  const firing = notes.filter(({ kind }) => kind !== "resolved").map(({ alert }) => alert.severity);
  return SEVERITIES.findLast((severity) => firing.includes(severity)) ?? "info";
}

function summary(notes: readonly Note[]): string {
  const resolved = notes.filter(({ kind }) => kind === "resolved").length;
  const firing = notes.length - resolved;
  return [firing > 0 ? `${firing} firing` : "", resolved > 0 ? `${resolved} resolved` : ""]
    .filter(Boolean)
    .join(", ");
}

function lineOf({ kind, alert }: Note): string {
  const { server, daemon, feature, rule, severity, message } = alert;
  const where = [server, daemon, feature].filter((part) => part !== null && part !== "").join("/");
  const head = `${WORD_OF[kind]} ${severity} ${rule}${where === "" ? "" : ` ${where}`}`;
  return cut(escapeControls(`${head}: ${message}`), MAX_LINE);
}

function rank({ kind, alert }: Note): number {
  return (kind === "resolved" ? 0 : 10) + SEVERITIES.indexOf(alert.severity);
}

/** Cut between characters, never inside one. */
function cut(text: string, length: number): string {
  const characters = [...text];
  return characters.length <= length ? text : `${characters.slice(0, length - 1).join("")}…`;
}
