import { FRAME_NAMES, type FrameName } from "../../domain/events.ts";
import { LOG_LEVELS, type LogLevel, type LogSource } from "../../domain/words.ts";
import { ANONYMOUS_FORM } from "../anonymous/picture.ts";
import { integer, NAMED, names, type QueryOf, queryOf, text, wordList } from "../query.ts";

import { BOTH, type EncodedEvent, FIRST, NONE, type Parts, SECOND, type Subject, twinOf } from "./encode.ts";

export const STREAM_NAMES = ["logs", "metrics", "combined"] as const;
export type StreamName = (typeof STREAM_NAMES)[number];

const LOG_PARAMETERS = {
  level: wordList(LOG_LEVELS, "Levels of log events. All when absent."),
  levels: wordList(LOG_LEVELS, "The same as `level`; what both name adds up."),
  source: names("Sources of log events, by name. All when absent.", "collector"),
  sources: names("The same as `source`; what both name adds up.", "collector"),
};
const DOMAIN_PARAMETERS = {
  feature: {
    ...NAMED.feature,
    description: "Only checkouts, checkins, denials and alerts of these features.",
  },
  daemon: { ...NAMED.daemon, description: "Only domain events of these daemons." },
  server: { ...NAMED.server, description: "Only domain events of these servers. An unknown one is 404." },
  user: names("Only checkouts, checkins and denials of these users.", "ada"),
};
const METRICS_PARAMETERS = {
  interval: integer("Milliseconds between two metrics events.", { minimum: 250, maximum: 3_600_000 }, 10_000),
  include: wordList(["system", "licenses", "all"], "What metrics events hold. All when absent."),
};
const RESUME = {
  last_event_id: text(
    "Resume behind this event, as the header Last-Event-ID does, which beats it.",
    "1769847330123",
  ),
};
const namesOf = (list: readonly FrameName[]) => ({
  events: wordList(list, "Names of the frames to send: the way to have each log event once."),
});

/** Query parameters of each stream, the same for server-sent events and WebSockets. `api_key` is the gate's. */
export const STREAM_QUERIES = {
  logs: queryOf({ ...LOG_PARAMETERS, ...namesOf(["log", "error_log", "warning_log"]), ...RESUME }),
  metrics: queryOf({ ...METRICS_PARAMETERS, ...namesOf(["metrics"]), ...RESUME }),
  combined: queryOf({
    ...LOG_PARAMETERS,
    ...METRICS_PARAMETERS,
    ...DOMAIN_PARAMETERS,
    ...namesOf(FRAME_NAMES),
    ...RESUME,
  }),
} as const;

export type Wanted = Partial<QueryOf<(typeof STREAM_QUERIES)["combined"]>>;

/** What one client gets. Equal filters have equal keys, so that what they send is put together once. */
export interface StreamFilter {
  readonly key: string;
  readonly stream: StreamName;
  /** Interval of metrics events; null when the client wants none. */
  readonly intervalMs: number | null;
  /** The parts of an event that the client wants. */
  partsOf(event: Pick<EncodedEvent, "type" | "level" | "source" | "about">): Parts;
}

/** What a key may see of the events. */
export interface Sight {
  /** Sources of log events that are left out. */
  readonly hidden: readonly LogSource[];
  /** People and their hosts are shown under pseudonyms. */
  readonly anonymous: boolean;
}

/** Sources that a viewer may not see: they tell who does what. */
export const HIDDEN_FROM_VIEWERS: readonly LogSource[] = ["auth", "audit", "http"];

export function createStreamFilter(
  stream: StreamName,
  wanted: Wanted,
  { hidden, anonymous }: Sight,
): StreamFilter {
  const { events = null, include = null, interval = 10_000 } = wanted;
  const { feature = null, daemon = null, server = null, user = null } = wanted;
  const levels = union<LogLevel>(wanted.level, wanted.levels);
  const sources = union<string>(wanted.source, wanted.sources);
  const frames = events && new Set<FrameName>(events);
  const metricsParts = partsIncluded(include);
  const hasMetrics = stream !== "logs" && (frames === null || frames.has("metrics"));

  const logParts = (type: EncodedEvent["type"], level: LogLevel | null, source: LogSource | null): Parts => {
    if (stream === "metrics" || source === null || hidden.includes(source)) return NONE;
    if (levels !== null && (level === null || !levels.has(level))) return NONE;
    if (sources !== null && !sources.has(source)) return NONE;
    const twin = twinOf(type, level);
    const own = frames === null || frames.has("log") ? FIRST : NONE;
    return own | (twin !== null && (frames === null || frames.has(twin)) ? SECOND : NONE);
  };

  const subjects = Object.entries({ feature, daemon, server, user }).flatMap(([field, names]) =>
    names === null ? [] : [{ field: field as keyof Subject, names: new Set(names) }],
  );

  return {
    key: JSON.stringify([
      ...[stream, levels && [...levels], sources && [...sources], events, include],
      ...[feature, daemon, server, user],
      ...[hasMetrics && interval, hidden.length, anonymous],
    ]),
    stream,
    intervalMs: hasMetrics ? interval : null,
    partsOf({ type, level, source, about }) {
      if (anonymous && ANONYMOUS_FORM[type] === "never") return NONE;
      if (type === "log") return logParts(type, level, source);
      if (type === "metrics") return hasMetrics ? metricsParts : NONE;
      if (stream !== "combined" || (frames !== null && !frames.has(type))) return NONE;
      const part = anonymous && ANONYMOUS_FORM[type] === "pseudonyms" ? SECOND : FIRST;
      if (subjects.length === 0) return part;
      // In the form that the client gets: a pseudonym is asked for by itself.
      const subject = about(part);
      return subjects.every(({ field, names }) => names.has(subject[field] ?? "")) ? part : NONE;
    },
  };
}

function union<T>(one: readonly T[] | null = null, other: readonly T[] | null = null): Set<T> | null {
  return one === null && other === null ? null : new Set([...(one ?? []), ...(other ?? [])]);
}

function partsIncluded(include: readonly ("system" | "licenses" | "all")[] | null): Parts {
  if (include === null || include.includes("all")) return BOTH;
  return (include.includes("system") ? FIRST : NONE) | (include.includes("licenses") ? SECOND : NONE);
}
