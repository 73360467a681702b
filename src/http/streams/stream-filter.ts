import { type EventType, FRAME_NAMES, type FrameName } from "../../domain/events.ts";
import type { Audience } from "../../domain/words.ts";
import { wordMatcher, wordsOf } from "../../store/log-words.ts";
import { ANONYMOUS_FORM } from "../anonymous/anonymous.ts";
import { LOG_FILTER, searchWords, union } from "../log-filter.ts";
import {
  integer,
  NAMED,
  names,
  type QueryDefinition,
  type QueryOf,
  queryOf,
  text,
  word,
  wordList,
} from "../query.ts";
import { BOTH, type EncodedEvent, FIRST, NONE, type Parts, SECOND, THIRD, twinOf } from "./encode.ts";

export const STREAM_NAMES = ["logs", "metrics", "combined"] as const;
export type StreamName = (typeof STREAM_NAMES)[number];

/** Parameters that a WebSocket's `filter` message replaces. */
export const LOG_PARAMETERS = { ...LOG_FILTER, pattern: searchWords("the message of a log event") };
const OF_FEATURES = "Only checkouts, checkins, denials and alerts of these features.";
const DOMAIN_PARAMETERS = {
  feature: { ...NAMED.feature, description: OF_FEATURES },
  daemon: { ...NAMED.daemon, description: "Only domain events of these daemons." },
  server: {
    ...NAMED.server,
    description:
      "Only domain events and pictures of these servers. No other parameter filters pictures. An unknown server is answered with 404.",
  },
  label: { ...NAMED.label, description: "Only domain events of servers with this label, `name:value`." },
  user: names("Only checkouts, checkins and denials of these users.", "ada"),
};
const METRICS_PARAMETERS = {
  interval: integer("Milliseconds between two metrics events.", { minimum: 250, maximum: 3_600_000 }, 10_000),
  include: wordList(["system", "licenses", "all"], "Content of metrics events. Default: all."),
};
const RESUME = "Resume after this event. The header Last-Event-ID takes precedence.";
const EVENTS =
  "Names of the frames to send. Default: all except `picture`. With `message`, each event is sent once, in a frame named " +
  "`message`, which an EventSource delivers to `onmessage`; the other names then select the events. Without `message`, " +
  "`onmessage` gets nothing.";
const HEARTBEAT =
  "Heartbeat every 15 s: a comment, which EventSource hides, or a frame `heartbeat` without an id. " +
  "A WebSocket gets heartbeats only with `event`.";
const common = (frames: readonly FrameName[]) => ({
  events: wordList(frames, EVENTS),
  heartbeat: word(["comment", "event"], HEARTBEAT),
  last_event_id: text(RESUME, "1769847330123"),
});

/** Parameters by stream, the same for both transports. The gate reads `api_key`. */
export const STREAM_QUERIES = {
  logs: queryOf({ ...LOG_PARAMETERS, ...common(["log", "error_log", "warning_log", "message"]) }),
  metrics: queryOf({ ...METRICS_PARAMETERS, ...common(["metrics", "message"]) }),
  combined: queryOf({
    ...LOG_PARAMETERS,
    ...METRICS_PARAMETERS,
    ...DOMAIN_PARAMETERS,
    ...common(FRAME_NAMES),
  }),
} as const;

export type StreamQuery = Pick<QueryDefinition, "parameters" | "schema"> & { parse(query: string): Wanted };
/** Only a hub has `site`. */
export type Wanted = Partial<QueryOf<(typeof STREAM_QUERIES)["combined"]>> & {
  readonly site?: readonly string[] | null;
};

/** Filter of one client; equal filters have equal keys and share chunks. */
export type StreamFilter = ReturnType<typeof createStreamFilter>;

export interface Sight {
  /** Hidden sources of log events. */
  readonly hidden: readonly string[];
  /** Whether people and hosts are shown, have pseudonyms, or are hidden. */
  readonly audience: Audience;
}

