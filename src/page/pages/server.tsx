import { useSignal } from "@preact/signals";
import type { KeptServer } from "../../domain/polls/kept-picture.ts";
import { Raw } from "../admin/raw.tsx";
import { post, Refusal } from "../api.ts";
import { aloneOf, isOld, kindOf, MARK_OF, readAt } from "../daily/condition.ts";
import { daily } from "../daily/words.ts";
import { duration, number } from "../format.ts";
import { now, site } from "../live/live.ts";
import { may } from "../me.ts";
import { featuresOf, labelsOf, sorted } from "../model.ts";
import { CopyLink } from "../parts/copy-link.tsx";
import { Age, Icon, Unknown } from "../parts/marks.tsx";
import { linkTo, query } from "../router.ts";
import { words } from "../words.ts";
import { FeatureTable, FIRST } from "./feature-table.tsx";
import { Daemons, Members, Outages, Polls } from "./server-parts.tsx";
import { milliseconds } from "./servers.tsx";

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
  const rows = sorted([...featuresOf(server)], query.value.get("sort") ?? FIRST);
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
          {may("rescan") && server.enabled && <Rescan id={id} />}
          <CopyLink />
        </div>
      </div>
      <State server={server} />
      <div class="cols c2">
        <div>
          <Members server={server} />
          <Daemons server={server} />
        </div>
        <div>
          <Polls server={server} />
          <Outages server={server} />
        </div>
      </div>
      <Raw id={id} />
      <section class="sec flat">
        <header>
          <h2>{words.features}</h2>
          <span class="q">{number(rows.length)}</span>
          <a class="more" href={linkTo("people", { server: id })}>
            {words.openInPeople}
          </a>
        </header>
      </section>
      {rows.length === 0 ? <p class="sec q">{daily.notReadYet}</p> : <FeatureTable rows={rows} />}
    </>
  );
}

function State({ server }: { readonly server: KeptServer }) {
  const { name, manager, address, counts, lastPollAt, nextPollAt, error, members } = server;
  const mark = MARK_OF[kindOf(server)];
  const master = members.find((member) => member.master)?.host;
  const [polled, next] = [lastPollAt, nextPollAt].map((time) =>
    time === null || time === undefined ? null : Date.parse(time),
  );
  const at = readAt(server);
  const says = aloneOf(server);
  return (
    <section class="says" aria-label={daily.columns.is}>
      <p class={`line st-${mark}`}>
        <Icon name={mark} />
        <span>
          <b>{says.slice(0, 1).toUpperCase() + says.slice(1)}</b>
          {master !== undefined && members.length > 1 && daily.masterIs(master)}.
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
          {counts.used === null ? <Unknown /> : <b>{number(counts.used)}</b>}{" "}
          {counts.used !== null && counts.total !== null && daily.of(number(counts.total))} {daily.seatsInUse}
        </span>
        {isOld(server) && at !== null && (
          <span class="st-stale">
            {daily.figuresOf} <Age at={at} /> {daily.agoWord}
          </span>
        )}
        {polled !== null && polled !== undefined && (
          <span class="q">
            {daily.polled} <Age at={polled} /> {daily.agoWord}
          </span>
        )}
        {next !== null && next !== undefined && server.enabled && (
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

/** Polls now; what came of it is said beside the button. */
function Rescan({ id }: { readonly id: string }) {
  const outcome = useSignal("");
  const isBusy = useSignal(false);
  const rescan = async () => {
    isBusy.value = true;
    outcome.value = daily.polling(id);
    try {
      const [row] = (await post("/api/licenses/rescan", { servers: [id] })).results;
      outcome.value = daily.rescanned(id, milliseconds(row?.durationMs ?? 0));
    } catch (error) {
      outcome.value = error instanceof Refusal ? error.message : words.unreachable;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <>
      <span class="q told" role="status">
        {outcome.value}
      </span>
      <button class="btn" type="button" disabled={isBusy.value} onClick={() => void rescan()}>
        {daily.rescan(id)}
      </button>
    </>
  );
}
