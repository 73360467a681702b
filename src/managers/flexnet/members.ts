import type { DaemonReading, MemberReading, ToolError } from "../../domain/reading.ts";
import type { PartStatus } from "../../domain/words.ts";
import type { NamedMember, PartLine } from "./status-lines.ts";

const RANK: Readonly<Record<PartStatus, number>> = { unknown: 0, down: 1, up: 2 };

/**
 * Lays a daemon's line over what earlier lines said of it: the best status wins. In the part of another license server
 * a daemon of the same name is another one.
 */
export function addDaemon(daemons: Map<string, DaemonReading>, line: PartLine, part: number): void {
  const { name, status, version, error } = line;
  const key = `${part} ${name}`;
  const known = daemons.get(key);
  if (known !== undefined && RANK[known.status] >= RANK[status]) return;
  daemons.set(key, { name, status, version, error, totals: null });
}

type Draft = { -readonly [Key in keyof MemberReading]: MemberReading[Key] };

/** A server has three at the most; the bounds keep the time linear whatever an output names. */
const MAX_STRANGERS = 16;
const MAX_KNOWN = 64;

/**
 * Collects the members of an output. In one license server's part every spelling of a host is one member, whose best
 * status wins; a host with another port, or in the part of another license server, is another member.
 */
export function createMembers() {
  /** What stands before the first spec is a part of its own. */
  const parts = [createPart([])];
  const numbers = new Map<string, number>();
  let current = 0;

  return {
    /**
     * A license server's part of the output begins, with the members that were asked for. Returns the part's number,
     * which is the same where the same members are asked for again.
     */
    asked(spec: readonly NamedMember[]): number {
      const key = spec.map(addressOf).join(",");
      current = numbers.get(key) ?? parts.length;
      // Two that name no member may be different servers.
      if (key !== "") numbers.set(key, current);
      if (current === parts.length) parts.push(createPart(spec));
      return current;
    },
    status: (line: PartLine) => parts[current]?.status(line),
    /** Nothing answered in this part: its members without a known status are down. */
    unanswered: (error: ToolError) => parts[current]?.unanswered(error),
    list(): MemberReading[] {
      // A triad and one of its hosts may stand in two license files.
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

/** The members of one license server's part of the output. */
function createPart(spec: readonly NamedMember[]) {
  const byAddress = new Map(spec.map((member) => [addressOf(member), draftOf(member)]));
  /** Members by the spec. */
  const named = [...byAddress.values()];
  const strangers: Draft[] = [];
  const members = named.slice();

  function find(host: string): Draft | undefined {
    const key = host.toLowerCase();
    const known = members.slice(0, MAX_KNOWN);
    // The lines of one host stand in the order of its ports.
    const exact = known.filter((member) => member.host.toLowerCase() === key);
    if (exact.length > 0) return exact.find(isSilent) ?? exact[0];
    // Short and long names of one host are mixed (`lic1` and `lic1.example.com`), two long names differ.
    const label = firstLabel(key);
    if (label === null) return undefined;
    const [other, more] = known.filter((member) => firstLabel(member.host.toLowerCase()) === label);
    if (other === undefined || more !== undefined) return undefined;
    return label === key || label === other.host.toLowerCase() ? other : undefined;
  }

  /**
   * A host that is asked by an alias or an address answers by a name of its own. As many silent names as strangers are
   * the same hosts, in their order; fewer names than strangers, and all of them silent, only lead to these.
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
  return { host, port, status: "unknown", master: false, version: null, error: null };
}

/** No line has said anything about it. */
function isSilent({ status, error }: Draft): boolean {
  return status === "unknown" && error === null;
}

/** The host's first label; null for addresses, whose parts are no names. */
function firstLabel(host: string): string | null {
  if (/^[\d.]+$/.test(host) || host.includes(":")) return null;
  const dot = host.indexOf(".");
  return dot === -1 ? host : host.slice(0, dot);
}
