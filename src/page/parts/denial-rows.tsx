import type { DenialRecord, LoggingRecord } from "../../domain/denials.ts";
import type { Answers, Query } from "../api.ts";
import { duration, moment, number, plural } from "../format.ts";
import { now } from "../live/live.ts";
import { isLogged, unknownByReason } from "../past-rows.ts";
import type { Range } from "../range.ts";
import { Figure, MOST_ROWS } from "./figure.tsx";
import { Person, State, Unknown } from "./marks.tsx";
import { periodOf } from "./past-head.tsx";
import { FEATURE, Rows } from "./rows.tsx";

type Answer = Answers["/api/licenses/denials"];

/** Describes a period and the number of servers with known denials. */
export function knownIn(range: Pick<Range, "start" | "end">, { logging }: Answer): string {
  const known = logging.filter((each) => isLogged(each, range.end)).length;
  if (logging.length === 1) return `${periodOf(range)}${known === 1 ? "" : ", not known"}`;
  return `${periodOf(range)}, known of ${known} of ${logging.length} servers`;
}

export function DenialRows(props: {
  readonly answer: Answer;
  readonly range: Pick<Range, "end">;
  readonly isOfMany?: boolean;
}) {
  const { denials, total, logging } = props.answer;
  return (
    <Rows
      label="Requests"
      rows={denials}
      total={total}
      none={logging.every((each) => isLogged(each, props.range.end)) ? "No request was denied." : ""}
      columns={[
        { head: "At", time: ({ timestamp }) => timestamp },
        ...(props.isOfMany === true ? [FEATURE] : []),
        {
          head: "Person",
          by: ({ user }) => user,
          cell: (row) => (row.feature === null ? "counted, without names" : <Person {...row} />),
        },
        {
          head: "Host",
          wide: true,
          by: ({ host }) => host,
          cell: ({ host }) => (host === null ? <Unknown /> : <span class="m">{host}</span>),
        },
        { head: "Seats", value: ({ count }) => count, wide: true },
        { head: "Tries", right: true, wide: true, by: ({ attempts }) => attempts, cell: triesOf },
        { head: "Outcome", isWord: true, by: ({ outcome }) => OUTCOMES[outcome] },
        { head: "Reason", wide: true, by: reasonOf },
      ]}
    />
  );
}

const OUTCOMES = { denied: "denied", queued: "waited", granted_later: "granted later" };

function triesOf({ attempts, timestamp, until }: DenialRecord) {
  const ms = Date.parse(until) - Date.parse(timestamp);
  return ms > 0 ? `${plural(attempts, "try", "tries")} in ${duration(ms)}` : number(attempts);
}

export const reasonOf = ({ reason, code }: Pick<DenialRecord, "reason" | "code">): string =>
  [reason, ...(code === null ? [] : [`(${code})`])].filter(Boolean).join(" ");

export function DenialFigure(props: {
  readonly title: string;
  readonly query: Query;
  readonly range: Range;
  readonly isOfMany?: boolean;
}) {
  const { title, query, range, isOfMany = false } = props;
  return (
    <Figure
      title={title}
      path="/api/licenses/denials"
      query={{ ...query, limit: `${MOST_ROWS}` }}
      note={(answer) => knownIn(range, answer)}
    >
      {(answer) => (
        <>
          <NotLogged logging={answer.logging} start={range.start} />
          <DenialRows range={range} answer={answer} isOfMany={isOfMany} />
        </>
      )}
    </Figure>
  );
}

/** Lists servers whose denials are unknown for all or part of the range. */
export function NotLogged({
  logging,
  start,
}: Readonly<{ logging: readonly LoggingRecord[]; start: number }>) {
  const later = logging.filter(({ state, since }) => state === "on" && Date.parse(since ?? "") > start);
  const bySince = Map.groupBy(later, ({ since }) => moment(Date.parse(since ?? ""), now.peek()));
  return (
    <>
      {unknownByReason(logging).map(({ why, servers }) => (
        <p key={why} class="why">
          <State is="unknown">{`Denials are not known: ${servers.join(", ")}.`}</State>{" "}
          <span class="q">{why}.</span>
        </p>
      ))}
      {[...bySince].map(([since, of]) => (
        <p key={since} class="why q">
          {`${of.map(({ server }) => server).join(", ")}: known since ${since}.`}
        </p>
      ))}
    </>
  );
}
