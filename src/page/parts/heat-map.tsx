import type { HeatCellRecord } from "../../domain/history-records.ts";
import { number } from "../format.ts";
import { past } from "../words-past.ts";

const STEPS = 5;
/** From here on an hour counts as full. */
const NEARLY = 90;
const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

/**
 * Use by weekday and hour. `total`: seats of the one feature that it is of, to mark hours in which none was left; null
 * where several are laid together. Shades go by the share of the seats, or of the busiest hour where there is no total.
 */
export function HeatMap(props: { readonly cells: readonly HeatCellRecord[]; readonly total: number | null }) {
  const { cells, total } = props;
  const busiest = Math.max(1e-9, ...cells.map(({ averageUsed }) => averageUsed ?? 0));
  const isShare = cells.some(({ averageUtilization }) => averageUtilization !== null);
  const top = isShare ? NEARLY : 100;
  const percentOf = ({ averageUtilization, averageUsed }: HeatCellRecord) =>
    isShare ? averageUtilization : averageUsed === null ? null : (100 * averageUsed) / busiest;
  const wasFull = ({ peakUsed }: HeatCellRecord) => total !== null && total > 0 && (peakUsed ?? 0) >= total;
  return (
    <>
      <table class="heat">
        <thead>
          <tr>
            <td />
            {HOURS.map((hour) => (
              <th key={hour} scope="col">
                <span class={hour % 3 === 0 ? undefined : "vh"}>{`${hour}`.padStart(2, "0")}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {past.weekdays.map((weekday, day) => (
            <tr key={weekday}>
              <th scope="row">{weekday}</th>
              {cells
                .filter((cell) => cell.weekday === day + 1)
                .map((cell) => {
                  const percent = percentOf(cell);
                  const shade = Math.min(STEPS - 1, Math.floor(((percent ?? 0) / top) * STEPS));
                  const words = past.heatCell(
                    percent,
                    cell.peakUsed,
                    wasFull(cell),
                    Math.floor(100 * cell.coverage),
                  );
                  return (
                    <td
                      key={cell.hour}
                      class={`${percent === null ? "gap" : isShare && percent >= NEARLY ? "hf" : `h${shade}`} ${wasFull(cell) ? "notch" : ""}`}
                      title={`${weekday} ${`${cell.hour}`.padStart(2, "0")}:00: ${words}`}
                    >
                      <span class="vh">{words}</span>
                      <span class="fig" aria-hidden="true">
                        {percent !== null && number(Math.round(percent))}
                      </span>
                    </td>
                  );
                })}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="key q">
        {isShare ? past.heatShare : past.heatBusiest} 0 %
        <span class="shades" aria-hidden="true">
          {Array.from({ length: STEPS }, (_, step) => (
            <i key={step} class={`h${step}`} />
          ))}
        </span>
        {number(top)} %
        {isShare && (
          <>
            <i class="hf" /> {past.more}
          </>
        )}
        {total !== null && (
          <>
            <i class="h1 notch" /> {past.wasFull}
          </>
        )}
        <i class="gap" /> {past.nobodyLooked}
      </p>
    </>
  );
}
