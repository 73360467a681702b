import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { daily } from "./words.ts";

/** Whether a server works and its figures are of the last poll; the worst first. */
export const KINDS = ["down", "unread", "stale", "degraded", "partial", "never", "off", "fine"] as const;
export type Kind = (typeof KINDS)[number];

/** How each kind is marked (`parts/marks.tsx`). */
export const MARK_OF = {
  down: "crit",
  unread: "crit",
  stale: "stale",
  degraded: "warn",
  partial: "partial",
  never: "unknown",
  off: "unknown",
  fine: "ok",
} as const satisfies Record<Kind, string>;

export function kindOf({ enabled, lastPollAt, status, state }: KeptServer): Kind {
  if (!enabled) return "off";
  if (lastPollAt === null) return "never";
  if (status === "down") return "down";
  if (status === "unknown") return "unread";
  if (state === "stale" || state === "failed") return "stale";
  if (status === "degraded") return "degraded";
  return state === "partial" ? "partial" : "fine";
}

/** What is so about the server, to be read behind its name: `runs on 2 of 3 members`. */
export function conditionOf(server: KeptServer): string {
  const kind = kindOf(server);
  const { members, daemons } = server;
  const up = members.filter(({ status }) => status === "up").length;
  if (kind === "degraded" && up < members.length) return daily.runsOn(up, members.length);
  if (kind !== "degraded") return kind === "down" && up > 0 ? daily.noDaemon : daily.conditions[kind];
  const lost = daemons.filter(({ status }) => status !== "up").map(({ name }) => name);
  return lost.length === 0 ? daily.conditions.degraded : daily.runsWithout([...new Set(lost)].join(", "));
}

/** The same without the name before it. */
export const aloneOf = (server: KeptServer): string =>
  kindOf(server) === "fine" ? daily.alone : conditionOf(server);

/** The same where there is little room, and where the name of one that is fine says more. */
export function shortOf(server: KeptServer): string {
  const kind = kindOf(server);
  const up = server.members.filter(({ status }) => status === "up").length;
  if (kind === "degraded" && up < server.members.length) return daily.members(up, server.members.length);
  return kind === "fine" ? server.name : conditionOf(server);
}

/** When its figures were read, epoch ms; null = never. */
export function readAt({ collectedAt }: Pick<KeptServer, "collectedAt">): number | null {
  return collectedAt === null ? null : Date.parse(collectedAt);
}

/** Whether its figures are older than its last poll. */
export const isOld = (server: KeptServer): boolean =>
  server.collectedAt !== null && ["down", "unread", "stale"].includes(kindOf(server));
