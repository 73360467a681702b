import { effect } from "@preact/signals";
import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import type { PartStatus } from "../../domain/words.ts";
import { Raw } from "../admin/raw.tsx";
import { may, post } from "../api.ts";
import { aloneOf, isOld, kindOf, MARK_OF, readAt } from "../daily/condition.ts";
import { duration, milliseconds, number, plural } from "../format.ts";
import { atHub } from "../here.ts";
import { now, site } from "../live/live.ts";
import { featuresOf, labelsOf } from "../model.ts";
import { CopyLink } from "../parts/answer.tsx";
import { ActButton, Outcome } from "../parts/dialog.tsx";
import { Figure } from "../parts/figure.tsx";
import { Icon, State, UsedOf } from "../parts/marks.tsx";
import { Rows } from "../parts/rows.tsx";
import { Filter } from "../parts/search-field.tsx";
import { Crumbs, NotFound, Section } from "../parts/section.tsx";
import { OUTAGE_WORDS } from "../past-rows.ts";
import { linkTo, query } from "../router.ts";
import { matching } from "../search.ts";
import { FeatureTable, FIRST, useInOrder } from "./feature-table.tsx";

export type PollTime = Readonly<{ at: number; ms: number }>;

const MOST = 120;
const polls = new Map<string, PollTime[]>();

/** Returns the polls since the page was opened, oldest first. The API has no durations of past polls. */
export const pollTimes = (server: string): readonly PollTime[] => polls.get(server) ?? [];

effect(() => {
  for (const { id, lastPollAt, pollDurationMs } of site.value?.values() ?? []) {
    if (lastPollAt === null || pollDurationMs === null) continue;
    const known = polls.getOrInsertComputed(id, () => []);
    const at = Date.parse(lastPollAt);
    if (known.at(-1)?.at === at) continue;
    known.push({ at, ms: pollDurationMs });
    if (known.length > MOST) known.shift();
  }
});

export function Server() {
  const id = query.value.get("id") ?? "";
  const server = site.value?.get(id);
  if (server === undefined)
    return <NotFound name={id} message="Unknown server." list={["All servers", linkTo("servers")]} />;
  const rescan = async () => {
    const [row] = (await post("/api/licenses/rescan", { servers: [atHub(id)] })).results;
    return `${id} was polled in ${milliseconds(row?.durationMs ?? 0)}.`;
  };
  const { members, daemons } = server;
  return (
    <>
      <Crumbs path={[<a href={linkTo("servers")}>Servers</a>]} name={id}>
        {may("rescan") && server.enabled && <ActButton word={`Poll ${id} now`} act={rescan} />}
        <CopyLink />
      </Crumbs>
      <Outcome />
      <Says server={server} />
      <div class="cols c2">
        <div>
          <Parts title="Members" parts={members.map((member) => ({ ...member, name: member.host }))} />
          <Parts title="Vendor daemons" parts={daemons} />
        </div>
        <div>
          <Polls server={server} />
          <Outages key={server.status} id={id} />
        </div>
      </div>
      <Raw id={id} />
      <Features server={server} />
    </>
  );
}

function Features({ server }: Readonly<{ server: KeptServer }>) {
  const search = query.value.get("q") ?? "";
  const rows = useInOrder(() => [...featuresOf(server)], query.value.get("sort") ?? FIRST, server);
  const found = matching(rows, { search, server: null, label: null });
  return (
    <>
      <Section
        title="Features"
        note={number(rows.length)}
        more={["Open in People", { path: "people", query: { server: server.id } }]}
      >
        {rows.length === 0 && <p class="q">No data yet.</p>}
        <Filter label="Features" name="q" found={found.length} all={rows.length} />
      </Section>
      {rows.length > 0 && <FeatureTable rows={found} />}
    </>
  );
}

