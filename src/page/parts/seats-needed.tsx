import type { EfficiencyRecord } from "../../domain/history-records.ts";
import { number } from "../format.ts";
import { levelsOf } from "../series.ts";
import { past } from "../words-past.ts";
import { asDuration } from "./cells.tsx";
import { Rows } from "./figure.tsx";

/** For how long each number of seats was in use, and what fewer or more would have meant. */
export function SeatsNeeded({ row }: { readonly row: EfficiencyRecord }) {
  const { total, seats, whatIf, demand } = row;
  const levels = levelsOf(seats, total);
  const most = Math.max(...levels.map(({ percent }) => percent));
  const by = (levels[0]?.to ?? 0) + 1;
  const enough = levels.find(({ below }) => below >= 95);
  return (
    <div class="what">
      <figure>
        <ol class="histo" aria-label={past.histogram(by)}>
          {levels.map(({ from, percent, isFull }) => (
            <li key={from} class={isFull ? "f" : undefined}>
              <span class="v">{percent < 0.5 && percent > 0 ? "<1" : number(Math.round(percent))}</span>
              <i style={{ height: `${most > 0 ? (100 * percent) / most : 0}px` }} />
              <span class="q">{from}</span>
            </li>
          ))}
        </ol>
        <figcaption class="q">{past.histogram(by)}</figcaption>
      </figure>
      <div>
        <p class="facts">
          {enough !== undefined && <span>{past.enoughFor95(enough.to)}</span>}
          <span>{past.demand[demand.knownFrom]}</span>
          {demand.knownFrom !== "none" && (
            <span>{past.beyond(demand.deniedRequests, demand.queuedRequests)}</span>
          )}
        </p>
        <Rows
          label={past.whatIf}
          rows={whatIf}
          none={past.noWhatIf}
          columns={[
            {
              head: past.with,
              cell: (row) => (
                <>
                  {past.seatsOf(row.total)}{" "}
                  <span class="q">({past.difference(row.total - (total ?? 0))})</span>
                </>
              ),
            },
            { head: past.fullFor, value: ({ saturatedSeconds }) => saturatedSeconds, as: asDuration },
            { head: past.affected, value: ({ affectedSessions }) => affectedSessions },
          ]}
        />
      </div>
    </div>
  );
}
