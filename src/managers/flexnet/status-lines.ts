import type { ToolError } from "../../domain/reading.ts";
import type { PartStatus } from "../../domain/words.ts";
import { trimBlanks } from "../blanks-and-digits.ts";
import type { ParsedAddress } from "../manager.ts";

const SUFFIX = /^\((-?\d{1,6}),(-?\d{1,9})(?::(-?\d{1,9})(?:\s+".*")?)?\)\.?[ \t]*$/s;
/** Major error codes for an unreachable server: cannot connect, server machine down, vendor daemon down. */
const UNREACHABLE = new Set([-15, -96, -97]);
const UNREACHABLE_WORDS = /cannot connect|down or not responding|lmgrd is not running|daemon is down/i;

/** Parses FlexNet's `(major,minor[:system "text"])` at the end of a message. */
export function parseToolError(message: string): ToolError {
  const codes = errorSuffix(message)?.slice(1) ?? [];
  const [major = null, minor = null, system = null] = codes.map((text) =>
    text === undefined ? null : Number(text),
  );
  const unreachable = (major !== null && UNREACHABLE.has(major)) || UNREACHABLE_WORDS.test(message);
  return { message, major, minor, system, kind: unreachable ? "unreachable" : "query" };
}

/** Causes that users reported. */
const UNREADABLE =
  "accepted the connection but sent no data (-16,287). Possible causes, most likely first: " +
  "it is busy or has just started (the next poll will succeed); it hangs; a firewall blocks the connection; " +
  "it is a FlexNet Embedded server, which lmstat cannot query.";

/** Explains `Cannot read data from license server system. (-16,287)`; null for other errors. */
export function explain({ major, minor }: ToolError): string | null {
  return major === -16 && minor === 287 ? UNREADABLE : null;
}

export function endsInErrorCode(text: string): boolean {
  return errorSuffix(text) !== null;
}

function errorSuffix(text: string): RegExpExecArray | null {
  let open = text.lastIndexOf("(-");
  // The system's text may contain a few brackets.
  for (let tries = 0; open !== -1 && tries < 4; tries++) {
    const found = SUFFIX.exec(text.slice(open));
    if (found !== null) return found;
    open = open === 0 ? -1 : text.lastIndexOf("(-", open - 1);
  }
  return null;
}

export interface PartLine {
  readonly name: string;
  readonly status: PartStatus;
  readonly master: boolean;
  readonly version: string | null;
  readonly error: ToolError | null;
}

/** The lookahead rejects two lines joined into one. */
const MEMBER =
  /^([^ \t]+): license server (?!.*: license server )(?i:(UP|DOWN)\b(?:\s+(\(MASTER\)))?(?:\s+(v[\w.]+))?)/s;
const DAEMON = /^([^ \t]+?): [ \t]*(UP|DOWN)()(?:\s+(v[\w.]+))?[ \t]*$/i;
const OWNED = /^([^ \t]+?): (.*)$/s;

function partLine(found: RegExpExecArray | null): PartLine | null {
  if (found === null) return null;
  const [, name = "", state, master, version] = found;
  const status = state?.toUpperCase() === "UP" ? "up" : "down";
  return { name, status, master: Boolean(master), version: version ?? null, error: null };
}

/** Parses `host: license server UP [(MASTER)] [v11.7]` or `host: license server DOWN`. */
export function parseMemberStatus(trimmed: string): PartLine | null {
  return partLine(MEMBER.exec(trimmed));
}

/** Parses `name: UP v11.16.2`, `name: DOWN` or `name: The desired vendor daemon is down. (-97,121)`. */
export function parseDaemon(trimmed: string): PartLine | null {
  return partLine(DAEMON.exec(trimmed)) ?? parseOwnedError(trimmed);
}

/** Parses `host: message (-15,570:115 "…")`: an error of one member or daemon. */
export function parseOwnedError(trimmed: string): PartLine | null {
  const [, name, message = ""] = OWNED.exec(trimmed) ?? [];
  if (name === undefined || !endsInErrorCode(message)) return null;
  const error = parseToolError(trimBlanks(message));
  // An error as answer does not prove that the part is down.
  const status = error.kind === "unreachable" ? "down" : "unknown";
  return { name, status, master: false, version: null, error };
}

export type NamedMember = ParsedAddress["members"][number];

const SPEC = "License server status:";

/** Parses the members of `License server status: port@host,…`; null for other lines. */
export function parseSpec(trimmed: string): NamedMember[] | null {
  if (!trimmed.startsWith(SPEC)) return null;
  const members: NamedMember[] = [];
  for (const part of trimmed.slice(SPEC.length).split(",")) {
    const text = trimBlanks(part);
    const at = text.lastIndexOf("@");
    const host = text.slice(at + 1);
    if (host === "" || /[\s/\\]/.test(host)) continue;
    const port = text.slice(0, Math.max(0, at));
    members.push({ host, port: /^\d{1,5}$/.test(port) ? Number(port) : null });
  }
  return members;
}
