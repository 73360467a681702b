import type { MemberReading, ToolError } from "../../domain/reading.ts";
import type { PartStatus } from "../../domain/words.ts";
import { trimBlanks } from "./scan.ts";

/** What a status line says of a member. */
export interface MemberStatus {
  readonly host: string;
  readonly status: PartStatus;
  readonly master: boolean;
  readonly version: string | null;
  readonly error: ToolError | null;
}

const STATUS = ": license server ";
const STATE = /^(UP|DOWN)\b(?:\s+(\(MASTER\)))?(?:\s+(v[\w.]+))?/i;

/** `host: license server UP [(MASTER)] [v11.7]` or `… DOWN`; null when the line is none. */
export function parseMemberStatus(trimmed: string): MemberStatus | null {
  const colon = trimmed.lastIndexOf(STATUS);
  if (colon < 1) return null;
  const host = trimmed.slice(0, colon);
  if (/[ \t]/.test(host)) return null;
  const found = STATE.exec(trimmed.slice(colon + STATUS.length));
  if (found === null) return null;
  return {
    host,
    status: found[1]?.toUpperCase() === "UP" ? "up" : "down",
    master: found[2] !== undefined,
    version: found[3] ?? null,
    error: null,
  };
}

const SPEC = "License server status:";

/** The members that `License server status: port@host,…` names; null when the line is none. */
export function parseSpec(trimmed: string): { host: string; port: number | null }[] | null {
  if (!trimmed.startsWith(SPEC)) return null;
  const members: { host: string; port: number | null }[] = [];
  for (const part of trimmed.slice(SPEC.length).split(",")) {
    const text = trimBlanks(part);
    const at = text.lastIndexOf("@");
    const host = text.slice(at + 1);
    if (host === "" || /[\s/\\]/.test(host)) continue;
    const port = /^\d{1,5}$/.test(text.slice(0, Math.max(0, at))) ? Number(text.slice(0, at)) : null;
    members.push({ host, port });
  }
  return members;
}

/** Collects the members of an output: every spelling of a host is one member, its best status wins. */
export interface Members {
  named(host: string, port: number | null): void;
  status(line: MemberStatus): void;
  /** Nobody answered: members of which nothing is known are down. */
  unanswered(error: ToolError): void;
  list(): MemberReading[];
}

type Draft = { -readonly [Key in keyof MemberReading]: MemberReading[Key] };

const RANK: Readonly<Record<PartStatus, number>> = { unknown: 0, down: 1, up: 2 };

export function createMembers(): Members {
  const members: Draft[] = [];
  const byHost = new Map<string, Draft>();
  const byLabel = new Map<string, Draft[]>();

  function find(host: string): Draft | undefined {
    const key = host.toLowerCase();
    const exact = byHost.get(key);
    if (exact !== undefined) return exact;
    // Short and long names of one host are mixed (`lic1` and `lic1.example.com`), two long names differ.
    const label = firstLabel(key);
    const others = label === null ? undefined : byLabel.get(label);
    if (others?.length !== 1) return undefined;
    const [other] = others;
    return other !== undefined && (label === key || label === other.host.toLowerCase()) ? other : undefined;
  }

  function findOrAdd(host: string): Draft {
    const found = find(host);
    if (found !== undefined) return found;
    const member: Draft = { host, port: null, status: "unknown", master: false, version: null, error: null };
    members.push(member);
    byHost.set(host.toLowerCase(), member);
    const label = firstLabel(host.toLowerCase());
    if (label !== null) byLabel.set(label, [...(byLabel.get(label) ?? []).slice(0, 1), member]);
    return member;
  }

  return {
    named(host, port) {
      const member = findOrAdd(host);
      member.port ??= port;
    },
    status(line) {
      const member = findOrAdd(line.host);
      member.master ||= line.master;
      if (RANK[line.status] < RANK[member.status]) return;
      const better = RANK[line.status] > RANK[member.status];
      member.status = line.status;
      member.version = better ? line.version : (member.version ?? line.version);
      member.error = better ? line.error : (member.error ?? line.error);
    },
    unanswered(error) {
      for (const member of members) {
        if (member.status !== "unknown" || member.error !== null) continue;
        member.status = "down";
        member.error = error;
      }
    },
    list: () => members.map((member) => ({ ...member })),
  };
}

/** The host's first label; null for addresses, whose parts are no names. */
function firstLabel(host: string): string | null {
  if (/^[\d.]+$/.test(host) || host.includes(":")) return null;
  const dot = host.indexOf(".");
  return dot === -1 ? host : host.slice(0, dot);
}
