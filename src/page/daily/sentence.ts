import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { number, plural } from "../format.ts";
import type { Unhandled } from "../live/alerts.ts";
import type { Place } from "../model.ts";
import { conditionOf, KIND_WORDS, KINDS, type Kind, kindOf, MARK_OF, placeOf } from "./condition.ts";

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
  const whole: Part[] = [
    {
      text: `${fine === servers.length ? "All" : fine === 0 ? "None of" : `${number(fine)} of`} ${number(servers.length)} servers`,
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

/** Describes open alerts of a site whose servers are all healthy. */
function restOf(unhandled: Unhandled | null): Part[] {
  if (unhandled === null) return [{ text: "." }];
  if (unhandled.count === 0) return [{ text: ", and nothing needs attention." }];
  return [
    { text: ", " },
    { text: plural(unhandled.count, "alert"), to: { path: "alerts" } },
    { text: unhandled.count === 1 ? " needs attention." : " need attention." },
  ];
}
