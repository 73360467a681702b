import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { capital, number, plural } from "../format.ts";
import type { Unhandled } from "../live/alerts.ts";
import type { Place } from "../model.ts";

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

export const isTroubled = (server: KeptServer): boolean => !["fine", "off"].includes(kindOf(server));

export const membersUp = ({ members }: Pick<KeptServer, "members">): number =>
  members.filter(({ status }) => status === "up").length;

export function conditionOf(server: KeptServer): string {
  const kind = kindOf(server);
  const [up, all] = [membersUp(server), server.members.length];
  if (kind === "down" && up > 0) return "answers, but none of its daemons works";
  if (kind !== "degraded") return CONDITIONS[kind];
  if (up < all) return `runs on ${up} of ${all} members`;
  const lost = server.daemons.filter(({ status }) => status !== "up").map(({ name }) => name);
  return lost.length === 0 ? CONDITIONS.degraded : `runs without ${[...new Set(lost)].join(", ")}`;
}

export function aloneOf(server: KeptServer): string {
  return kindOf(server) === "fine" ? KIND_WORDS.fine : capital(conditionOf(server));
}

/** Describes the condition briefly. Returns the name of a healthy server. */
export function shortOf(server: KeptServer): string {
  const [kind, up, all] = [kindOf(server), membersUp(server), server.members.length];
  if (kind === "fine") return server.name;
  return kind === "degraded" && up < all ? `${up} of ${all} members` : conditionOf(server);
}

/** Returns the time of the server's numbers in epoch ms; null if the server was never read. */
export function readAt({ collectedAt }: Pick<KeptServer, "collectedAt">): number | null {
  return collectedAt === null ? null : Date.parse(collectedAt);
}

export const isOld = (server: KeptServer): boolean =>
  server.collectedAt !== null && ["down", "unread", "stale"].includes(kindOf(server));

type Part = Readonly<{ text: string; to?: Place }>;

/** Maximum number of problems that are named. If there are more, they are counted by kind. */
const MOST_NAMED = 3;

/** Describes the state of the site in one sentence. Disabled servers do not count. */
export function sentenceOf(
  all: readonly KeptServer[],
  unhandled: Unhandled | null,
): { readonly mark: (typeof MARK_OF)[Kind] | "full"; readonly parts: readonly Part[] } {
  const servers = all.filter(({ enabled }) => enabled);
  if (servers.length === 0)
    return {
      mark: "unknown",
      parts: [
        {
          text:
            all.length === 1
              ? "The only server is switched off in the config."
              : `All ${number(all.length)} servers are switched off in the config.`,
        },
      ],
    };
  const kinds = Map.groupBy(servers, kindOf);
  const worst = KINDS.find((kind) => kinds.has(kind)) ?? "fine";
  const fine = kinds.get("fine")?.length ?? 0;
  const some = fine === 0 ? "None of" : fine === servers.length ? "All" : `${number(fine)} of`;
  const whole: Part[] = [
    {
      text: `${some} ${number(servers.length)} servers`,
      to: { path: "servers" },
    },
    { text: fine <= 1 ? " is fine" : " are fine" },
  ];
  const named = (server: KeptServer): Part[] => [
    { text: server.id, to: placeOf(server) },
    { text: ` ${conditionOf(server)}` },
  ];
  const counted = (kind: Kind): Part[] => {
    const text = `${number(kinds.get(kind)?.length ?? 0)} ${KIND_WORDS[kind].toLowerCase()}`;
    return [{ text, to: { path: "servers", query: { is: kind } } }];
  };
  const troubled = KINDS.filter((kind) => kind !== "fine" && kinds.has(kind));
  const of = troubled.flatMap((kind) => kinds.get(kind) ?? []);
  const [only] = servers.length === 1 ? servers : [];
  if (worst === "fine") {
    const tone = unhandled?.worst ?? "info";
    const mark = tone === "info" ? "ok" : tone;
    return { mark, parts: [...(only ? named(only) : whole), ...restOf(unhandled)] };
  }
  const parts = (of.length > MOST_NAMED ? troubled.map(counted) : of.map(named)).flatMap((part, at) =>
    at === 0 ? part : [{ text: ", " }, ...part],
  );
  return {
    mark: MARK_OF[worst],
    parts: [...(only ? [] : [...whole, { text: ". " }]), ...parts, { text: "." }],
  };
}

function restOf(unhandled: Unhandled | null): Part[] {
  if (unhandled === null) return [{ text: "." }];
  if (unhandled.count === 0) return [{ text: ", and nothing needs attention." }];
  return [
    { text: ", " },
    { text: plural(unhandled.count, "alert"), to: { path: "alerts" } },
    { text: unhandled.count === 1 ? " needs attention." : " need attention." },
  ];
}
