import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { capital } from "../format.ts";
import type { Place } from "../model.ts";

/** Conditions of a server, worst first, with their marks (`parts/marks.tsx`). */
export const MARK_OF = {
  down: "crit",
  unread: "crit",
  stale: "stale",
  degraded: "warn",
  partial: "partial",
  never: "unknown",
  off: "unknown",
  fine: "ok",
} as const;
export type Kind = keyof typeof MARK_OF;
/** A condition in one word. */
export const KIND_WORDS: Readonly<Record<Kind, string>> = {
  down: "Down",
  unread: "Not read",
  stale: "Stale",
  degraded: "Degraded",
  partial: "Partial",
  never: "Not polled yet",
  off: "Switched off",
  fine: "Fine",
};
/** A condition after the server's name. */
export const CONDITIONS: Readonly<Record<Kind, string>> = {
  down: "does not answer",
  unread: "could not be read",
  stale: "is stale",
  degraded: "is degraded",
  partial: "was read in part",
  never: "was not polled yet",
  off: "is switched off in the config",
  fine: "is fine",
};
export const KINDS = Object.keys(MARK_OF) as readonly Kind[];

export function kindOf({ enabled, lastPollAt, status, state }: KeptServer): Kind {
  if (!enabled) return "off";
  if (lastPollAt === null) return "never";
  if (status === "down") return "down";
  if (status === "unknown") return "unread";
  if (state === "stale" || state === "failed") return "stale";
  if (status === "degraded") return "degraded";
  return state === "partial" ? "partial" : "fine";
}

export const placeOf = ({ id }: Pick<KeptServer, "id">): Place => ({ path: "server", query: { id } });

/** Reports whether a server is enabled and not healthy. */
export const isTroubled = (server: KeptServer): boolean => !["fine", "off"].includes(kindOf(server));

export const membersUp = ({ members }: Pick<KeptServer, "members">): number =>
  members.filter(({ status }) => status === "up").length;

/** Describes the condition after the server's name: `runs on 2 of 3 members`. */
export function conditionOf(server: KeptServer): string {
  const kind = kindOf(server);
  const [up, all] = [membersUp(server), server.members.length];
  if (kind === "down" && up > 0) return "answers, but none of its daemons works";
  if (kind !== "degraded") return CONDITIONS[kind];
  if (up < all) return `runs on ${up} of ${all} members`;
  const lost = server.daemons.filter(({ status }) => status !== "up").map(({ name }) => name);
  return lost.length === 0 ? CONDITIONS.degraded : `runs without ${[...new Set(lost)].join(", ")}`;
}

/** Describes the condition as a sentence of its own. */
export function aloneOf(server: KeptServer): string {
  return kindOf(server) === "fine" ? KIND_WORDS.fine : capital(conditionOf(server));
}

/** Describes the condition briefly; for a healthy server the name says more. */
export function shortOf(server: KeptServer): string {
  const [kind, up, all] = [kindOf(server), membersUp(server), server.members.length];
  if (kind === "fine") return server.name;
  return kind === "degraded" && up < all ? `${up} of ${all} members` : conditionOf(server);
}

/** Returns the time of the numbers in epoch ms; null if never read. */
export function readAt({ collectedAt }: Pick<KeptServer, "collectedAt">): number | null {
  return collectedAt === null ? null : Date.parse(collectedAt);
}

/** Reports whether the numbers are older than the last poll. */
export const isOld = (server: KeptServer): boolean =>
  server.collectedAt !== null && ["down", "unread", "stale"].includes(kindOf(server));
