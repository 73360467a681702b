import { useMemo } from "preact/hooks";
import { isOld, kindOf, MARK_OF, readAt, shortOf } from "../daily/condition.ts";
import { groupsOf } from "../daily/figures.ts";
import { placeOf } from "../daily/sentence.ts";
import type { Day } from "../daily/series.ts";
import { daily } from "../daily/words.ts";
import { moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import type { Site } from "../model.ts";
import { Chart } from "../parts/chart.tsx";
import { Age, State, Unknown } from "../parts/marks.tsx";
import { Spark } from "../parts/spark.tsx";
import { ZONE } from "../range.ts";
import { hrefOf, linkTo } from "../router.ts";
import { words } from "../words.ts";
import { MOST_FEATURES, type Past, past } from "./overview-past.ts";

const DAY_MS = 86_400_000;

/** One tile a server: its state, the age of its figures, and its last 24 hours. */
export function Tiles({ servers }: { readonly servers: Site }) {
  const { day } = past.value;
  const known = isRead(day) ? day.servers : null;
  return (
    <ul class="grid6" aria-label={daily.group}>
      {[...servers.values()].map((server) => {
        const kind = kindOf(server);
        const at = readAt(server);
        const { used, total } = server.counts;
        const says = [used, total].map((value) => (value === null ? words.notKnown : number(value)));
        const samples = known?.get(server.id);
        return (
          <li key={server.id}>
            <a class={`srv ${isOld(server) ? "stale-row" : ""}`} href={hrefOf(placeOf(server))}>
              <span class="l1">
                <State is={MARK_OF[kind]} quiet>
                  {daily.kinds[kind]}:
                </State>
                <b class="el">{server.id}</b>
                <span class="age">{at !== null && <Age at={at} />}</span>
              </span>
              <span class="l2">
                <span class="el">{shortOf(server)}</span>
                <span>
                  {used === null ? <Unknown /> : <b>{number(used)}</b>}{" "}
                  {used !== null && total !== null && daily.of(number(total))}
                </span>
              </span>
              {samples === undefined || samples.every((sample) => sample.used === null) ? (
                <span class="spark" />
              ) : (
                <Spark
                  samples={samples}
                  until={now.value}
                  total={total}
                  used={used}
                  isStale={isOld(server)}
                  label={daily.spark(says[0] ?? "", says[1] ?? "")}
                />
              )}
            </a>
          </li>
        );
      })}
    </ul>
  );
}

/** Many servers: a row for each label, those with troubles first. */
export function Groups({ servers }: { readonly servers: Site }) {
  const heads = [daily.group, daily.troubled, daily.columns.seats];
  return (
    <div class="t gt" role="table" aria-label={daily.group}>
      <div class="tr th" role="row">
        <span role="columnheader">
          <span class="vh">{daily.group}</span>
        </span>
        {heads.map((word) => (
          <span key={word} role="columnheader" class="r">
            {word}
          </span>
        ))}
      </div>
      {groupsOf(servers).map(({ label, isLabel, servers: of, troubled, used, total }) => (
        <div key={label} class="tr" role="row">
          <span role="cell" class="el">
            {label === "" ? (
              daily.noLabel
            ) : (
              <a class="name" href={linkTo("servers", { [isLabel ? "label" : "manager"]: label })}>
                {label}
              </a>
            )}
          </span>
          <span role="cell" class="r">
            {number(of.length)}
          </span>
          <span role="cell" class="r">
            {troubled.length === 0 ? (
              <span class="q">0</span>
            ) : (
              <State is="warn">{number(troubled.length)}</State>
            )}
          </span>
          <span role="cell" class="r">
            {used === null ? <Unknown /> : number(used)}
            {used !== null && total !== null && <span class="q">/{number(total)}</span>}
          </span>
        </div>
      ))}
    </div>
  );
}

/** All servers together over 24 hours, by the history as it was read last. */
export function SiteChart() {
  const { day } = past.value;
  const [until, coverage] = isRead(day) ? [day.until, Math.floor(100 * day.coverage)] : [now.value, 0];
  const series = useMemo(
    () => (isRead(day) ? { start: day.until - DAY_MS, end: day.until, buckets: day.site } : null),
    [day],
  );
  return (
    <section class="sec">
      <header>
        <h2>{daily.seats24}</h2>
        <span class="q">
          {daily.toNow(moment(until - DAY_MS, until), ZONE)}
          {coverage > 0 && coverage < 99 && `; ${daily.known(coverage)}`}
        </span>
        <a class="more" href={linkTo("history")}>
          {words.history}
        </a>
      </header>
      {day === "tooMany" && <p class="q">{daily.tooMany(MOST_FEATURES)}</p>}
      {day === null && <p class="q">{daily.notRead}</p>}
      {series !== null && coverage === 0 && <p class="q">{daily.noReadings}</p>}
      {series !== null && coverage > 0 && (
        <Chart label={daily.seatsChart} unit={daily.unit} series={series} now={until} height={240} />
      )}
    </section>
  );
}

const isRead = (day: Past["day"]): day is Day => typeof day === "object" && day !== null;
