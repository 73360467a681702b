import type { DaemonReading, MemberReading, ToolError } from "../../domain/reading.ts";
import type { PartStatus } from "../../domain/words.ts";
import { trimBlanks } from "../blanks-and-digits.ts";
import type { ParsedAddress } from "../manager.ts";
import { type Mutable, memberReading } from "../reading-parts.ts";

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

/** Explanation of error -16,287, with the causes that users reported. */
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
  // Other errors do not prove that the member or daemon is down, because the server answered.
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

const RANK: Readonly<Record<PartStatus, number>> = { unknown: 0, down: 1, up: 2 };

/**
 * Merges the lines about a daemon by keeping the best status. Each license server's part has its own
 * daemons.
 */
export function addDaemon(daemons: Map<string, DaemonReading>, line: PartLine, part: number): void {
  const { name, status, version, error } = line;
  const key = `${part} ${name}`;
  const known = daemons.get(key);
  if (known !== undefined && RANK[known.status] >= RANK[status]) return;
  daemons.set(key, { name, status, version, error, totals: null });
}

type Draft = Mutable<MemberReading>;

/**
 * Maximum numbers of unknown names and of members that are compared. A server has at most three members;
 * the limits keep the time linear for any input.
 */
const MAX_STRANGERS = 16;
const MAX_KNOWN = 64;

/**
 * Collects members. Within a license server's part, all spellings of a host are one member, and the best
 * status wins.
 */
export function createMembers() {
  /** Lines before the first spec form a part of their own. */
  const parts = [createPart([])];
  const numbers = new Map<string, number>();
  let current = 0;

  return {
    /**
     * Starts the part of a license server and returns the part's number. Equal lists of members have the
     * same number.
     */
    asked(spec: readonly NamedMember[]): number {
      const key = spec.map(addressOf).join(",");
      current = numbers.get(key) ?? parts.length;
      // Give each part without members its own number, because the parts may belong to different servers.
      if (key !== "") numbers.set(key, current);
      if (current === parts.length) parts.push(createPart(spec));
      return current;
    },
    status: (line: PartLine) => parts[current]?.status(line),
    unanswered: (error: ToolError) => parts[current]?.unanswered(error),
    list(): MemberReading[] {
      // Two license files may both list a host of a triad: keep one entry per address, with the best status.
      const byAddress = new Map<string, MemberReading>();
      for (const member of parts.flatMap((part) => part.list())) {
        const address = addressOf(member);
        const known = byAddress.get(address);
        if (known === undefined || RANK[member.status] > RANK[known.status]) byAddress.set(address, member);
      }
      return [...byAddress.values()];
    },
  };
}

function createPart(spec: readonly NamedMember[]) {
  const byAddress = new Map(spec.map((member) => [addressOf(member), draftOf(member)]));
  const named = [...byAddress.values()];
  const strangers: Draft[] = [];
  const members = named.slice();

  function find(host: string): Draft | undefined {
    const key = host.toLowerCase();
    const known = members.slice(0, MAX_KNOWN);
    // The lines of a host with several ports have the order of its ports.
    const exact = known.filter((member) => member.host.toLowerCase() === key);
    if (exact.length > 0) return exact.find(isSilent) ?? exact[0];
    // Short and long names of one host are mixed (`lic1` and `lic1.example.com`); two different long names are
    // different hosts.
    const label = firstLabel(key);
    if (label === null) return undefined;
    const [other, more] = known.filter((member) => firstLabel(member.host.toLowerCase()) === label);
    if (other === undefined || more !== undefined) return undefined;
    return label === key || label === other.host.toLowerCase() ? other : undefined;
  }

  /**
   * Names members that were queried by an alias or an IP address. If there are as many unknown names as
   * silent members, assigns the names in order. If all members are silent and there are more names, the
   * names replace the members.
   */
  function introduced(): readonly Draft[] {
    if (strangers.length === 0 || strangers.length > MAX_STRANGERS) return members;
    const silent = named.filter(isSilent);
    if (silent.length === strangers.length) {
      for (const [index, own] of silent.entries()) Object.assign(own, strangers[index], { port: own.port });
      return named;
    }
    const [first] = silent;
    if (first === undefined || silent.length < named.length || silent.length > strangers.length)
      return members;
    const port = silent.every((member) => member.port === first.port) ? first.port : null;
    return strangers.map((stranger) => ({ ...stranger, port }));
  }

  return {
    status(line: PartLine): void {
      const known = find(line.name);
      const member = known ?? draftOf({ host: line.name, port: null });
      if (known === undefined) {
        members.push(member);
        strangers.push(member);
      }
      member.master ||= line.master;
      if (RANK[line.status] < RANK[member.status]) return;
      const better = RANK[line.status] > RANK[member.status];
      member.status = line.status;
      member.version = better ? line.version : (member.version ?? line.version);
      member.error = better ? line.error : (member.error ?? line.error);
    },
    unanswered(error: ToolError): void {
      for (const member of members.filter(isSilent)) {
        member.status = "down";
        member.error = error;
      }
    },
    list: () => introduced().map((member) => ({ ...member })),
  };
}

function addressOf({ host, port }: NamedMember): string {
  return `${port}@${host.toLowerCase()}`;
}

function draftOf({ host, port }: NamedMember): Draft {
  return memberReading(host, port, "unknown");
}

function isSilent({ status, error }: Draft): boolean {
  return status === "unknown" && error === null;
}

function firstLabel(host: string): string | null {
  if (/^[\d.]+$/.test(host) || host.includes(":")) return null;
  const dot = host.indexOf(".");
  return dot === -1 ? host : host.slice(0, dot);
}
