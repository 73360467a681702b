import type { DenialRecord, LoggingRecord } from "../../domain/denials.ts";
import type { Answers } from "../api.ts";
import type { Column } from "../columns.ts";
import { duration, moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import { isLogged, unknownByReason } from "../past-rows.ts";
import type { Range } from "../range.ts";
import { past } from "../words-past.ts";
import { FeatureLink, featureText, Person } from "./cells.tsx";
import { State, Unknown } from "./marks.tsx";
import { periodOf } from "./past-head.tsx";
import { Rows } from "./rows.tsx";

type Answer = Answers["/api/licenses/denials"];

/** Describes a period and the number of servers with known denials. */
export const knownIn = (range: Pick<Range, "start" | "end">, { logging }: Answer): string =>
  past.knownOf(periodOf(range), logging.filter((each) => isLogged(each, range.end)).length, logging.length);

/** Lists single denied requests. */
export function DenialRows(props: {
  readonly answer: Answer;
  readonly range: Pick<Range, "end">;
  /** Rows of more than one feature. */
  readonly isOfMany?: boolean;
}) {
  const { denials, total, logging } = props.answer;
  return (
    <Rows
      label={past.requests}
      rows={denials}
      total={total}
      none={logging.every((each) => isLogged(each, props.range.end)) ? past.noDenials : ""}
      columns={[
        { head: past.at, time: ({ timestamp }) => timestamp },
        ...(props.isOfMany === true ? [FEATURE] : []),
        {
          head: past.groups.user,
          by: ({ user }) => user,
          cell: (row) => (row.feature === null ? past.counted : <Person {...row} />),
        },
        {
          head: past.groups.host,
          wide: true,
          by: ({ host }) => host,
          cell: ({ host }) => (host === null ? <Unknown /> : <span class="m">{host}</span>),
        },
        { head: past.seats, value: ({ count }) => count, wide: true },
        { head: past.tries, right: true, wide: true, by: ({ attempts }) => attempts, cell: triesOf },
        {
          head: past.outcome,
          isWord: true,
          by: ({ outcome }) => past.outcomes[outcome],
          cell: ({ outcome }) => past.outcomes[outcome],
        },
        { head: past.reason, wide: true, by: reasonOf, cell: reasonOf },
      ]}
    />
  );
}

const FEATURE: Column<DenialRecord> = {
  head: past.groups.feature,
  by: featureText,
  cell: (row) => <FeatureLink {...row} />,
};

function triesOf({ attempts, timestamp, until }: DenialRecord) {
  const ms = Date.parse(until) - Date.parse(timestamp);
  return ms > 0 ? past.triesIn(attempts, duration(ms)) : number(attempts);
}

export const reasonOf = ({ reason, code }: Pick<DenialRecord, "reason" | "code">): string =>
  [reason, ...(code === null ? [] : [`(${code})`])].filter(Boolean).join(" ");

/** Lists servers whose denials are unknown for all or part of the range. */
export function NotLogged({
  logging,
  start,
}: {
  readonly logging: readonly LoggingRecord[];
  readonly start: number;
}) {
  const later = logging.filter(({ state, since }) => state === "on" && Date.parse(since ?? "") > start);
  const bySince = Map.groupBy(later, ({ since }) => moment(Date.parse(since ?? ""), now.peek()));
  return (
    <>
      {unknownByReason(logging).map(({ why, servers }) => (
        <p key={why} class="why">
          <State is="unknown">{past.notKnownOf(servers.join(", "))}</State> <span class="q">{why}.</span>
        </p>
      ))}
      {[...bySince].map(([since, of]) => (
        <p key={since} class="why q">
          {past.knownSince(of.map(({ server }) => server).join(", "), since)}
        </p>
      ))}
    </>
  );
}