const OF_PEOPLE: readonly EventType[] = ["checkout", "checkin", "denial"];

export function createStreamFilter(stream: StreamName, wanted: Wanted, { hidden, audience }: Sight) {
  const anonymous = audience !== "names";
  const { include = null, interval = 10_000 } = wanted;
  const events = wanted.events?.filter((name) => name !== "message") ?? [];
  const levels = setOf<string>(union(wanted.level, wanted.levels));
  const sources = setOf<string>(union(wanted.source, wanted.sources));
  const logServers = setOf(wanted.server_ids ?? null);
  const hasWords = wanted.pattern ? wordMatcher(wordsOf(wanted.pattern)) : null;
  // Pictures must be requested explicitly.
  const wantsFrame = (name: Exclude<FrameName, "message">) =>
    events.length === 0 ? name !== "picture" : events.includes(name);
  const metricsParts = partsIncluded(include);
  const hasMetrics = stream !== "logs" && wantsFrame("metrics");
  const subjects = (["site", "feature", "daemon", "server", "user"] as const).flatMap((field) => {
    const names = wanted[field] ?? null;
    return names === null ? [] : [{ field, names: new Set(names) }];
  });
  const sites = wanted.site ? new Set(wanted.site) : null;

  const logParts = (event: EncodedEvent): Parts => {
    const { level, source } = event.row;
    if (stream === "metrics" || source === null || hidden.includes(source)) return NONE;
    if (levels !== null && (level === null || !levels.has(level))) return NONE;
    if (sources !== null && !sources.has(source)) return NONE;
    if (sites !== null && !sites.has(event.about(FIRST).site ?? "")) return NONE;
    if (logServers !== null && !logServers.has(event.about(FIRST).metadata?.server ?? "")) return NONE;
    if (hasWords !== null && !hasWords(event.about(FIRST).message ?? "")) return NONE;
    const twin = twinOf(level);
    return (wantsFrame("log") ? FIRST : NONE) | (twin !== null && wantsFrame(twin) ? SECOND : NONE);
  };

  return {
    key: JSON.stringify([stream, { ...wanted, last_event_id: null }, hidden.length, audience]),
    /** Metrics interval; null without metrics. */
    intervalMs: hasMetrics ? interval : null,
    /** Uses one frame name, `message`. */
    asMessage: wanted.events?.includes("message") ?? false,
    /** Sends heartbeats as events. */
    seesHeartbeat: wanted.heartbeat === "event",
    takesPictures: stream === "combined" && wantsFrame("picture"),
    /** Sites of pictures; null means all. */
    sites: wanted.site ?? null,
    servers: wanted.server ?? null,
    partsOf(event: EncodedEvent): Parts {
      const { type } = event.row;
      if (anonymous && ANONYMOUS_FORM[type] === "never") return NONE;
      if (audience === "counts" && OF_PEOPLE.includes(type)) return NONE;
      if (type === "log") return logParts(event);
      if (type === "metrics") return hasMetrics ? metricsParts : NONE;
      if (stream !== "combined" || !wantsFrame(type)) return NONE;
      const own = type === "picture" && audience === "counts" ? THIRD : SECOND;
      const part = anonymous && ANONYMOUS_FORM[type] === "pseudonyms" ? own : FIRST;
      // Compare the form that the client gets, so that an anonymized client filters by pseudonym.
      const isWanted = ({ field, names }: (typeof subjects)[number]) =>
        // Filter pictures only by server and site, because a picture without some features could not be
        // assembled.
        (type === "picture" && field !== "server" && field !== "site") ||
        names.has(event.about(part)[field] ?? "");
      return subjects.every(isWanted) ? part : NONE;
    },
  };
}

const setOf = <T>(list: readonly T[] | null) => list && new Set(list);

function partsIncluded(include: Wanted["include"]): Parts {
  if (!include || include.includes("all")) return BOTH;
  return (include.includes("system") ? FIRST : NONE) | (include.includes("licenses") ? SECOND : NONE);
}
