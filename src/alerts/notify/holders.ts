import type { CheckoutPicture, ServerPicture } from "../../domain/picture.ts";
import { iso } from "../../domain/time/clock.ts";
import type { NotedHolder } from "./note.ts";

/** People named in a message. */
const MAX_HOLDERS = 3;

/** Who holds the most seats of a feature, and of those with equally many, who holds them longest. */
export function topHolders({ features }: ServerPicture, daemon: string, name: string): NotedHolder[] {
  const feature = features.find((each) => each.daemon === daemon && each.name === name);
  const byHolder = Map.groupBy(feature?.checkouts ?? [], ({ user, host }) => `${user}\0${host ?? ""}`);
  return [...byHolder.values()]
    .map((own) => {
      const { user = "", host = null } = own[0] ?? {};
      const seats = own.reduce((sum, { count }) => sum + count, 0);
      return { user, host, seats, since: Math.min(...own.map(sinceOf)) };
    })
    .sort((a, b) => b.seats - a.seats || a.since - b.since)
    .slice(0, MAX_HOLDERS)
    .map(({ since, ...holder }) => ({ ...holder, since: Number.isFinite(since) ? iso(since) : null }));
}

function sinceOf({ beganAt, startedAt, firstSeenAt }: CheckoutPicture): number {
  return beganAt ?? startedAt ?? firstSeenAt ?? Number.POSITIVE_INFINITY;
}
