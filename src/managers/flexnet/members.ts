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

/** A member as it was asked for. */
export interface NamedMember {
  readonly host: string;
  readonly port: number | null;
}

/** The members that `License server status: port@host,…` names; null when the line is none. */
export function parseSpec(trimmed: string): NamedMember[] | null {
  if (!trimmed.startsWith(SPEC)) return null;
  const members: NamedMember[] = [];
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
  /** A server's part of the output begins: the members that were asked for, of which lines of their own follow. */
  asked(spec: readonly NamedMember[]): void;
  status(line: MemberStatus): void;
  /** Nobody answered: members of which nothing is known are down. */
  unanswered(error: ToolError): void;
  list(): MemberReading[];
}

type Draft = { -readonly [Key in keyof MemberReading]: MemberReading[Key] };

const RANK: Readonly<Record<PartStatus, number>> = { unknown: 0, down: 1, up: 2 };

/** A server has three at the most; the bound keeps the time linear whatever an output names. */
const MAX_STRANGERS = 16;

export function createMembers(): Members {
  const members: Draft[] = [];
  const byHost = new Map<string, Draft>();
  const byLabel = new Map<string, Draft[]>();
  /** Of the part that is being read: members new by its spec, and those new by a line of their own. */
  let named: Draft[] = [];
  let strangers: Draft[] = [];

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

  function learn(member: Draft): void {
    const key = member.host.toLowerCase();
    byHost.set(key, member);
    const label = firstLabel(key);
    if (label !== null) byLabel.set(label, [...(byLabel.get(label) ?? []).slice(0, 1), member]);
  }

  function forget(member: Draft): void {
    const key = member.host.toLowerCase();
    // It came a few lines ago.
    members.splice(members.lastIndexOf(member), 1);
    byHost.delete(key);
    const label = firstLabel(key);
    const others = label === null ? undefined : byLabel.get(label);
    if (label !== null && others !== undefined)
      byLabel.set(
        label,
        others.filter((other) => other !== member),
      );
  }

  function findOrAdd(host: string, fresh: Draft[]): Draft {
    const found = find(host);
    if (found !== undefined) return found;
    const member: Draft = { host, port: null, status: "unknown", master: false, version: null, error: null };
    members.push(member);
    fresh.push(member);
    learn(member);
    return member;
  }

  /**
   * Who is asked by an alias or an address answers by a name of its own. As many silent names as strangers are the
   * same hosts, in their order; fewer names than strangers, and all of them silent, only lead to these.
   */
  function introduce(): void {
    const silent = named.filter(({ status, error }) => status === "unknown" && error === null);
    const [first] = silent;
    const few = strangers.length <= MAX_STRANGERS;
    const leads = silent.length === named.length && silent.length < strangers.length;
    if (few && silent.length === strangers.length) {
      for (const [index, member] of silent.entries()) {
        const stranger = strangers[index];
        if (stranger === undefined) continue;
        forget(stranger);
        Object.assign(member, { ...stranger, port: stranger.port ?? member.port });
        learn(member);
      }
    } else if (few && leads && first !== undefined) {
      const samePort = silent.every(({ port }) => port === first.port);
      for (const stranger of strangers) stranger.port ??= samePort ? first.port : null;
      silent.forEach(forget);
    }
    named = [];
    strangers = [];
  }

  return {
    asked(spec) {
      introduce();
      for (const { host, port } of spec) findOrAdd(host, named).port ??= port;
    },
    status(line) {
      const member = findOrAdd(line.host, strangers);
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
    list() {
      introduce();
      return members.map((member) => ({ ...member }));
    },
  };
}

/** The host's first label; null for addresses, whose parts are no names. */
function firstLabel(host: string): string | null {
  if (/^[\d.]+$/.test(host) || host.includes(":")) return null;
  const dot = host.indexOf(".");
  return dot === -1 ? host : host.slice(0, dot);
}
