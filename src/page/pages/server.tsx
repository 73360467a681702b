import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { Raw } from "../admin/raw.tsx";
import { post } from "../api.ts";
import { aloneOf, isOld, kindOf, MARK_OF, readAt } from "../daily/condition.ts";
import { daily } from "../daily/words.ts";
import { duration, milliseconds, number } from "../format.ts";
import { now, site } from "../live/live.ts";
import { may } from "../me.ts";
import { featuresOf, labelsOf, sorted } from "../model.ts";
import { CopyLink } from "../parts/copy-link.tsx";
import { ActButton, Outcome } from "../parts/dialog.tsx";
import { Icon, UsedOf } from "../parts/marks.tsx";
import { Section } from "../parts/section.tsx";
import { linkTo, query } from "../router.ts";
import { words } from "../words.ts";
import { FeatureTable, FIRST } from "./feature-table.tsx";
import { Outages, Parts, Polls } from "./server-parts.tsx";

/** One license server: whether it works and why not, its parts, its features, its outages. */
export function Server() {
  const id = query.value.get("id") ?? "";
  const server = site.value?.get(id);
  if (server === undefined)
    return (
      <div class="empty">
        <h1>{id}</h1>
        <p>{daily.noSuchServer}</p>
        <a class="btn" href={linkTo("servers")}>
          {daily.allServers}
        </a>
      </div>
    );
  const rescan = async () => {
    const [row] = (await post("/api/licenses/rescan", { servers: [id] })).results;
    return daily.rescanned(id, milliseconds(row?.durationMs ?? 0));
  };
  const rows = sorted([...featuresOf(server)], query.value.get("sort") ?? FIRST);
  const { members, daemons } = server;
  return (
    <>
      <div class="crumbs">
        <ol>
          <li>
            <a href={linkTo("servers")}>{words.serversPage}</a>
          </li>
          <li aria-hidden="true">›</li>
        </ol>
        <h1>{id}</h1>
        <div class="acts">
          {may("rescan") && server.enabled && <ActButton word={daily.rescan(id)} act={rescan} />}
          <CopyLink />
        </div>
      </div>
      <Outcome />
      <State server={server} />
      <div class="cols c2">
        <div>
          <Parts
            title={daily.memberList}
            parts={members.map((member) => ({ ...member, name: member.host }))}
          />
          <Parts title={daily.daemons} parts={daemons} />
        </div>
        <div>
          <Polls server={server} />
          <Outages key={server.status} id={id} />
        </div>
      </div>
      <Raw id={id} />
      <Section
        title={words.features}
        note={number(rows.length)}
        more={[words.openInPeople, { path: "people", query: { server: id } }]}
      >
        {rows.length === 0 && <p class="q">{daily.notReadYet}</p>}
      </Section>
      {rows.length > 0 && <FeatureTable rows={rows} />}
    </>
  );
}

function State({ server }: { readonly server: KeptServer }) {
  const { name, manager, address, counts, lastPollAt, nextPollAt, error, members } = server;
  const mark = MARK_OF[kindOf(server)];
  const master = members.length > 1 && members.find((member) => member.master)?.host;
  const [at, polled, next] = [readAt(server), Date.parse(lastPollAt ?? ""), Date.parse(nextPollAt ?? "")];
  return (
    <section class="says" aria-label={daily.columns.is}>
      <p class={`line st-${mark}`}>
        <Icon name={mark} />
        <span>
          <b>{aloneOf(server)}</b>
          {master && daily.masterIs(master)}.
        </span>
      </p>
      <p class="facts">
        <span>{name}</span>
        <span class="q">{manager}</span>
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
          {daily.seatsInUse}
        </span>
        {isOld(server) && at !== null && (
          <span class="st-stale">{words.readBefore(duration(now.value - at))}</span>
        )}
        {polled > 0 && <span class="q">{words.polledBefore(duration(now.value - polled))}</span>}
        {next > 0 && server.enabled && (
          <span class="q">
            {next > now.value ? `${daily.next} ${duration(next - now.value)}` : daily.due}
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
