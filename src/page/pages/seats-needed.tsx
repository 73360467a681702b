import type { EfficiencyRecord } from "../../domain/history-records.ts";
import { number, shortIn } from "../format.ts";
import { asDuration } from "../parts/cells.tsx";
import { Rows } from "../parts/rows.tsx";
import { levelsOf } from "../series.ts";
import { amount } from "../words.ts";

const DEMAND = {
  log: "Unmet requests are known from the debug log.",
  queue: "Unmet requests are known only from the queue.",
  none: "Unmet requests are not known.",
};

/** Shows how long each number of seats was in use, and the effect of fewer or more seats. */
export function SeatsNeeded({ row }: { readonly row: EfficiencyRecord }) {
  const { seats, whatIf, demand, unit } = row;
  const total = row.total ?? 0;
  const levels = levelsOf(seats, row.total);
  const most = Math.max(1, ...levels.map(({ percent }) => percent));
  const by = (levels[0]?.to ?? 0) + 1;
  const histogram = `Percent of the time with this many ${unit} in use${by > 1 ? `, ${by} per bar` : ""}`;
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
          {enough !== undefined && <span>{amount(enough.to, unit)} were enough for 95 % of the time.</span>}
          <span>{DEMAND[demand.knownFrom]}</span>
          {demand.knownFrom !== "none" && (
            <span>{`${demand.deniedRequests === null ? "Not known how many" : number(demand.deniedRequests)} denied, ${demand.queuedRequests === null ? "not known how many" : number(demand.queuedRequests)} queued.`}</span>
          )}
        </p>
        {whatIf.length === 0 && (
          <p class="q">
            No estimate for other numbers of seats: the feature is unlimited, or its total is unknown.
          </p>
        )}
        {[
          { tried: whatIf.filter((each) => each.total < total), affected: "Sessions affected" },
          { tried: whatIf.filter((each) => each.total > total), affected: "Requests still denied or queued" },
        ].map(
          ({ tried, affected }) =>
            tried.length > 0 && (
              <Rows
                key={affected}
                label={affected}
                rows={tried}
                columns={[
                  {
                    head: "With",
                    by: ({ total }) => total,
                    cell: (row) => (
                      <>
                        {amount(row.total, unit)}{" "}
                        <span class="q">
                          (
                          {row.total > total
                            ? `${number(row.total - total)} more`
                            : `${number(total - row.total)} fewer`}
                          )
                        </span>
                      </>
                    ),
                  },
                  { head: "Full for", value: ({ saturatedSeconds }) => saturatedSeconds, as: asDuration },
                  { head: affected, value: ({ affectedSessions }) => affectedSessions },
                ]}
              />
            ),
        )}
      </div>
    </div>
  );
}