function Says({ server }: Readonly<{ server: KeptServer }>) {
  const { name, manager, address, counts, lastPollAt, nextPollAt, error, members } = server;
  const mark = MARK_OF[kindOf(server)];
  const master = members.length > 1 && members.find((member) => member.master)?.host;
  const [at, polled, next] = [readAt(server), Date.parse(lastPollAt ?? ""), Date.parse(nextPollAt ?? "")];
  return (
    <section class="says" aria-label="State">
      <p class={`line st-${mark}`}>
        <Icon name={mark} />
        <span>
          <b>{aloneOf(server)}</b>
          {master && `, master ${master}`}.
        </span>
      </p>
      <p class="facts">
        <span>{name}</span>
        <span class="q">
          {manager}
          {server.experimental && ", experimental"}
        </span>
        <span class="m">{address}</span>
        {labelsOf(server).map((label) => (
          <a key={label} class="q ref" href={linkTo("servers", { label })}>
            {label}
          </a>
        ))}
      </p>
      <p class="facts">
        <span>
          <b>
            <UsedOf {...counts} between=" of " />
          </b>{" "}
          {"seats in use"}
        </span>
        {isOld(server) && at !== null && (
          <span class="st-stale">{`read ${duration(now.value - at)} ago`}</span>
        )}
        {polled > 0 && <span class="q">{`polled ${duration(now.value - polled)} ago`}</span>}
        {next > 0 && server.enabled && (
          <span class="q">
            {next > now.value ? `next poll in ${duration(next - now.value)}` : "next poll due"}
          </span>
        )}
      </p>
      {error !== null && (
        <p class="tool-says">
          {error.message} <span class="m">{error.code}</span>
        </p>
      )}
    </section>
  );
}

const MARK = { up: "ok", down: "crit", degraded: "warn", unknown: "unknown" } as const;

interface Part {
  readonly name: string;
  readonly port?: number | null;
  readonly master?: boolean;
  readonly status: PartStatus;
  readonly version: string | null;
  readonly error: string | null;
}

function Parts({ title, parts }: Readonly<{ title: string; parts: readonly Part[] }>) {
  const up = parts.filter(({ status }) => status === "up").length;
  return (
    <Section title={title} note={parts.length > 1 && `${up} of ${parts.length} up`}>
      {parts.length === 0 && <p class="q">not known</p>}
      <ul class="rows parts">
        {parts.map(({ name, port = null, master = false, status, version, error }, at) => (
          <li key={`${name} ${at}`}>
            <State is={MARK[status]}>{OUTAGE_WORDS[status]}</State>
            <span class="el m">
              {name}
              {port !== null && `:${port}`}
              {master && parts.length > 1 && <span class="q"> master</span>}
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

function Polls({ server: { id, pollDurationMs, unparsedLines } }: Readonly<{ server: KeptServer }>) {
  const times = pollTimes(id).slice(-BARS);
  const slowest = Math.max(1, ...times.map(({ ms }) => ms));
  const says = `Slowest of ${plural(times.length, "poll")} since this page was opened: ${milliseconds(slowest)}.`;
  const bars = times.map(({ ms }, place) => {
    const height = Math.max(1, (24 * ms) / slowest).toFixed(1);
    return `M${4 * (BARS - times.length + place)} 24v-${height}h3v${height}z`;
  });
  return (
    <Section
      title="Polls"
      note={pollDurationMs === null ? "Not polled yet." : `the last took ${milliseconds(pollDurationMs)}`}
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
        <p class={`note ${unparsedLines > 0 ? "n-warn" : "q"}`}>
          {unparsedLines === 0
            ? "All lines of the last output are known."
            : `${plural(unparsedLines, "line")} of the last output ${unparsedLines === 1 ? "is" : "are"} unknown.`}
        </p>
      )}
    </Section>
  );
}

const coveredWords = (share: number) => (share < 0.01 ? "less than 1" : Math.floor(100 * share));

function Outages({ id }: Readonly<{ id: string }>) {
  return (
    <Figure
      title="Outages"
      path="/api/licenses/outages"
      query={{ server: id, limit: "10" }}
      note={({ servers: [of] }) =>
        of === undefined || of.availability === null
          ? "30 days"
          : `30 days, ${number(of.availability)} % available, ${coveredWords(of.coverage)} % of the time covered`
      }
      aside={
        <a class="more" href={linkTo("outages", { server: id })}>
          All
        </a>
      }
    >
      {({ outages, total }) => (
        <Rows
          label="Outages"
          none="None in the covered time."
          rows={outages}
          total={total}
          columns={[
            { head: "Since", time: ({ startedAt }) => startedAt },
            {
              head: "Status",
              by: ({ status }) => OUTAGE_WORDS[status],
              cell: ({ status }) => <State is={MARK[status]}>{OUTAGE_WORDS[status]}</State>,
            },
            { head: "Reason", by: ({ reason }) => reason, style: "q" },
            {
              head: "Lasted",
              right: true,
              by: ({ durationSeconds }) => durationSeconds,
              cell: ({ endedAt, durationSeconds }) =>
                endedAt === null ? "ongoing" : duration(1000 * durationSeconds),
            },
          ]}
        />
      )}
    </Figure>
  );
}
