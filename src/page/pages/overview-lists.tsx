import type { ComponentChildren } from "preact";
import { siteOf } from "../../domain/server.ts";
import { may, mayNot } from "../api.ts";
import { MARK_WORDS, type Trouble, troublesOf } from "../daily/attention.ts";
import { EXPIRY_DAYS, expiriesOf, heldOf, tightOf } from "../daily/figures.ts";
import { day as dayInWords, duration, number, plural } from "../format.ts";
import { IS_FLEET } from "../here.ts";
import { ask, firing, isUnhandled } from "../live/alerts.ts";
import { now } from "../live/live.ts";
import { allFeatures, type FeatureRow, nameOf, type Site } from "../model.ts";
import { Pending } from "../parts/answer.tsx";
import { Note, SeatBar, stretch, Timeline } from "../parts/bar.tsx";
import { Facts, FeatureLink, Icon, type Mark, Person, State, UsedOf } from "../parts/marks.tsx";
import { Section } from "../parts/section.tsx";
import { unknownByReason } from "../past-rows.ts";
import { hrefOf } from "../router.ts";
import { amount, inDays } from "../words.ts";
import { type Denials, midnight, useExpiries } from "./overview-past.ts";

type Props = Readonly<{ servers: Site }>;

const MOST_TIGHT = 6;
const MOST_DAYS = 6;
const MOST_HELD = 8;
const MOST_DENIED = 6;

const isRead = (servers: Site) => IS_FLEET || allFeatures(servers).length > 0;
const linkOf = ({ server, feature }: FeatureRow) => (
  <FeatureLink quiet {...feature} server={server.id} feature={feature.name} />
);

