import { useEffect } from "preact/hooks";
import { type Trouble, troublesOf } from "../daily/attention.ts";
import { type Figures, figuresOf } from "../daily/figures.ts";
import { sentenceOf } from "../daily/sentence.ts";
import { daily } from "../daily/words.ts";
import { duration, moment, number } from "../format.ts";
import { firing, isUnhandled, unhandledOf } from "../live/alerts.ts";
import { lostSince, now, site } from "../live/live.ts";
import { may } from "../me.ts";
import type { Site } from "../model.ts";
import { allFeatures, sorted } from "../model.ts";
import { AlertDialog, ask } from "../parts/alert-dialog.tsx";
import { Outcome } from "../parts/dialog.tsx";
import { Icon, State, Unknown } from "../parts/marks.tsx";
import { hrefOf, linkTo, query } from "../router.ts";
import { FeatureTable, FIRST } from "./feature-table.tsx";
import { Denied, Expiring, Held, Tight } from "./overview-lists.tsx";
import { loadPast, past } from "./overview-past.ts";
import { Groups, SiteChart, Tiles } from "./overview-servers.tsx";

/** More servers than that are shown by group. */
const MOST_TILES = 24;
const QUARTER_MS = 900_000;
/** As the header's bar, which says the same. */
const TELL_AFTER_MS = 10_000;

/** Whether all is well, and what is not. */
export function Overview() {
  const servers: Site = site.value ?? new Map();
  const quarter = Math.floor(now.value / QUARTER_MS);
  useEffect(() => {
    const end = new AbortController();
    void loadPast(servers, end.signal);
    return () => end.abort();
  }, [quarter]);
  const figures = figuresOf(servers);
  return (
    <>
      <Status servers={servers} figures={figures} />
      <Outcome />
      <div class="cols c3">
        <Attention servers={servers} />
        <Tight servers={servers} />
        <Expiring servers={servers} />
      </div>
      {servers.size === 1 ? (
        <section class="only">
          <FeatureTable rows={sorted(allFeatures(servers), query.value.get("sort") ?? FIRST)} />
        </section>
      ) : servers.size > MOST_TILES ? (
        <Groups servers={servers} />
      ) : (
        <Tiles servers={servers} />
      )}
      <div class="cols c3b">
        <SiteChart />
        <Held servers={servers} />
        <Denied />
      </div>
      <AlertDialog />
    </>
  );
}

function Status({ servers, figures }: { readonly servers: Site; readonly figures: Figures }) {
  const alerts = firing.value;
  const { mark, parts } = sentenceOf(
    [...servers.values()],
    alerts && unhandledOf(alerts.values(), now.value),
  );
  const since = lostSince.value;
  const isLost = since !== null && now.value - since > TELL_AFTER_MS;
  const denied = past.value.denied;
  return (
    <section class="status" aria-label={daily.state}>
      <h1 class={`st-${mark}`}>
        <Icon name={mark} />
        <span>
          {isLost && `${daily.asOf(moment(since, now.value))} `}
          {parts.map(({ text, to }, at) =>
            to === undefined ? (
              text
            ) : (
              <a key={at} href={hrefOf(to)}>
                {text}
              </a>
            ),
          )}
        </span>
      </h1>
      <dl class="figs">
        <div>
          <dt>
            {daily.seatsInUse}
            {figures.stale > 0 && daily.staleFeatures(figures.stale)}
          </dt>
          <dd>
            {figures.used === null ? <Unknown /> : number(figures.used)}{" "}
            {figures.total !== null && <small>{daily.of(number(figures.total))}</small>}
          </dd>
        </div>
        <Figure name={daily.people} value={figures.people} />
        <Figure name={daily.waiting} value={figures.waiting} colour="n-full" />
        <Figure
          name={daily.deniedToday}
          value={denied === null || denied.isUnknown ? null : denied.count}
          colour="n-crit"
        />
      </dl>
    </section>
  );
}

/** `colour` is that of a number above 0. */
function Figure(props: { readonly name: string; readonly value: number | null; readonly colour?: string }) {
  const { name, value, colour } = props;
  return (
    <div>
      <dt>{name}</dt>
      <dd class={(value ?? 0) > 0 ? colour : undefined}>{value === null ? <Unknown /> : number(value)}</dd>
    </div>
  );
}

const MOST_TROUBLES = 20;

function Attention({ servers }: { readonly servers: Site }) {
  const alerts = [...(firing.value?.values() ?? [])];
  const troubles = troublesOf(servers, alerts, now.value);
  const handled = alerts.filter((alert) => !isUnhandled(alert, now.value)).length;
  const rest = troubles.length - MOST_TROUBLES;
  return (
    <section class="sec">
      <header>
        <h2>{daily.attention}</h2>
        {troubles.length > 0 && <span class="q">{number(troubles.length)}</span>}
        <a class="more" href={linkTo("alerts")}>
          {daily.allAlerts}
        </a>
      </header>
      {firing.value === null && <p class="st-warn">{daily.alertsUnknown}</p>}
      {firing.value !== null && troubles.length === 0 && (
        <p>
          <State is="ok">{daily.nothing}</State>
        </p>
      )}
      <ul class="rows need">
        {troubles.slice(0, MOST_TROUBLES).map((trouble) => (
          <Row key={trouble.id} trouble={trouble} />
        ))}
      </ul>
      {rest > 0 && (
        <p class="note">
          <a class="more" href={linkTo("alerts")}>
            {daily.andMore(rest)}
          </a>
        </p>
      )}
      {handled > 0 && <p class="q note">{daily.handled(handled)}</p>}
    </section>
  );
}

function Row({ trouble }: { readonly trouble: Trouble }) {
  const { mark, subject, to, text, since, days, alert } = trouble;
  const span =
    days !== null
      ? days < 0
        ? daily.daysAgo(-days)
        : daily.expiresIn(days)
      : since === null
        ? ""
        : duration(now.value - since);
  return (
    <li>
      <State is={mark}>{daily.marks[mark]}</State>
      <span class="el">
        {to === null ? <b>{subject}</b> : <a href={hrefOf(to)}>{subject}</a>} {text}
      </span>
      <span class="q r">{span}</span>
      {may("acknowledge") && alert === null && <span class="ack" />}
      {may("acknowledge") && alert !== null && (
        <button class="ack" type="button" onClick={() => ask({ alert, action: "acknowledge" })}>
          {daily.ack}
          <span class="vh">
            {" "}
            {subject} {text}
          </span>
        </button>
      )}
    </li>
  );
}
