import { computed } from "@preact/signals";
import { siteOf } from "../../domain/server.ts";
import type { SiteRecord } from "../../domain/service/sites.ts";
import { mayNot } from "../api.ts";
import { AlertDialog } from "../daily/alert-dialog.tsx";
import { duration, moment, number, plural, shortIn } from "../format.ts";
import { asked, firing, unhandledOf } from "../live/alerts.ts";
import { fleet } from "../live/hub.ts";
import { now } from "../live/live.ts";
import { Attention, coloured, Expiring, StatusLine } from "../pages/overview-lists.tsx";
import { Pending, useAnswer } from "../parts/answer.tsx";
import { SeatBar } from "../parts/bar.tsx";
import { Outcome } from "../parts/dialog.tsx";
import { Figure } from "../parts/figure.tsx";
import { FeatureLink, Known, State, UsedOf } from "../parts/marks.tsx";
import { Rows } from "../parts/rows.tsx";
import { SearchField, useSettled } from "../parts/search-field.tsx";
import { Section } from "../parts/section.tsx";
import { linkTo, query } from "../router.ts";
import { waitingWords } from "../words.ts";
import { SITE_MARKS, Sites } from "./sites.tsx";

const minute = computed(() => Math.floor(now.value / 60_000));
const NO_SERVERS = new Map<string, never>();

export function Fleet() {
  const { sites = [] } = fleet.value ?? {};
  const search = (query.value.get("q") ?? "").trim();
  if (sites.length === 0) return <NoSites />;
  return (
    <div class="fleet">
      <Status sites={sites} />
      <Outcome />
      <SearchField label="Search sites, features and people" hint="Feature, person, host or site" />
      {search === "" && (
        <div class="cols c3">
          <Attention servers={NO_SERVERS} open={fleet.value?.open ?? 0} />
          <Full />
          <Expiring servers={NO_SERVERS} />
        </div>
      )}
      <Sites sites={sites} search={search} />
      {search !== "" && <Found search={search} />}
      {asked.value && <AlertDialog {...asked.value} />}
    </div>
  );
}

const MOST_NAMED = 3;

/** Formats `All 3 sites`, `2 of 3 sites`. */
function countOf(connected: number, all: number): string {
  if (all === 1) return connected === 1 ? "The only site" : "No site";
  const some = connected === 0 ? "None of" : `${number(connected)} of`;
  return `${connected === all ? "All" : some} ${plural(all, "site")}`;
}

function Status({ sites }: Readonly<{ sites: readonly SiteRecord[] }>) {
  const { summary, open = 0 } = fleet.value ?? {};
  if (summary === undefined) return null;
  const of = Map.groupBy(sites, ({ state }) => state);
  const connected = of.get("connected")?.length ?? 0;
  const others = sites.filter(({ state }) => state !== "connected");
  const worst = of.has("silent") ? "silent" : of.has("behind") ? "behind" : "connected";
  const alerts = unhandledOf(firing.value?.values() ?? [], now.value).worst ?? "info";
  const mark = worst === "connected" && alerts !== "info" ? alerts : SITE_MARKS[worst];
  const { up, degraded, down, unknown } = summary.servers;
  const { seats, staleFeatures: stale } = summary;
  return (
    <StatusLine
      label="State of the fleet"
      mark={mark}
      seats={seats}
      stale={stale}
      figures={[
        ["servers up", <UsedOf used={up} total={up + degraded + down + unknown} between=" of " />],
        ["people", number(summary.users)],
        ["waiting", <Known value={summary.queued} as={coloured("n-full")} />],
      ]}
    >
      <b>{countOf(connected, sites.length)}</b>
      {(sites.length === 1 ? 1 : connected) <= 1 ? " is connected" : " are connected"}
      {others.length > 0 && ". "}
      {others.length > MOST_NAMED
        ? [...of]
            .filter(([state]) => state !== "connected")
            .map(([state, all], at) => [at > 0 && ", ", `${number(all.length)} ${state}`])
        : others.map((site, at) => (
            <span key={site.site}>
              {at > 0 && ", "}
              <a href={linkTo("", { site: site.site })}>{site.site}</a>
              {conditionOf(site)}
            </span>
          ))}
      {others.length > 0 ? (
        "."
      ) : open === 0 ? (
        ", and nothing needs attention."
      ) : (
        <>
          , <a href={linkTo("alerts")}>{plural(open, "alert")}</a>
          {open === 1 ? " needs attention." : " need attention."}
        </>
      )}
    </StatusLine>
  );
}

function conditionOf({ state, lastPushAt, lagSeconds }: SiteRecord): string {
  if (state === "behind") return ` is ${duration(1000 * (lagSeconds ?? 0))} behind`;
  if (lastPushAt === null) return " was never heard from";
  return ` has been silent since ${moment(Date.parse(lastPushAt), now.value)}`;
}