export function Tight({ servers }: Props) {
  const rows = tightOf(servers);
  const all = allFeatures(servers).length;
  return (
    <Section
      title="Full or nearly full"
      note={`${number(rows.length)} of ${plural(all, "feature")}`}
      more={[`All ${number(all)}`, { path: "features" }]}
    >
      {rows.length === 0 && <p class="q">{all === 0 ? "No data yet." : "Nothing is nearly full."}</p>}
      <ul class="rows tight">
        {rows.slice(0, MOST_TIGHT).map((row) => (
          <li key={row.id} class={row.feature.state === "stale" ? "stale-row" : undefined}>
            <span class="name">{linkOf(row)}</span>
            <span class="q el">{row.server.id}</span>
            <SeatBar feature={row.feature} />
            <span class="r">
              <UsedOf {...row.feature} />
            </span>
            <span class="el">
              <Note row={row} />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

const SOON_DAYS = 30;

export function Expiring({ servers }: Props) {
  const { answer, error, again } = useExpiries(servers);
  const days = answer === null ? null : expiriesOf(answer.expirations);
  return (
    <Section title="Expiring" note={`next ${EXPIRY_DAYS} days`} more={["Calendar", { path: "expiry" }]}>
      {days === null && <Pending error={error} again={again} />}
      {days?.length === 0 && <p class="q">{isRead(servers) ? "Nothing expires." : "No data yet."}</p>}
      <ul class="rows exp">
        {days?.slice(0, MOST_DAYS).map(({ on, days: left, rows: [first], features, seats }) => (
          <li key={on}>
            <span class="q">{dayInWords(on, now.value)}</span>
            <span class="el">
              {features === 1 && first ? (
                <FeatureLink quiet server={first.server} daemon={first.daemon} feature={first.feature} />
              ) : (
                `${plural(features, "feature")}, ${amount(seats)}`
              )}
            </span>
            {left > SOON_DAYS ? (
              <span class="q r">{inDays(left)}</span>
            ) : (
              <State is={left < 0 ? "crit" : "warn"}>{left < 0 ? "expired" : inDays(left)}</State>
            )}
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function Held({ servers }: Props) {
  const rows = heldOf(servers);
  return (
    <Section
      title="Longest held"
      more={rows.length > 0 && [`All ${number(rows.length)}`, { path: "people" }]}
    >
      {rows.length === 0 && (
        <p class="q">
          {mayNot("holders")
            ? "People are not shown here."
            : isRead(servers)
              ? "No checkouts."
              : "No data yet."}
        </p>
      )}
      <ul class="rows held-l">
        {rows.slice(0, MOST_HELD).map((row) => (
          <li key={row.id}>
            <span class="el">
              <Person user={row.user} />
            </span>
            <span class="el q">{nameOf(row)}</span>
            <span class="r">{duration(now.value - (row.since ?? 0))}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

export function Denied({ denials, isUnread }: Readonly<{ denials: Denials | null; isUnread: boolean }>) {
  const { of = [], count = null, unknown = [] } = denials ?? {};
  const today = { word: null, start: midnight(), end: now.value };
  return (
    <Section
      title="Denied today"
      note={of.length > 0 && "00:00 to now"}
      more={of.length > 0 && [`All ${number(count ?? 0)}`, { path: "denials" }]}
    >
      {mayNot("holders") && <p class="q">Denied requests are not shown here.</p>}
      {denials === null && isUnread && <p class="q">Denials cannot be read now.</p>}
      {count === 0 && <p class="q">No request was denied.</p>}
      <ul class="rows den-l">
        {of.slice(0, MOST_DENIED).map(({ first: { server, daemon, feature }, denied, rows }) => (
          <li key={`${server} ${daemon} ${feature}`}>
            <span class="el">
              <FeatureLink quiet server={server} daemon={daemon} feature={feature} />
            </span>
            <Timeline
              range={today}
              of={rows.map(({ timestamp }) => stretch("crit-mark", timestamp, timestamp))}
            />
            <b class="r">{number(denied)}</b>
          </li>
        ))}
      </ul>
      {unknownByReason(unknown).map(({ why, servers }) => (
        <p key={why} class="q note">
          Not known: {firstNames(servers)}. {why}.
        </p>
      ))}
    </Section>
  );
}

const firstNames = (names: readonly string[]) =>
  [
    ...names.slice(0, 3),
    ...(names.length > 3 ? [`and ${plural(names.length - 3, "other server")}`] : []),
  ].join(", ");

export const coloured = (colour: string) => (count: number) =>
  count === 0 ? "0" : <span class={colour}>{number(count)}</span>;

/** The state of a site or fleet in one sentence, with its main figures. */
export function StatusLine(props: {
  readonly label: string;
  readonly mark: Mark;
  readonly seats: { readonly used: number | null; readonly total: number | null };
  readonly stale: number;
  readonly figures: readonly (readonly [string, ComponentChildren])[];
  readonly children: ComponentChildren;
}) {
  const { label, mark, seats, stale, figures, children } = props;
  const word = `seats in use${stale > 0 ? `, ${plural(stale, "feature")} stale` : ""}`;
  return (
    <section class="status" aria-label={label}>
      <h1 class={`line st-${mark}`}>
        <Icon name={mark} />
        <span>{children}</span>
      </h1>
      <div class="figs">
        <Facts of={[[word, <UsedOf {...seats} between=" of " />], ...figures]} />
      </div>
    </section>
  );
}

const MOST_TROUBLES = IS_FLEET ? 8 : 20;

export function Attention({ servers, open }: Readonly<{ servers: Site; open?: number }>) {
  const alerts = [...(firing.value?.values() ?? [])];
  const troubles = troublesOf(servers, alerts, now.value);
  const handled = alerts.filter((alert) => !isUnhandled(alert, now.value)).length;
  // A fleet's page reads only the newest alerts. If there are more, their groups are unknown, so count the
  // alerts instead.
  const count = open === undefined || open <= alerts.length ? troubles.length : open;
  const shown = troubles.slice(0, MOST_TROUBLES);
  return (
    <Section
      title="Needs attention"
      note={
        troubles.length > 0 && (shown.length < count ? `${shown.length} of ${number(count)}` : number(count))
      }
      more={["All alerts", { path: "alerts" }]}
    >
      {firing.value === null && <p class="st-warn">Alerts are not known now.</p>}
      {firing.value !== null && troubles.length === 0 && <State is="ok">Nothing needs attention.</State>}
      <ul class="rows need">
        {shown.map((trouble) => (
          <Row key={trouble.id} trouble={trouble} />
        ))}
      </ul>
      {handled > 0 && <p class="q note">{`${number(handled)} acknowledged or silenced`}</p>}
    </Section>
  );
}

function Row({ trouble }: Readonly<{ trouble: Trouble }>) {
  const { mark, tone, subject, to, text, since, days, alert } = trouble;
  return (
    <li>
      <State is={mark} tone={tone}>
        {MARK_WORDS[mark]}
      </State>
      <span class="el">
        {to === null ? <b>{subject}</b> : <a href={hrefOf(to)}>{subject}</a>} {text}
        {IS_FLEET && alert?.feature && alert.server && <span class="q"> {siteOf(alert.server)}</span>}
      </span>
      <span class="q r">{days !== null ? inDays(days) : since !== null && duration(now.value - since)}</span>
      {may("acknowledge") && (
        <span class="ack">
          {alert !== null && (
            <button class="link" type="button" onClick={() => ask({ alert, action: "acknowledge" })}>
              Ack
              <span class="vh"> {`${subject} ${text}`}</span>
            </button>
          )}
        </span>
      )}
    </li>
  );
}
