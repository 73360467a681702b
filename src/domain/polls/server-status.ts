import type { DaemonReading, MemberReading, Reading } from "../reading.ts";
import type { PartStatus, ServerStatus } from "../words.ts";

/**
 * Derives the status of a server from its parts. The server works while `quorum` of its members are up; a
 * missing member or daemon makes it `degraded`. Without a working daemon all requests fail, so the server
 * counts as down even if its manager answers.
 */
export function serverStatus(
  members: readonly Pick<MemberReading, "status">[],
  daemons: readonly Pick<DaemonReading, "status">[],
  quorum: number,
): ServerStatus {
  const ofMembers = statusOf(members, quorum);
  const ofDaemons = statusOf(daemons, 1);
  if (members.length === 0) return daemons.length === 0 ? "unknown" : ofDaemons;
  if (daemons.length === 0 || ofMembers === "down" || ofMembers === "unknown") return ofMembers;
  if (ofDaemons === "up" || ofDaemons === "unknown") return ofMembers;
  return ofDaemons;
}

/** Reports whether the manager answered, but every daemon only with an error. */
export function isUnreadable({ daemons, features }: Pick<Reading, "daemons" | "features">): boolean {
  return (
    daemons.length > 0 &&
    daemons.every(({ status, error }) => status === "unknown" && error !== null) &&
    !features.some(isAnswered)
  );
}

/** Reports whether the feature was read from a server, not from a license file. */
export function isAnswered({ error, fromFile }: Reading["features"][number]): boolean {
  return error === null && fromFile !== true;
}

function statusOf(parts: readonly { readonly status: string }[], quorum: number): ServerStatus {
  const up = parts.filter((part) => part.status === "up").length;
  if (up === parts.length && up > 0) return "up";
  if (up >= quorum) return "degraded";
  return parts.some((part) => part.status === "down") ? "down" : "unknown";
}

/** Worst first. */
const RANK: Readonly<Record<PartStatus, number>> = { down: 0, unknown: 1, up: 2 };

/** Returns one daemon per name. If several license servers behind one address have it, returns the worst. */
export function worstOfEach<D extends Pick<DaemonReading, "name" | "status">>(daemons: readonly D[]): D[] {
  const worst = new Map<string, D>();
  for (const daemon of daemons) {
    const known = worst.get(daemon.name);
    if (known === undefined || RANK[daemon.status] < RANK[known.status]) worst.set(daemon.name, daemon);
  }
  return [...worst.values()];
}
