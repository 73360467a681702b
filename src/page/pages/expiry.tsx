import { featureIdKey } from "../../domain/history.ts";
import type { ExpirationRecord } from "../../domain/records.ts";
import { addressOf } from "../api.ts";
import { day, number } from "../format.ts";
import { now } from "../live/live.ts";
import { FeatureLink, featureText } from "../parts/cells.tsx";
import { MOST_ROWS } from "../parts/csv.tsx";
import { Figure } from "../parts/figure.tsx";
import { State } from "../parts/marks.tsx";
import { askedHere, PastHead } from "../parts/past-head.tsx";
import { Rows } from "../parts/rows.tsx";
import { Choice } from "../parts/search-field.tsx";
import { byMonth, type ExpiryGroup, lostOf } from "../past-rows.ts";
import { query } from "../router.ts";
import { words } from "../words-pages.ts";
import { past } from "../words-past.ts";

const DAYS = ["30", "90", "180", "365"];
const SOON_DAYS = 30;
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

/** Shows expired and expiring licenses, by month or as a list. */
export function Expiry() {
  const days = query.value.get("days");
  const isList = query.value.get("view") === "list";
  return (
    <>
      <PastHead range={null}>
        <Choice name="view" any={past.calendar} values={["list"]} word={() => past.list} />
        <Choice name="days" any={past.anyTime} values={DAYS} word={past.days} />
        <a class="more" href={`.${addressOf("/api/licenses/expirations.ics", askedHere(null))}`}>
          {past.subscribe}
        </a>
      </PastHead>
      <Figure
        title={isList ? past.list : past.calendar}
        path="/api/licenses/expirations"
        query={{ ...askedHere(null), ...(days !== null && { days }), limit: `${MOST_ROWS}` }}
        note={({ total }) => past.pools(total)}
      >
        {({ expirations, total }) => {
          if (expirations.length === 0) return <p class="q">{past.noExpiry}</p>;
          if (isList) return <List rows={expirations} total={total} />;
          return (
            <>
              {byMonth(expirations).map(([month, groups]) => (
                <Month key={month} month={month} groups={groups} />
              ))}
              {total > expirations.length && (
                <p class="why n-warn">{past.firstOf(expirations.length, total, MOST_ROWS)}</p>
              )}
            </>
          );
        }}
      </Figure>
    </>
  );
}

function Month({ month, groups }: { readonly month: string; readonly groups: readonly ExpiryGroup[] }) {
  return (
    <>
      <div class="h">
        <h2 class={month === "" ? "n-crit" : undefined}>
          {month === "" ? past.expired : MONTH.format(Date.parse(`${month}-15`))}
        </h2>
        <span class="q">{lostIn(groups.flatMap(({ rows }) => rows))}</span>
      </div>
      <ul class="rows month">
        {groups.map(({ server, on, daysLeft, rows }) => (
          <li key={`${on} ${server}`}>
            <span>
              <b>{day(on, now.peek())}</b> <Left days={daysLeft} />
            </span>
            <span>
              <b>{server}</b> <span class="q">{lostIn(rows)}</span>
            </span>
            <span>
              {rows.map((row, at) => (
                <span key={at}>
                  {at > 0 && ", "}
                  <FeatureLink {...row} quiet />{" "}
                  <span class="q">{row.total !== null && number(row.total)}</span>
                </span>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Describes the features and seats of expiring pools. */
function lostIn(rows: readonly ExpirationRecord[]): string {
  const features = new Set(rows.map(featureIdKey));
  return past.lost(features.size, lostOf(rows), rows.filter(({ total }) => total === null).length);
}

function Left({ days }: { readonly days: number }) {
  if (days > SOON_DAYS) return <span class="q">{past.left(days)}</span>;
  return <State is={days < 0 ? "crit" : "warn"}>{past.left(days)}</State>;
}

function List({ rows, total }: { readonly rows: readonly ExpirationRecord[]; readonly total: number }) {
  return (
    <Rows
      label={words.expiry}
      rows={rows}
      total={total}
      columns={[
        { head: past.groups.feature, by: featureText, cell: (row) => <FeatureLink {...row} /> },
        {
          head: past.pool,
          wide: true,
          by: ({ pool }) => pool,
          cell: ({ pool }) => <span class="m">{pool}</span>,
        },
        {
          head: past.seats,
          right: true,
          by: ({ total }) => total,
          cell: ({ total }) => (total === null ? words.noLimit : number(total)),
        },
        {
          head: past.expires,
          right: true,
          by: ({ expiresOn }) => expiresOn,
          cell: ({ expiresOn }) => day(expiresOn ?? "", now.peek()),
        },
        { head: past.daysLeft, value: ({ daysLeft }) => daysLeft },
      ]}
    />
  );
}
