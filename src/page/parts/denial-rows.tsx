import type { DenialRecord } from "../../domain/denials.ts";
import type { Answers, Logging } from "../api.ts";
import { duration, moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import { past } from "../words-past.ts";
import { FeatureLink, Person } from "./cells.tsx";
import { Rows } from "./figure.tsx";
import { State } from "./marks.tsx";

/** Requests that were denied one by one, and why there are none where none are known. */
export function DenialRows(props: {
  readonly answer: Answers["/api/licenses/denials"];
  /** They are of more than one feature. */
  readonly isOfMany?: boolean;
}) {
  const { denials, total, logging } = props.answer;
  return (
    <>
      <NotLogged logging={logging} />
      <Rows
        label={past.requests}
        rows={denials}
        total={total}
        none={logging.every(({ state }) => state === "on") ? past.noDenials : ""}
        columns={[
          {
            head: past.at,
            cell: ({ timestamp }) => <time>{moment(Date.parse(timestamp), now.peek())}</time>,
          },
          ...(props.isOfMany === true
            ? [{ head: past.feature, cell: (row: DenialRecord) => <FeatureLink {...row} /> }]
            : []),
          { head: past.person, cell: (row) => (row.feature === null ? past.counted : <Person {...row} />) },
          { head: past.host, wide: true, cell: ({ host }) => <span class="m">{host}</span> },
          { head: past.seats, right: true, cell: ({ count }) => number(count) },
          { head: past.tries, right: true, wide: true, cell: triesOf },
          { head: past.outcome, cell: ({ outcome }) => past.outcomes[outcome] },
          { head: past.reason, wide: true, cell: reasonOf },
        ]}
      />
    </>
  );
}

function triesOf({ attempts, timestamp, until }: DenialRecord) {
  const ms = Date.parse(until) - Date.parse(timestamp);
  return ms > 0 ? past.triesIn(attempts, duration(ms)) : number(attempts);
}

export function reasonOf({ reason, code }: Pick<DenialRecord, "reason" | "code">): string {
  return [reason, ...(code === null ? [] : [`(${code})`])].filter(Boolean).join(" ");
}

/** Servers whose denials are not known, so that none are listed whatever happened; and those known for less than the range. */
export function NotLogged(props: { readonly logging: readonly Logging[]; readonly start?: number }) {
  const { logging, start = Number.POSITIVE_INFINITY } = props;
  const later = logging.filter(({ state, since }) => state === "on" && Date.parse(since ?? "") > start);
  const bySince = Map.groupBy(later, ({ since }) => moment(Date.parse(since ?? ""), now.peek()));
  return (
    <>
      {logging
        .filter(({ state }) => state !== "on")
        .map(({ server, state, message }) => (
          <p key={server} class="why">
            <State is="unknown">{past.notKnownOf(server)}</State>{" "}
            <span class="q">{message ?? past.logging[state]}</span>
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
