import { AlertDialog } from "../daily/alert-dialog.tsx";
import { shortOf } from "../daily/condition.ts";
import { figuresOf, groupsOf } from "../daily/figures.ts";
import { sentenceOf } from "../daily/sentence.ts";
import { Tile } from "../daily/tile.tsx";
import { daily } from "../daily/words.ts";
import { moment, number } from "../format.ts";
import { firing, unhandledOf } from "../live/alerts.ts";
import { lostSince, now, site } from "../live/live.ts";
import { mayNot } from "../me.ts";
import { allFeatures, type Site, sorted } from "../model.ts";
import { Facts, Known } from "../parts/cells.tsx";
import { Outcome } from "../parts/dialog.tsx";
import { Rows } from "../parts/figure.tsx";
import { Icon, Loading, State, UsedOf } from "../parts/marks.tsx";
import { Section } from "../parts/section.tsx";
import { hrefOf, linkTo, query } from "../router.ts";
import { words } from "../words.ts";
import { FeatureTable, FIRST } from "./feature-table.tsx";
import { Attention, coloured, Denied, Expiring, Held, SiteChart, Tight } from "./overview-lists.tsx";
import { useDay, useDenials } from "./overview-past.ts";

/** More servers than that are shown by group. */
const MOST_TILES = 24;

/** Whether all is well, and what is not. */
export function Overview() {
  const servers: Site = site.value ?? new Map();
  const past = useDay(servers);
  const denied = useDenials();
  const isOne = servers.size === 1;
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
          <FeatureTable rows={sorted(allFeatures(servers), query.value.get("sort") ?? FIRST)} />
        </section>
      )}
      {!isOne && servers.size > MOST_TILES && (
        <div class="only">
          <Groups servers={servers} />
        </div>
      )}
      {!isOne && servers.size <= MOST_TILES && (
        <ul class="tiles" aria-label={words.serversPage}>
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
      <AlertDialog />
    </>
  );
}

/** As the header's bar, which says the same. */
const TELL_AFTER_MS = 10_000;

function Status(props: { readonly servers: Site; readonly denied: ReturnType<typeof useDenials> }) {
  const { servers, denied } = props;
  const { count = null } = denied.denials ?? {};
  const isReading = denied.denials === null && !denied.isUnread && !mayNot("holders");
  const unhandled = firing.value && unhandledOf(firing.value.values(), now.value);
  const { mark, parts } = sentenceOf([...servers.values()], unhandled);
  const { stale, people, waiting, ...seats } = figuresOf(servers);
  const since = lostSince.value;
  return (
    <section class="status" aria-label={daily.state}>
      <h1 class={`line st-${mark}`}>
        <Icon name={mark} />
        <span>
          {since !== null && now.value - since > TELL_AFTER_MS && `${daily.asOf(moment(since, now.value))} `}
          {parts.map(({ text, to }, at) =>
            to ? (
              <a key={at} href={hrefOf(to)}>
                {text}
              </a>
            ) : (
              text
            ),
          )}
        </span>
      </h1>
      <div class="figs">
        <Facts
          of={[
            [
              daily.seatsInUse + (stale > 0 ? daily.staleFeatures(stale) : ""),
              <UsedOf {...seats} between=" of " />,
            ],
            [daily.people, <Known value={people} />],
            [daily.waiting, <Known value={waiting} as={coloured("n-full")} />],
            [daily.deniedToday, isReading ? <Loading /> : <Known value={count} as={coloured("n-crit")} />],
          ]}
        />
      </div>
    </section>
  );
}

/** Many servers: a row for each label, those with troubles first. */
function Groups({ servers }: { readonly servers: Site }) {
  const { columns } = daily;
  return (
    <Section
      title={words.serversPage}
      note={number(servers.size)}
      more={[daily.allServers, { path: "servers" }]}
    >
      <Rows
        label={words.serversPage}
        rows={groupsOf(servers)}
        columns={[
          {
            head: columns.label,
            cell: ({ key, by }) =>
              key === "" ? daily.noLabel : <a href={linkTo("servers", { [by]: key })}>{key}</a>,
          },
          { head: words.serversPage, value: ({ count }) => count },
          {
            head: daily.troubled,
            right: true,
            cell: ({ troubled }) =>
              troubled === 0 ? <span class="q">0</span> : <State is="warn">{number(troubled)}</State>,
          },
          { head: columns.seats, right: true, cell: (group) => <UsedOf {...group} /> },
        ]}
      />
    </Section>
  );
}
