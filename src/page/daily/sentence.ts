import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { number } from "../format.ts";
import type { Unhandled } from "../live/alerts.ts";
import type { Place } from "../model.ts";
import { conditionOf, KINDS, type Kind, kindOf, MARK_OF, placeOf } from "./condition.ts";
import { daily } from "./words.ts";

/** Text, optionally a link. */
interface Part {
  readonly text: string;
  readonly to?: Place;
}

/** More problems than this are counted by kind. */
const MOST_NAMED = 3;

/** Describes the state of the site in one sentence. Disabled servers do not count. */
export function sentenceOf(
  all: readonly KeptServer[],
  unhandled: Unhandled | null,
): { readonly mark: (typeof MARK_OF)[Kind] | "full"; readonly parts: readonly Part[] } {
  const servers = all.filter(({ enabled }) => enabled);
  if (servers.length === 0) return { mark: "unknown", parts: [{ text: daily.allOff(all.length) }] };
  const kinds = Map.groupBy(servers, kindOf);
  const worst = KINDS.find((kind) => kinds.has(kind)) ?? "fine";
  const fine = kinds.get("fine")?.length ?? 0;
  const whole: Part[] = [
    { text: daily.servers(fine, servers.length), to: { path: "servers" } },
    { text: daily.areFine(fine) },
  ];
  const named = (server: KeptServer): Part[] => [
    { text: server.id, to: placeOf(server) },
    { text: ` ${conditionOf(server)}` },
  ];
  const counted = (kind: Kind): Part[] => {
    const text = `${number(kinds.get(kind)?.length ?? 0)} ${daily.kinds[kind].toLowerCase()}`;
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

/** Describes open alerts of a site whose servers are all healthy. */
function restOf(unhandled: Unhandled | null): Part[] {
  if (unhandled === null) return [{ text: "." }];
  if (unhandled.count === 0) return [{ text: daily.nothingWrong }];
  return [
    { text: ", " },
    { text: daily.things(unhandled.count), to: { path: "alerts" } },
    { text: daily.need(unhandled.count) },
  ];
}
