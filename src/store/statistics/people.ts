import { clip } from "../../domain/stats/holding.ts";
import type { HistoryRead, KnownFeature } from "../history/read.ts";
import { overlapCondition } from "./filters.ts";
import { type Asked, holdings } from "./open-sessions.ts";
import type { Range } from "./range.ts";
import { eachSession, sessionsOf } from "./session-rows.ts";

/** Sessions and their distinct users. */
export interface Holders {
  readonly sessions: number;
  readonly uniqueUsers: number;
}

/** Features asked for one by one; of more, all sessions of the range are read once. */
const FEW_FEATURES = 50;

/** Who held seats of these features in a range. In the order of the features. */
export function holdersOf(
  read: Pick<HistoryRead, "all" | "checkpoint">,
  features: readonly KnownFeature[],
  { start, end }: Range,
  asked: Asked,
): Holders[] {
  const { holdingOf } = holdings(read, asked);
  const found = features.map(() => ({ sessions: 0, users: new Set<string>() }));
  const index = new Map(features.map((feature, at) => [keyOf(feature), found[at]]));
  const visit = (session: Parameters<Parameters<typeof eachSession>[2]>[0]) => {
    const holders = index.get(keyOf(session));
    if (holders === undefined || clip(holdingOf(session), start, end) === null) return;
    holders.sessions++;
    holders.users.add(session.user);
  };
  if (features.length > FEW_FEATURES) eachSession(read, overlapCondition(start, end), visit);
  else for (const feature of features) sessionsOf(read, feature, start, end).forEach(visit);
  return found.map(({ sessions, users }) => ({ sessions, uniqueUsers: users.size }));
}

/** Every name that sessions hold: what an anonymized caller's filter is looked up in. */
export function namesOf(read: Pick<HistoryRead, "all">): { users: string[]; hosts: string[] } {
  const distinct = (column: string) =>
    read
      .all<{ name: string }>(`SELECT DISTINCT ${column} AS name FROM sessions WHERE ${column} IS NOT NULL`)
      .map(({ name }) => name);
  return { users: distinct("user"), hosts: distinct("host") };
}

function keyOf({ server, daemon, feature }: Pick<KnownFeature, "server" | "daemon" | "feature">): string {
  return `${server}\0${daemon}\0${feature}`;
}
