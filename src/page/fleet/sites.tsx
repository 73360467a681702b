import type { SiteRecord } from "../../domain/service/sites.ts";
import { byName, day, duration, moment, number, plural } from "../format.ts";
import { now } from "../live/live.ts";
import { type ListColumn, ListTable, sortedBy } from "../parts/list-table.tsx";
import { Age, State } from "../parts/marks.tsx";
import { Section } from "../parts/section.tsx";
import { linkTo, query } from "../router.ts";
import { inDays } from "../words.ts";

type Row = SiteRecord & { readonly id: string };

const FIRST = "state";
export const SITE_MARKS = { silent: "stale", behind: "warn", connected: "ok" } as const;
const STATES = Object.keys(SITE_MARKS);
/** Minimum difference of a site's clock that is shown. */
const CLOCK_MS = 60_000;
const SOON_DAYS = 30;

const time = (at: string | null) => (at === null ? null : Date.parse(at));
const troubled = ({ statuses }: SiteRecord) => statuses.degraded + statuses.down + statuses.unknown;

const urgency = ({ alerts }: SiteRecord) => 1e6 * (alerts.critical ?? 0) + (alerts.warning ?? 0);
type Column = ListColumn<Row>;
const KEYS = {
  site: ["Site", ({ site }) => site],
  state: ["State", ({ state }) => STATES.indexOf(state)],
  heard: ["Last contact", ({ lastPushAt }) => time(lastPushAt)],
  lag: ["Behind", ({ lagSeconds }) => lagSeconds],
  servers: ["Servers up", troubled],
  features: ["Features", ({ features }) => features],
  full: ["Full", ({ fullFeatures }) => fullFeatures],
  alerts: ["Alerts", urgency],
  expiry: ["Expires next", ({ nextExpiry }) => nextExpiry],
  version: ["Version", ({ version }) => version],
  note: ["Note", (site) => notesOf(site).join() || null],
} satisfies Record<string, [head: string, by: Column["by"]]>;
const column = (order: keyof typeof KEYS, width: string, style: string, cell: Column["cell"]): Column => {
  const [head, by] = KEYS[order];
  return { order, head, by, width, class: style, cell };
};
const tie = (a: Row, b: Row) =>
  urgency(b) - urgency(a) || troubled(b) - troubled(a) || byName(a.site, b.site);
const COLUMNS: readonly ListColumn<Row>[] = [
  column("site", "minmax(8.125rem, 1.4fr)", "a-n el", ({ site, labels }) => (
    <a class="name" href={linkTo("", { site })}>
      {site} <span class="q">{labelsOf(site, labels)}</span>
    </a>
  )),
  column("state", "minmax(9.375rem, 1fr)", "a-s el", ({ state, lastPushAt }) => (
    <State is={SITE_MARKS[state]}>
      {state}
      {state === "silent" && lastPushAt !== null && ` ${sinceOf(lastPushAt)}`}
    </State>
  )),
  column("heard", "6rem", "r q a-w", ({ lastPushAt }) =>
    lastPushAt === null ? "never" : <Age at={Date.parse(lastPushAt)} />,
  ),
  column("lag", "minmax(5.625rem, 7.5rem)", "r opt", (site) => <Lag site={site} />),
  column("servers", "5.25rem", "r opt", ({ servers, statuses }) => (
    <span class={statuses.up < servers ? "n-warn" : undefined}>
      {number(statuses.up)}
      <span class="q">/{number(servers)}</span>
    </span>
  )),
  column("features", "4.75rem", "r opt", ({ features }) => number(features)),
  column("full", "3.75rem", "r a-b", ({ fullFeatures }) => (
    <>
      <Some count={fullFeatures} class="n-full" />
      <span class="q card-word"> full</span>
    </>
  )),
  column("alerts", "minmax(6.875rem, 9.375rem)", "r a-f", ({ alerts }) => <Alerts of={alerts} />),
  column("expiry", "minmax(7.875rem, 10.5rem)", "r opt el", ({ nextExpiry }) =>
    nextExpiry === null ? null : <Expiry on={nextExpiry} />,
  ),
  column("version", "4.5rem", "q opt pad el", ({ version }) => version),
  column("note", "minmax(0, 1fr)", "q opt el", (site) => notesOf(site).join(", ")),
];

const labelsOf = (site: string, labels: SiteRecord["labels"]) =>
  Object.values(labels)
    .filter((value) => value !== site)
    .join(", ");
const sinceOf = (at: string) => `since ${moment(Date.parse(at), now.value)}`;

function Lag({ site: { lagFacts, lagSeconds } }: Readonly<{ site: SiteRecord }>) {
  if (lagFacts === null || lagSeconds === null) return <span class="q">not known</span>;
  if (lagFacts === 0) return <span class="q">nothing</span>;
  return (
    <>
      {plural(lagFacts, "fact")}, {duration(1000 * lagSeconds)}
    </>
  );
}

const Some = (props: Readonly<{ count: number; class: string }>) => (
  <span class={props.count === 0 ? "q" : props.class}>{number(props.count)}</span>
);

function Alerts({ of: { critical, warning, info } }: Readonly<{ of: SiteRecord["alerts"] }>) {
  const all = [
    { count: critical ?? 0, is: "crit", word: "critical" },
    { count: warning ?? 0, is: "warn", word: "warning" },
    { count: info ?? 0, is: "info", word: "info" },
  ] as const;
  const some = all.filter(({ count }) => count > 0);
  if (some.length === 0) return <span class="q">0</span>;
  return (
    <span class="counts">
      {some.map(({ count, is, word }) => (
        <State key={is} is={is}>
          {number(count)}
          <span class="vh"> {word}</span>
        </State>
      ))}
    </span>
  );
}

function Expiry({ on }: Readonly<{ on: string }>) {
  const left = Math.ceil((Date.parse(on) - now.value) / 86_400_000);
  return (
    <>
      {day(on, now.value)} <span class={left > SOON_DAYS ? "q" : "n-warn"}>{inDays(left)}</span>
    </>
  );
}

function notesOf({ clockOffsetMs, refusedFacts, daysLeft, stoppedAt }: SiteRecord): string[] {
  const clock = clockOffsetMs ?? 0;
  return [
    ...(stoppedAt !== null ? ["stopped"] : []),
    ...(Math.abs(clock) > CLOCK_MS
      ? [`clock ${duration(Math.abs(clock))} ${clock > 0 ? "ahead" : "behind"}`]
      : []),
    ...(refusedFacts > 0 ? [`${plural(refusedFacts, "fact")} refused`] : []),
    ...((daysLeft ?? 0) > 0 ? [`${plural(daysLeft ?? 0, "day")} of history to come`] : []),
  ];
}

export function Sites({ sites, search }: Readonly<{ sites: readonly SiteRecord[]; search: string }>) {
  const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = sites.filter(({ site, labels }) => {
    const text = [site, ...Object.entries(labels).flat()].join("\n").toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  const sort = query.value.get("sort") ?? FIRST;
  if (found.length === 0) return null;
  return (
    <>
      <Section title="Sites" note={plural(found.length, "site")} />
      <ListTable
        label="Sites"
        class="si"
        rows={sortedBy(
          found.map((site) => ({ ...site, id: site.site })),
          COLUMNS,
          sort,
          tie,
        )}
        columns={COLUMNS}
        first={FIRST}
        rowClass={({ state }) => (state === "silent" ? "stale-row" : "")}
      />
    </>
  );
}
