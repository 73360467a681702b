import { EXPIRY_DAYS, expiriesOf, heldOf, tightOf } from "../daily/figures.ts";
import { daily } from "../daily/words.ts";
import { day, duration, moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import { mayNot } from "../me.ts";
import type { Site } from "../model.ts";
import { allHolders, type FeatureRow, nameOf } from "../model.ts";
import { SeatBar } from "../parts/bar.tsx";
import { Pending } from "../parts/figure.tsx";
import { State } from "../parts/marks.tsx";
import { linkTo } from "../router.ts";
import { words } from "../words.ts";
import { Note } from "./feature-table.tsx";
import { midnight, past, useExpiries } from "./overview-past.ts";

interface Props {
  readonly servers: Site;
}

const MOST_TIGHT = 6;
const MOST_DAYS = 6;
const MOST_HELD = 8;
const MOST_DENIED = 6;

function FeatureLink({
  server,
  daemon,
  name,
}: {
  readonly server: string;
  readonly daemon: string;
  readonly name: string;
}) {
  return (
    <a class="name" href={linkTo("feature", { server, daemon, name })} title={name}>
      {name}
    </a>
  );
}
const linkOf = ({ server, feature }: FeatureRow) => (
  <FeatureLink server={server.id} daemon={feature.daemon} name={feature.name} />
);

export function Tight({ servers }: Props) {
  const rows = tightOf(servers);
  const all = [...servers.values()].reduce((sum, server) => sum + server.features.size, 0);
  return (
    <section class="sec">
      <header>
        <h2>{daily.tight}</h2>
        <span class="q">{daily.ofFeatures(rows.length, all)}</span>
        <a class="more" href={linkTo("features")}>
          {daily.allOf(all)}
        </a>
      </header>
      {rows.length === 0 && <p class="q">{all === 0 ? daily.notReadYet : daily.nothingTight}</p>}
      <ul class="rows tight">
        {rows.slice(0, MOST_TIGHT).map((row) => (
          <li key={row.id} class={row.feature.state === "stale" ? "stale-row" : undefined}>
            {linkOf(row)}
            <span class="q el">{row.server.id}</span>
            <SeatBar feature={row.feature} />
            <span class="r">
              {number(row.feature.used ?? 0)}/{number(row.feature.total ?? 0)}
            </span>
            <span class="el">
              <Note row={row} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Expiring({ servers }: Props) {
  const { answer, error, again } = useExpiries(servers, now.value);
  const days = answer === null ? null : expiriesOf(answer.expirations);
  return (
    <section class="sec">
      <header>
        <h2>{daily.expiring}</h2>
        <span class="q">{daily.nextDays(EXPIRY_DAYS)}</span>
        <a class="more" href={linkTo("expiry")}>
          {daily.calendar}
        </a>
      </header>
      {days === null && <Pending error={error} again={again} />}
      {days?.length === 0 && <p class="q">{daily.nothingExpires}</p>}
      <ul class="rows exp">
        {days?.slice(0, MOST_DAYS).map(({ on, days: left, rows: [first], features, seats }) => (
          <li key={on}>
            <span class="q">{day(on, now.value)}</span>
            <span class="el">
              {features === 1 && first ? (
                <FeatureLink server={first.server} daemon={first.daemon} name={first.feature} />
              ) : (
                daily.several(features, seats)
              )}
            </span>
            <span class="r">
              {left < 0 ? (
                <State is="crit">{words.expired}</State>
              ) : left <= 30 ? (
                <State is="warn">{daily.inDays(left)}</State>
              ) : (
                <span class="q">{daily.inDays(left)}</span>
              )}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function Held({ servers }: Props) {
  const rows = heldOf(servers);
  const all = allHolders(servers).filter(({ kind }) => kind === "checkout").length;
  return (
    <section class="sec">
      <header>
        <h2>{daily.held}</h2>
        {all > 0 && (
          <a class="more" href={linkTo("people")}>
            {daily.allOf(all)}
          </a>
        )}
      </header>
      {rows.length === 0 && <p class="q">{mayNot("holders") ? words.noPeople : daily.nobodyHolds}</p>}
      <ul class="rows held-l">
        {rows.slice(0, MOST_HELD).map((row) => (
          <li key={row.id}>
            <a class="name" href={linkTo("person", { user: row.user ?? "" })}>
              {row.user}
            </a>
            <span class="el q">{nameOf(row)}</span>
            <span class="r">{duration(now.value - (row.since ?? 0))}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const TICKS = 96;

export function Denied() {
  const { denied, isDeniedUnread } = past.value;
  const from = midnight();
  const place = (at: number) =>
    Math.round((1 + ((at - from) / Math.max(1, now.value - from)) * (TICKS - 2)) * 10) / 10;
  return (
    <section class="sec">
      <header>
        <h2>{daily.denied}</h2>
        {denied !== null && denied.count > 0 && (
          <a class="more" href={linkTo("denials")}>
            {daily.allOf(denied.count)}
          </a>
        )}
      </header>
      {mayNot("holders") && <p class="q">{daily.noDenials}</p>}
      {denied === null && isDeniedUnread && <p class="q">{daily.notRead}</p>}
      {denied !== null && !denied.isUnknown && denied.of.length === 0 && (
        <p class="q">{daily.nobodyDenied}</p>
      )}
      <ul class="rows den-l">
        {denied?.of
          .slice(0, MOST_DENIED)
          .map(({ first: { server, daemon, feature }, denied: count, rows }) => (
            <li key={`${server} ${daemon} ${feature}`}>
              {feature === null ? (
                <span class="el q">{daily.counted(daemon)}</span>
              ) : (
                <FeatureLink server={server} daemon={daemon} name={feature} />
              )}
              <svg class="dticks" width={TICKS} height="14" viewBox={`0 0 ${TICKS} 14`} aria-hidden="true">
                <path class="base" d={`M0 13.500H${TICKS}`} />
                <path
                  class="d-t"
                  d={rows.map(({ timestamp }) => `M${place(Date.parse(timestamp))} 2V13`).join("")}
                />
              </svg>
              <b class="r">{number(count)}</b>
            </li>
          ))}
      </ul>
      {denied !== null && denied.of.length > 0 && (
        <p class="q axis" aria-hidden="true">
          <span>00:00</span>
          <span>{moment(now.value, now.value)}</span>
        </p>
      )}
      {(["off", "unreadable"] as const).map((state) => {
        const of = denied?.unknown.filter((each) => each.state === state).map(({ server }) => server) ?? [];
        if (of.length === 0) return null;
        const names = [...of.slice(0, 3), ...(of.length > 3 ? [daily.morePlaces(of.length - 3)] : [])].join(
          ", ",
        );
        return (
          <p key={state} class="q note">
            {daily.deniedUnknown(names, state)}
          </p>
        );
      })}
    </section>
  );
}
