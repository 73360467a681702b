import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import type { PartStatus } from "../../domain/words.ts";
import { daily } from "../daily/words.ts";
import { duration, milliseconds, moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import { pollTimes } from "../live/poll-times.ts";
import { Figure, Rows } from "../parts/figure.tsx";
import { State } from "../parts/marks.tsx";
import { Section } from "../parts/section.tsx";
import { linkTo } from "../router.ts";
import { words } from "../words.ts";
import { past } from "../words-past.ts";

const MARK = { up: "ok", down: "crit", degraded: "warn", unknown: "unknown" } as const;

/** A host or a vendor daemon of a server. */
interface Part {
  readonly name: string;
  readonly port?: number | null;
  readonly master?: boolean;
  readonly status: PartStatus;
  readonly version: string | null;
  readonly error: string | null;
}

/** Which parts of the server are up, and what the tool says of one that is not. */
export function Parts({ title, parts }: { readonly title: string; readonly parts: readonly Part[] }) {
  const up = parts.filter(({ status }) => status === "up").length;
  return (
    <Section title={title} note={parts.length > 1 && daily.partsUp(up, parts.length)}>
      {parts.length === 0 && <p class="q">{words.notKnown}</p>}
      <ul class="rows parts">
        {parts.map(({ name, port = null, master = false, status, version, error }, at) => (
          <li key={`${name} ${at}`}>
            <State is={MARK[status]}>{daily.partStatus[status]}</State>
            <span class="el m">
              {name}
              {port !== null && `:${port}`}
              {master && parts.length > 1 && <span class="q"> {daily.master}</span>}
            </span>
            <span class="q r">{version}</span>
            {error !== null && <p class="tool-says">{error}</p>}
          </li>
        ))}
      </ul>
    </Section>
  );
}

const BARS = 60;

/** How long the last polls took, as far as this page saw them, and how much of their output was understood. */
export function Polls({ server: { id, pollDurationMs, unparsedLines } }: { readonly server: KeptServer }) {
  const times = pollTimes(id).slice(-BARS);
  const slowest = Math.max(1, ...times.map(({ ms }) => ms));
  const says = daily.slowest(milliseconds(slowest), times.length);
  const bars = times.map(({ ms }, place) => {
    const height = Math.max(1, (24 * ms) / slowest).toFixed(1);
    return `M${4 * (BARS - times.length + place)} 24v-${height}h3v${height}z`;
  });
  return (
    <Section
      title={daily.poll}
      note={pollDurationMs === null ? daily.noPoll : daily.took(milliseconds(pollDurationMs))}
    >
      {times.length > 1 && (
        <>
          <svg class="polls" role="img" aria-label={says} viewBox={`0 0 ${4 * BARS} 24`}>
            <path d={bars.join("")} />
          </svg>
          <p class="q note">{says}</p>
        </>
      )}
      {pollDurationMs !== null && (
        <p class={`note ${unparsedLines > 0 ? "n-full" : "q"}`}>{daily.unparsed(unparsedLines)}</p>
      )}
    </Section>
  );
}

/** Of the last 30 days. */
export function Outages({ id }: { readonly id: string }) {
  return (
    <Figure
      title={words.outages}
      path="/api/licenses/outages"
      query={{ server: id, limit: "10" }}
      note={({ servers: [of] }) =>
        of === undefined || of.availability === null
          ? daily.days30
          : daily.availability(number(of.availability), Math.floor(100 * of.coverage))
      }
      aside={
        <a class="more" href={linkTo("outages", { server: id })}>
          {daily.allOutages}
        </a>
      }
    >
      {({ outages, total }) => (
        <Rows
          label={words.outages}
          none={daily.noOutage}
          rows={outages}
          total={total}
          columns={[
            { head: past.begins, cell: ({ startedAt }) => moment(Date.parse(startedAt), now.peek()) },
            {
              head: past.status,
              cell: ({ status }) => <State is={MARK[status]}>{past.statuses[status]}</State>,
            },
            { head: past.reason, cell: ({ reason }) => <span class="q">{reason}</span> },
            {
              head: past.lasted,
              right: true,
              cell: ({ endedAt, durationSeconds }) =>
                endedAt === null ? past.goesOn : duration(1000 * durationSeconds),
            },
          ]}
        />
      )}
    </Figure>
  );
}
