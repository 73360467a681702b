import { featureIdKey } from "../../domain/history.ts";
import type { ExpirationRecord } from "../../domain/records.ts";
import { addressOf } from "../api.ts";
import { day, number, plural } from "../format.ts";
import { now } from "../live/live.ts";
import { Figure, firstOf, MOST_ROWS } from "../parts/figure.tsx";
import { FeatureLink, State } from "../parts/marks.tsx";
import { askedHere, PastHead } from "../parts/past-head.tsx";
import { FEATURE, Rows } from "../parts/rows.tsx";
import { Choice } from "../parts/search-field.tsx";
import { byMonth, type ExpiryGroup, lostOf } from "../past-rows.ts";
import { query } from "../router.ts";
import { amount, inDays } from "../words.ts";

const DAYS = ["30", "90", "180", "365"];
const SOON_DAYS = 30;
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });

export function Expiry() {
  const days = query.value.get("days");
  const isList = query.value.get("view") === "list";
  return (
    <>
      <PastHead range={null}>
        <Choice name="view" any="By month" values={["list"]} word={() => "List"} />
        <Choice name="days" any="Within any time" values={DAYS} word={(days) => `Within ${days} days`} />
        <a class="more" href={`.${addressOf("/api/licenses/expirations.ics", askedHere(null))}`}>
          Subscribe (ICS)
        </a>
      </PastHead>
      <Figure
        title={isList ? "List" : "By month"}
        path="/api/licenses/expirations"
        query={{ ...askedHere(null), ...(days !== null && { days }), limit: `${MOST_ROWS}` }}
        note={({ total }) => plural(total, "pool")}
      >
        {({ expirations, total }) => {
          if (expirations.length === 0) return <p class="q">Nothing expires.</p>;
          if (isList) return <List rows={expirations} total={total} />;
          return (
            <>
              {byMonth(expirations).map(([month, groups]) => (
                <Month key={month} month={month} groups={groups} />
              ))}
              {total > expirations.length && <p class="why n-warn">{firstOf(expirations.length, total)}</p>}
            </>
          );
        }}
      </Figure>
    </>
  );
}

function Month({ month, groups }: Readonly<{ month: string; groups: readonly ExpiryGroup[] }>) {
  return (
    <>
      <div class="h">
        <h2 class={month === "" ? "n-crit" : undefined}>
          {month === "" ? "Expired" : MONTH.format(Date.parse(`${month}-15`))}
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

function lostIn(rows: readonly ExpirationRecord[]): string {
  const features = new Set(rows.map(featureIdKey));
  const open = rows.filter(({ total }) => total === null).length;
  const limited = `${plural(features.size, "feature")}, ${amount(lostOf(rows))} lost`;
  return open > 0 ? `${limited}, ${number(open)} without a limit` : limited;
}

function Left({ days }: Readonly<{ days: number }>) {
  if (days > SOON_DAYS) return <span class="q">{inDays(days)}</span>;
  return <State is={days < 0 ? "crit" : "warn"}>{inDays(days)}</State>;
}

function List({ rows, total }: Readonly<{ rows: readonly ExpirationRecord[]; total: number }>) {
  return (
    <Rows
      label="Expiry"
      rows={rows}
      total={total}
      columns={[
        FEATURE,
        { head: "Pool", wide: true, by: ({ pool }) => pool, style: "m" },
        {
          head: "Seats",
          right: true,
          by: ({ total }) => total,
          cell: ({ total }) => (total === null ? "no limit" : number(total)),
        },
        {
          head: "Expires",
          right: true,
          by: ({ expiresOn }) => expiresOn,
          cell: ({ expiresOn }) => day(expiresOn ?? "", now.peek()),
        },
        { head: "Days left", value: ({ daysLeft }) => daysLeft },
      ]}
    />
  );
}
