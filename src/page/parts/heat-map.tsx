import type { HeatCellRecord } from "../../domain/history-records.ts";
import type { Unit } from "../../domain/words.ts";
import { number } from "../format.ts";
import { orUnknown } from "../series.ts";

/** Color tokens by share. Full hours use `FULL`. */
const SHADES = ["heat-0", "heat-1", "heat-2", "heat-3", "heat-4"];
const FULL = "full-mark";
/** Minimum use of a full hour, in percent. */
const ALL = 99.5;
const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const HOURS = Array.from({ length: 24 }, (_, hour) => `${hour}`.padStart(2, "0"));

const colour = (token: string) => ({ backgroundColor: `var(--${token})` });

/**
 * Shows use by weekday and hour. `total` is the number of seats of a single feature, to mark full hours;
 * null for several features. Shades show the share of `total`, or without a total the share of the busiest
 * hour.
 */
export function HeatMap(props: {
  readonly cells: readonly HeatCellRecord[];
  readonly total: number | null;
  readonly unit?: Unit;
  /** True if the cells are large and show their percentage. */
  readonly isBig?: boolean;
}) {
  const { cells, total, unit = "seats", isBig = false } = props;
  const busiest = Math.max(1e-9, ...cells.map(({ averageUsed }) => averageUsed ?? 0));
  const isShare = cells.some(({ averageUtilization }) => averageUtilization !== null);

  const cellOf = (cell: HeatCellRecord) => {
    const { averageUtilization, averageUsed, peakUsed } = cell;
    const share = averageUsed === null ? null : (100 * averageUsed) / busiest;
    const percent = orUnknown(isShare ? averageUtilization : share, cell);
    const wasFull = total !== null && total > 0 && (peakUsed ?? 0) >= total;
    const isFull = isShare && (percent ?? 0) >= ALL;
    const step = Math.floor(((percent ?? 0) / 100) * SHADES.length);
    const shade = isFull ? FULL : (SHADES[step] ?? "heat-4");
    const words =
      percent === null
        ? "no data"
        : `${Math.round(percent)} %, peak ${number(peakUsed ?? 0)}${wasFull ? ", was full" : ""}, ${Math.floor(100 * cell.coverage)} % covered`;
    return (
      <td
        key={cell.hour}
        class={percent === null ? "gap" : `${shade} ${wasFull ? "notch" : ""}`}
        style={percent === null ? undefined : colour(shade)}
        title={`${WEEKDAYS[cell.weekday - 1]} ${HOURS[cell.hour]}:00: ${words}`}
      >
        <span class="vh">{words}</span>
        {isBig && <span aria-hidden="true">{percent !== null && number(Math.round(percent))}</span>}
      </td>
    );
  };
  return (
    <>
      <table class={isBig ? "heat big" : "heat"}>
        <thead>
          <tr>
            <td />
            {HOURS.map((hour, at) => (
              <th key={hour} scope="col">
                <span class={at % 3 === 0 ? undefined : "vh"}>{hour}</span>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {WEEKDAYS.map((weekday, day) => (
            <tr key={weekday}>
              <th scope="row">{weekday}</th>
              {cells.filter((cell) => cell.weekday === day + 1).map(cellOf)}
            </tr>
          ))}
        </tbody>
      </table>
      <p class="key q">
        <span>
          {isShare ? `of the ${unit}:` : "of the busiest hour:"} 0 %{" "}
          {SHADES.map((shade) => (
            <i key={shade} style={colour(shade)} />
          ))}{" "}
          100 %
        </span>
        {isShare && (
          <span>
            <i style={colour(FULL)} /> full
          </span>
        )}
        {total !== null && (
          <span>
            <i class="notch" style={colour("heat-1")} /> was full at times
          </span>
        )}
        <span>
          <i class="gap" /> no data
        </span>
      </p>
    </>
  );
}
