import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AvailabilityRecord, OutageRecord } from "../../domain/outages.ts";
import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import type { PartStatus } from "../../domain/words.ts";
import { get } from "../api.ts";
import { daily } from "../daily/words.ts";
import { duration, moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import { pollTimes } from "../live/poll-times.ts";
import { State } from "../parts/marks.tsx";
import { linkTo } from "../router.ts";
import { words } from "../words.ts";
import { milliseconds } from "./servers.tsx";

interface Props {
  readonly server: KeptServer;
}

const MARK = { up: "ok", down: "crit", unknown: "unknown" } as const satisfies Record<PartStatus, string>;

/** Hosts of the server: which is the master, and what the tool says of one that is not up. */
export function Members({ server: { members } }: Props) {
  const up = members.filter(({ status }) => status === "up").length;
  return (
    <section class="sec">
      <header>
        <h2>{daily.memberList}</h2>
        {members.length > 1 && <span class="q">{daily.membersUp(up, members.length)}</span>}
      </header>
      {members.length === 0 && <p class="q">{words.notKnown}</p>}
      <ul class="rows parts">
        {members.map(({ host, port, status, master, version, error }) => (
          <Part key={`${host} ${port}`} status={status} version={version} error={error}>
            <span class="m">
              {host}
              {port !== null && `:${port}`}
            </span>
            {master && members.length > 1 && <span class="q"> {daily.master}</span>}
          </Part>
        ))}
      </ul>
    </section>
  );
}

export function Daemons({ server: { daemons } }: Props) {
  return (
    <section class="sec">
      <header>
        <h2>{daily.daemons}</h2>
      </header>
      {daemons.length === 0 && <p class="q">{words.notKnown}</p>}
      <ul class="rows parts">
        {daemons.map(({ name, status, version, error }, at) => (
          <Part key={`${name} ${at}`} status={status} version={version} error={error}>
            {name}
          </Part>
        ))}
      </ul>
    </section>
  );
}

function Part(props: {
  readonly status: PartStatus;
  readonly version: string | null;
  readonly error: string | null;
  readonly children: preact.ComponentChildren;
}) {
  const { status, version, error } = props;
  return (
    <li>
      <State is={MARK[status]}>{daily.partStatus[status]}</State>
      <span class="el">{props.children}</span>
      <span class="q r">{version}</span>
      {error !== null && <p class="tool-says">{error}</p>}
    </li>
  );
}

const BARS = 60;

/** How long the last polls took, as far as this page saw them, and how much of their output was understood. */
export function Polls({ server: { id, pollDurationMs, unparsedLines } }: Props) {
  const times = pollTimes(id).slice(-BARS);
  const slowest = Math.max(1, ...times.map(({ ms }) => ms));
  const says = daily.slowest(milliseconds(slowest), times.length);
  return (
    <section class="sec">
      <header>
        <h2>{daily.poll}</h2>
        <span class="q">
          {pollDurationMs === null ? daily.noPoll : `${daily.took} ${milliseconds(pollDurationMs)}`}
        </span>
      </header>
      {times.length > 1 && (
        <>
          <svg
            class="polls"
            role="img"
            aria-label={says}
            viewBox={`0 0 ${4 * BARS} 24`}
            preserveAspectRatio="none"
          >
            {times.map(({ at, ms }, place) => (
              <rect
                key={at}
                x={4 * (BARS - times.length + place)}
                y={24 - Math.max(1, (24 * ms) / slowest)}
                width="3"
                height={Math.max(1, (24 * ms) / slowest)}
              />
            ))}
          </svg>
          <p class="q note">{says}</p>
        </>
      )}
      {pollDurationMs !== null && (
        <p class={`note ${unparsedLines > 0 ? "n-full" : "q"}`}>{daily.unparsed(unparsedLines)}</p>
      )}
    </section>
  );
}

const MOST_OUTAGES = 10;
const KIND = { degraded: "warn", down: "crit", unknown: "unknown" } as const;

/** Of the last 30 days; read again when the server's status changes. */
export function Outages({ server: { id, status } }: Props) {
  const found = useSignal<{
    readonly outages: readonly OutageRecord[];
    readonly of: AvailabilityRecord | null;
    readonly total: number;
  } | null>(null);
  const isUnread = useSignal(false);
  useEffect(() => {
    const end = new AbortController();
    get("/api/licenses/outages", { server: id, limit: `${MOST_OUTAGES}` }, end.signal).then(
      ({ outages, servers, total }) => {
        found.value = { outages, total, of: servers[0] ?? null };
        isUnread.value = false;
      },
      () => {
        if (!end.signal.aborted) isUnread.value = true;
      },
    );
    return () => end.abort();
  }, [id, status]);
  const { outages = [], of = null, total = 0 } = found.value ?? {};
  return (
    <section class="sec">
      <header>
        <h2>{words.outages}</h2>
        <span class="q">
          {daily.days30}
          {of !== null &&
            of.availability !== null &&
            `, ${daily.availability(number(of.availability), Math.floor(100 * of.coverage))}`}
        </span>
        <a class="more" href={linkTo("outages", { server: id })}>
          {daily.allOutages}
        </a>
      </header>
      {isUnread.value && <p class="q">{daily.outagesUnread}</p>}
      {found.value !== null && total === 0 && <p class="q">{daily.noOutage}</p>}
      <ul class="rows outs">
        {outages.map(({ startedAt, status: was, endedAt, durationSeconds, reason }) => (
          <li key={startedAt}>
            <span class="q">{moment(Date.parse(startedAt), now.value)}</span>
            <State is={KIND[was]}>{was}</State>
            <span class="el q" title={reason ?? ""}>
              {reason}
            </span>
            <span class="r">{endedAt === null ? daily.goesOn : duration(1000 * durationSeconds)}</span>
          </li>
        ))}
      </ul>
      {total > outages.length && <p class="q note">{daily.olderOutages(total - outages.length)}</p>}
    </section>
  );
}
