import { useEffect, useMemo } from "preact/hooks";
import { mayNot } from "../api.ts";
import { sentenceOf, shortOf } from "../daily/condition.ts";
import { figuresOf } from "../daily/figures.ts";
import type { Day } from "../daily/series.ts";
import { Tile } from "../daily/tile.tsx";
import { moment } from "../format.ts";
import { asked, firing, unhandledOf } from "../live/alerts.ts";
import { lostSince, now, site } from "../live/live.ts";
import { allFeatures, type Site, sorted } from "../model.ts";
import { Outcome } from "../parts/dialog.tsx";
import { Known, Loading } from "../parts/marks.tsx";
import { Section } from "../parts/section.tsx";
import { DAY_MS, ZONE } from "../range.ts";
import { hrefOf, query } from "../router.ts";
import { later } from "../shell/later.tsx";
import { Attention, coloured, Denied, Expiring, Held, StatusLine, Tight } from "./overview-lists.tsx";
import { useDay, useDenials } from "./overview-past.ts";

// Load actions and rarely shown parts later, to keep the first paint small.
const pages = () => import("../later/pages.ts");
const FeatureTable = later(() => pages().then((all) => all.FeatureTable));
const ServerGroups = later(() => pages().then((all) => all.ServerGroups));
const Chart = later(() => pages().then((all) => all.Chart));
const AlertDialog = later(() => pages().then((all) => all.AlertDialog));

const MOST_TILES = 24;

export function Overview() {
  const servers: Site = site.value ?? new Map();
  const past = useDay(servers);
  const denied = useDenials();
  const isOne = servers.size === 1;
  // Load the other pages and the print styles after the first paint.
  useEffect(() => void pages(), []);
  return (
    <>
      <Status servers={servers} denied={denied} />
      <Outcome />
      <div class="cols c3">
        <Attention servers={servers} />
        <Tight servers={servers} />
        <Expiring servers={servers} />
      </div>
      {isOne && (
        <section class="only">
          <FeatureTable rows={sorted(allFeatures(servers), query.value.get("sort") ?? "free")} />
        </section>
      )}
      {!isOne && servers.size > MOST_TILES && (
        <div class="only">
          <ServerGroups servers={servers} />
        </div>
      )}
      {!isOne && servers.size <= MOST_TILES && (
        <ul class="tiles" aria-label="Servers">
          {[...servers.values()].map((server) => (
            <li key={server.id}>
              <Tile server={server} day={past.day} says={shortOf(server)} />
            </li>
          ))}
        </ul>
      )}
      <div class="cols c3b">
        <SiteChart {...past} />
        <Held servers={servers} />
        <Denied {...denied} />
      </div>
      {asked.value && <AlertDialog {...asked.value} />}
    </>
  );
}

/**
 * Duration of an interruption after which the time of the data is shown; the same as for the header's bar.
 */
const TELL_AFTER_MS = 10_000;

function Status({ servers, denied }: Readonly<{ servers: Site; denied: ReturnType<typeof useDenials> }>) {
  const { count = null } = denied.denials ?? {};
  const isReading = denied.denials === null && !denied.isUnread && !mayNot("holders");
  const unhandled = firing.value && unhandledOf(firing.value.values(), now.value);
  const { mark, parts } = sentenceOf([...servers.values()], unhandled);
  const { stale, people, waiting, ...seats } = figuresOf(servers);
  const since = lostSince.value;
  return (
    <StatusLine
      label="State of the site"
      mark={mark}
      seats={seats}
      stale={stale}
      figures={[
        ["people", <Known value={people} />],
        ["waiting", <Known value={waiting} as={coloured("n-full")} />],
        ["denied today", isReading ? <Loading /> : <Known value={count} as={coloured("n-crit")} />],
      ]}
    >
      {since !== null && now.value - since > TELL_AFTER_MS && `As of ${moment(since, now.value)}: `}
      {parts.map(({ text, to }, at) =>
        to ? (
          <a key={at} href={hrefOf(to)}>
            {text}
          </a>
        ) : (
          text
        ),
      )}
    </StatusLine>
  );
}

function SiteChart({ day, why }: Readonly<{ day: Day | null; why: string | null }>) {
  const until = day?.until ?? now.value;
  const coverage = Math.floor(100 * (day?.coverage ?? 0));
  const series = useMemo(
    () => day && { start: day.until - DAY_MS, end: day.until, buckets: day.site },
    [day],
  );
  return (
    <Section
      title="Seats in use, 24 h"
      note={
        `${moment(until - DAY_MS, until)} to now, ${ZONE}` +
        (coverage > 0 && coverage < 99 ? `; ${coverage} % covered` : "")
      }
      more={["History", { path: "history" }]}
    >
      {why !== null && <p class="q">{why}</p>}
      {series !== null && why === null && <Chart series={series} isSum />}
    </Section>
  );
}
