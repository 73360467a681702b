import type { ComponentChildren } from "preact";
import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { number } from "../format.ts";
import { Age, State, UsedOf } from "../parts/marks.tsx";
import { hrefOf } from "../router.ts";
import { isOld, KIND_WORDS, kindOf, MARK_OF, placeOf, readAt } from "./condition.ts";
import { type Day, stepsOf } from "./series.ts";

export function Tile(props: {
  readonly server: KeptServer;
  readonly day: Day | null;
  readonly says: ComponentChildren;
  readonly isLost?: boolean;
  readonly bar?: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  const { server, day, isLost = false } = props;
  const [kind, at] = [kindOf(server), readAt(server)];
  const shown = isLost && kind === "fine" ? "stale" : kind;
  const isStale = isLost || isOld(server);
  return (
    <a class={`tile ${isStale ? "stale-row" : ""}`} href={hrefOf(placeOf(server))}>
      <span class="l1">
        <State is={MARK_OF[shown]} quiet>
          {KIND_WORDS[shown]}:
        </State>
        <b class="el">{server.id}</b>
        <span class="age">{at !== null && <Age at={at} />}</span>
      </span>
      <span class="l2">
        <span class="el say">{props.says}</span>
        <span class="tot">
          <UsedOf {...server.counts} between=" of " />
        </span>
      </span>
      {props.bar}
      <Spark day={day} server={server} isStale={isStale} />
      {props.children}
    </a>
  );
}

const DAY_MS = 86_400_000;
const LEAST_GAP = 2;

type SparkProps = Readonly<{ day: Day | null; server: KeptServer; isStale: boolean }>;

function Spark({ day, server, isStale }: SparkProps) {
  const { used, total } = server.counts;
  const buckets = day?.servers.get(server.id) ?? [];
  if (day === null || buckets.every((bucket) => bucket.used === null)) return <span class="spark" />;
  const top = Math.max(1, total ?? 0, ...buckets.map((each) => Math.max(each.used ?? 0, each.total ?? 0)));
  const { line, area, gaps } = stepsOf(buckets, day.until - DAY_MS, day.until, top);
  const [now = "", of = ""] = [used, total].map((count) => (count === null ? "not known" : number(count)));
  return (
    <span
      class={`spark ${isStale ? "stale" : ""}`}
      role="img"
      aria-label={`Seats in use over 24 h, now ${now} of ${of}`}
    >
      {gaps
        .filter(([, wide]) => wide >= LEAST_GAP)
        .map(([left, wide]) => (
          <i key={left} class="gap" style={{ left: `${left}%`, width: `${wide}%` }} />
        ))}
      <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
        <path class="area" d={area} />
        <path class="ln" d={line} />
        {used !== null && !isStale && (
          <path class="now" d={`M100 ${100 * (1 - Math.min(1, used / top))}h0`} />
        )}
      </svg>
    </span>
  );
}
