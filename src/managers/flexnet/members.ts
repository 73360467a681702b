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

/**
 * Collects the members of an output. In one license server's part every spelling of a host is one member, whose best
 * status wins; a host with another port, or in the part of another license server, is another member.
 */
export interface Members {
  /**
   * A license server's part of the output begins: the members that were asked for, of which lines of their own follow.
   * Returns the part's number, which is the same where the same members are asked for again.
   */
  asked(spec: readonly NamedMember[]): number;
  status(line: MemberStatus): void;
  /** Nobody answered in this part: its members of which nothing is known are down. */
  unanswered(error: ToolError): void;
  list(): MemberReading[];
}

type Draft = { -readonly [Key in keyof MemberReading]: MemberReading[Key] };

const RANK: Readonly<Record<PartStatus, number>> = { unknown: 0, down: 1, up: 2 };

/** A server has three at the most; the bound keeps the time linear whatever an output names. */
const MAX_STRANGERS = 16;

export function createMembers(): Members {
  /** What stands before the first spec is a part of its own. */
  const parts = [createPart()];
  const numbers = new Map<string, number>();
  let current = 0;

  return {
    asked(spec) {
      const key = spec.map(addressOf).join(",");
      current = numbers.get(key) ?? parts.length;
      // Nothing tells that two that name nobody are the same.
      if (key !== "") numbers.set(key, current);
      if (current === parts.length) parts.push(createPart(spec));
      return current;
    },
    status: (line) => parts[current]?.status(line),
    unanswered: (error) => parts[current]?.unanswered(error),
    list() {
      // A triad and one of its hosts may stand in two license files.
      const byAddress = new Map<string, MemberReading>();
      for (const member of parts.flatMap((part) => part.list())) {
        const known = byAddress.get(addressOf(member));
        if (known === undefined || RANK[member.status] > RANK[known.status])
          byAddress.set(addressOf(member), member);
      }
      return [...byAddress.values()];
    },
  };
}

/** The members of one license server's part of the output. */
function createPart(spec: readonly NamedMember[] = []): Omit<Members, "asked"> {
  const members: Draft[] = [];
  /** The members of one host, each with a port of its own: seldom more than one. */
  const byHost = new Map<string, Draft[]>();
  const byLabel = new Map<string, Draft[]>();
  const strangers: Draft[] = [];

  function find(host: string): Draft | undefined {
    const key = host.toLowerCase();
    const exact = byHost.get(key);
    // The lines of one host stand in the order of its ports.
    if (exact !== undefined) return exact.find(isSilent) ?? exact[0];
    // Short and long names of one host are mixed (`lic1` and `lic1.example.com`), two long names differ.
    const label = firstLabel(key);
    const others = label === null ? undefined : byLabel.get(label);
    if (others?.length !== 1) return undefined;
    const [other] = others;
    return other !== undefined && (label === key || label === other.host.toLowerCase()) ? other : undefined;
  }

  function learn(member: Draft): void {
    const key = member.host.toLowerCase();
    const others = byHost.get(key) ?? [];
    if (others.length < MAX_STRANGERS) byHost.set(key, [...others, member]);
    const label = firstLabel(key);
    if (label !== null) byLabel.set(label, [...(byLabel.get(label) ?? []).slice(0, 1), member]);
  }

  function add(host: string, port: number | null): Draft {
    const member: Draft = { host, port, status: "unknown", master: false, version: null, error: null };
    members.push(member);
    learn(member);
    return member;
  }

  function findOrAdd(host: string): Draft {
    const found = find(host);
    if (found !== undefined) return found;
    const stranger = add(host, null);
    strangers.push(stranger);
    return stranger;
  }

  const asked = new Set<string>();
  for (const member of spec) {
    if (!asked.has(addressOf(member))) add(member.host, member.port);
    asked.add(addressOf(member));
  }
  /** Members by the spec. */
  const named = members.slice();

  /**
   * Who is asked by an alias or an address answers by a name of its own. As many silent names as strangers are the
   * same hosts, in their order; fewer names than strangers, and all of them silent, only lead to these.
   */
  function introduced(): readonly Draft[] {
    if (strangers.length === 0 || strangers.length > MAX_STRANGERS) return members;
    const silent = named.filter(isSilent);
    if (silent.length === strangers.length) {
      for (const [index, member] of silent.entries()) {
        Object.assign(member, { ...strangers[index], port: member.port });
      }
      return named;
    }
    const [first] = silent;
    if (first === undefined || silent.length < named.length || silent.length > strangers.length)
      return members;
    const port = silent.every((member) => member.port === first.port) ? first.port : null;
    return strangers.map((stranger) => ({ ...stranger, port }));
  }

  return {
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
      for (const member of members.filter(isSilent)) {
        member.status = "down";
        member.error = error;
      }
    },
    list() {
      return introduced().map((member) => ({ ...member }));
    },
  };
}

function addressOf({ host, port }: NamedMember): string {
  return `${port}@${host.toLowerCase()}`;
}

/** No line has told anything of it. */
function isSilent({ status, error }: Draft): boolean {
  return status === "unknown" && error === null;
}

/** The host's first label; null for addresses, whose parts are no names. */
function firstLabel(host: string): string | null {
  if (/^[\d.]+$/.test(host) || host.includes(":")) return null;
  const dot = host.indexOf(".");
  return dot === -1 ? host : host.slice(0, dot);
}
