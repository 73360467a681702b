import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import type { Unhandled } from "../live/alerts.ts";
import type { Place } from "../model.ts";
import { conditionOf, KINDS, type Kind, kindOf, MARK_OF } from "./condition.ts";
import { daily } from "./words.ts";

/** Words, some of them a link. */
export interface Part {
  readonly text: string;
  readonly to?: Place;
}

export interface Sentence {
  readonly mark: (typeof MARK_OF)[Kind];
  readonly parts: readonly Part[];
}

/** More troubles than that are counted by kind. */
const MOST_NAMED = 3;
export const placeOf = ({ id }: Pick<KeptServer, "id">): Place => ({ path: "server", query: { id } });

/** The state of the site in one sentence. Servers that the config switches off count for nothing. */
export function sentenceOf(all: readonly KeptServer[], unhandled: Unhandled | null): Sentence {
  const servers = all.filter(({ enabled }) => enabled);
  const [only] = servers;
  if (only === undefined) return { mark: "unknown", parts: [{ text: daily.allOff(all.length) }] };
  const kinds = Map.groupBy(servers, kindOf);
  const fine = kinds.get("fine") ?? [];
  const troubled = KINDS.filter((kind) => kind !== "fine").flatMap((kind) => kinds.get(kind) ?? []);
  const worst = KINDS.find((kind) => kinds.has(kind)) ?? "fine";
  const whole: Part = { text: daily.servers(fine.length, servers.length), to: { path: "servers" } };
  if (servers.length === 1)
    return {
      mark: worst === "fine" ? markOf(unhandled) : MARK_OF[worst],
      parts: [
        { text: only.id, to: placeOf(only) },
        { text: ` ${conditionOf(only)}` },
        ...(worst === "fine" ? rest(unhandled) : [{ text: "." }]),
      ],
    };
  if (troubled.length === 0)
    return { mark: markOf(unhandled), parts: [whole, { text: ` ${daily.are}` }, ...rest(unhandled)] };
  const named =
    troubled.length <= MOST_NAMED
      ? troubled.map((server): Part[] => [
          { text: server.id, to: placeOf(server) },
          { text: ` ${conditionOf(server)}` },
        ])
      : KINDS.filter((kind) => kind !== "fine").flatMap((kind): Part[][] => {
          const count = kinds.get(kind)?.length ?? 0;
          const to: Place = { path: "servers", query: { is: kind } };
          return count === 0 ? [] : [[{ text: daily.count(count), to }, { text: ` ${daily.many[kind]}` }]];
        });
  const list = named.flatMap((parts, at) => (at === 0 ? parts : [{ text: ", " }, ...parts]));
  const opening: Part[] =
    fine.length === 0
      ? [{ text: daily.none(servers.length), to: { path: "servers" } }, { text: ": " }]
      : [whole, { text: ` ${daily.areFine(fine.length)} ` }];
  return { mark: MARK_OF[worst], parts: [...opening, ...list, { text: "." }] };
}

const markOf = (unhandled: Unhandled | null) =>
  unhandled?.worst === "critical" ? "crit" : unhandled?.worst === "warning" ? "warn" : "ok";

/** Behind a site whose servers are all fine. */
function rest(unhandled: Unhandled | null): Part[] {
  if (unhandled === null) return [{ text: "." }];
  if (unhandled.count === 0) return [{ text: daily.nothingWrong }];
  return [
    { text: ", " },
    { text: daily.things(unhandled.count), to: { path: "alerts" } },
    { text: daily.need(unhandled.count) },
  ];
}