const FULL = { min_utilization: "100", state: "ok,partial", sort: "-queued", limit: "8" };

function Full() {
  const { answer, error, again } = useAnswer("/api/licenses/features", FULL, minute.value);
  return (
    <Section title="Full" note={answer !== null && plural(answer.total, "feature")}>
      {answer === null && <Pending error={error} again={again} />}
      {answer?.total === 0 && <p class="q">Nothing is full.</p>}
      <ul class="rows tight">
        {answer?.features.map((feature) => (
          <li key={JSON.stringify([feature.server, feature.daemon, feature.name])}>
            <span class="name">
              <FeatureLink quiet {...feature} feature={feature.name} />
            </span>
            <span class="q el">{feature.server}</span>
            <SeatBar feature={feature} />
            <span class="r">
              <UsedOf {...feature} />
            </span>
            <span class="el n-full">{(feature.queued ?? 0) > 0 && waitingWords(feature.queued ?? 0)}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

const KEY = "licmond keys create --name muc --role site --site muc";
const SECTION = `[fleet]
site = "muc"
url = "${new URL(".", document.baseURI)}"
api_key_file = "/etc/licmond/hub.key"`;

function NoSites() {
  return (
    <div class="empty">
      <h1>No site has pushed to this hub yet.</h1>
      <p>Create a key for each site here:</p>
      <pre class="m">{KEY}</pre>
      <p>Name this hub at the site, in /etc/licmond/licmond.toml:</p>
      <pre class="m">{SECTION}</pre>
    </div>
  );
}

const MARKS = { partial: "partial", stale: "stale", failed: "crit" } as const;
const LIMIT = "50";
export function Found(props: Readonly<{ search: string }>) {
  const search = useSettled(props.search);
  return (
    <div class="cols c2">
      <Figure
        title="Features"
        path="/api/licenses/features"
        query={{ search, sort: "-available", limit: LIMIT }}
        note={({ total }) => plural(total, "feature")}
      >
        {({ features, total }) => (
          <Rows
            label="Features"
            rows={features}
            total={total}
            columns={[
              {
                head: "Feature",
                by: ({ name }) => name,
                cell: ({ name, ...of }) => <FeatureLink quiet {...of} feature={name} />,
              },
              { head: "Server", by: ({ server }) => server, style: "q" },
              {
                head: "Seats",
                wide: true,
                by: ({ total }) => total,
                cell: (feature) => <SeatBar feature={feature} />,
              },
              {
                head: "In use",
                right: true,
                by: ({ used }) => used,
                cell: (feature) => <UsedOf {...feature} />,
              },
              {
                head: "Free",
                right: true,
                by: ({ available }) => available,
                cell: ({ available, unlimited, unit }) =>
                  unlimited ? (
                    "no limit"
                  ) : (
                    <Known value={available && Math.max(0, available)} as={shortIn(unit)} />
                  ),
              },
              {
                head: "Note",
                wide: true,
                by: ({ state }) => state,
                cell: ({ state }) => state !== "ok" && <State is={MARKS[state]}>{state}</State>,
              },
            ]}
          />
        )}
      </Figure>
      {!mayNot("holders") && (
        <Figure title="People" path="/api/licenses/users" query={{ search, limit: LIMIT }}>
          {({ users, total }) => (
            <Rows
              label="People"
              rows={users}
              total={total}
              columns={[
                {
                  head: "User",
                  by: ({ user }) => user,
                  cell: (row) => <Who of="user" name={row.user} server={row.server} />,
                },
                {
                  head: "Host",
                  wide: true,
                  by: ({ host }) => host,
                  cell: (row) => <Who of="host" name={row.host} server={row.server} />,
                },
                {
                  head: "Feature",
                  by: ({ feature }) => feature,
                  cell: (row) => <FeatureLink quiet {...row} />,
                },
                { head: "Server", by: ({ server }) => server, style: "q" },
                { head: "Seats", value: ({ count }) => count },
                {
                  head: "Since",
                  right: true,
                  wide: true,
                  by: ({ startedAt }) => startedAt,
                  cell: ({ kind, startedAt }) =>
                    kind === "queued"
                      ? "waits"
                      : startedAt !== null && moment(Date.parse(startedAt), now.peek()),
                },
              ]}
            />
          )}
        </Figure>
      )}
    </div>
  );
}

function Who({ of, name, server }: Readonly<{ of: "user" | "host"; name: string | null; server: string }>) {
  return name === null ? null : <a href={linkTo("person", { site: siteOf(server), [of]: name })}>{name}</a>;
}
