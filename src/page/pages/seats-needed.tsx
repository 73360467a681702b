import type { EfficiencyRecord } from "../../domain/history-records.ts";
import { number, shortIn } from "../format.ts";
import { asDuration } from "../parts/cells.tsx";
import { Rows } from "../parts/rows.tsx";
import { levelsOf } from "../series.ts";
import { past } from "../words-past.ts";

/** Shows how long each number of seats was in use, and the effect of fewer or more seats. */
export function SeatsNeeded({ row }: { readonly row: EfficiencyRecord }) {
  const { seats, whatIf, demand, unit } = row;
  const total = row.total ?? 0;
  const levels = levelsOf(seats, row.total);
  const most = Math.max(1, ...levels.map(({ percent }) => percent));
  const histogram = past.histogram((levels[0]?.to ?? 0) + 1, unit);
  const enough = levels.find(({ below }) => below >= 95);
  return (
    <div class="halves">
      <figure>
        <ol class="histo" aria-label={histogram}>
          {levels.map(({ from, percent, isFull }, at) => (
            <li key={from}>
              {percent < 0.5 && percent > 0 ? "<1" : number(Math.round(percent))}
              <i
                style={{
                  height: `${(100 * percent) / most}px`,
                  background: isFull ? "var(--full-mark)" : "var(--use)",
                }}
              />
              {/* `120K` does not fit below each bar. */}
              <span class="q">{unit === "seats" || at % 3 === 0 ? shortIn(unit)(from) : "\u00a0"}</span>
            </li>
          ))}
        </ol>
        <figcaption class="q">{histogram}</figcaption>
      </figure>
      <div>
        <p class="facts">
          {enough !== undefined && <span>{past.enoughFor95(enough.to, unit)}</span>}
          <span>{past.demand[demand.knownFrom]}</span>
          {demand.knownFrom !== "none" && (
            <span>{past.beyond(demand.deniedRequests, demand.queuedRequests)}</span>
          )}
        </p>
        {whatIf.length === 0 && <p class="q">{past.noWhatIf}</p>}
        {[
          { tried: whatIf.filter((each) => each.total < total), affected: past.sessionsAffected },
          { tried: whatIf.filter((each) => each.total > total), affected: past.stillUnmet },
        ].map(
          ({ tried, affected }) =>
            tried.length > 0 && (
              <Rows
                key={affected}
                label={affected}
                rows={tried}
                columns={[
                  {
                    head: past.with,
                    by: ({ total }) => total,
                    cell: (row) => (
                      <>
                        {past.seatsOf(row.total, unit)}{" "}
                        <span class="q">({past.difference(row.total - total)})</span>
                      </>
                    ),
                  },
                  { head: past.fullFor, value: ({ saturatedSeconds }) => saturatedSeconds, as: asDuration },
                  { head: affected, value: ({ affectedSessions }) => affectedSessions },
                ]}
              />
            ),
        )}
      </div>
    </div>
  );
}
