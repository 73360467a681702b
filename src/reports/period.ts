import { DAY_MS } from "../domain/time/clock.ts";

/** Whole week or month of a report, in the host's zone. */
export interface Period {
  /** Name of the period: `2026-10`, or `2026-W43` for an ISO 8601 week. */
  readonly name: string;
  readonly title: string;
  readonly start: number;
  readonly end: number;
}

type Every = "week" | "month";

const STEP = { week: { days: 7 }, month: { months: 1 } } as const;

function periodOf(every: Every, first: Temporal.PlainDate, zone: string): Period {
  const at = (day: Temporal.PlainDate) => day.toZonedDateTime(zone).epochMilliseconds;
  // A week belongs to the year of its Thursday (ISO 8601).
  const { yearOfWeek, weekOfYear = 0 } = first;
  const isWeek = every === "week";
  return {
    name: isWeek ? `${yearOfWeek}-W${`${weekOfYear}`.padStart(2, "0")}` : first.toPlainYearMonth().toString(),
    title: isWeek
      ? `Week ${weekOfYear} of ${yearOfWeek}`
      : first.toLocaleString("en", { month: "long", year: "numeric" }),
    start: at(first),
    end: at(first.add(STEP[every])),
  };
}

const mondayOf = (day: Temporal.PlainDate) => day.subtract({ days: day.dayOfWeek - 1 });
const onClocks = (epochMs: number, zone: string) =>
  Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO(zone).toPlainDateTime();

/**
 * Parses `2026-10` or `2026-W43`. Returns null if the text is invalid, e.g. names a week that the year does
 * not have.
 */
export function parsePeriod(text: string, zone: string): Period | null {
  const [, year, month, week] = /^(\d{4})-(?:(0[1-9]|1[0-2])|W(\d\d))$/.exec(text) ?? [];
  if (year === undefined) return null;
  if (month !== undefined) return periodOf("month", Temporal.PlainDate.from(`${text}-01`), zone);
  // January 4 is always in the first week.
  const first = mondayOf(Temporal.PlainDate.from(`${year}-01-04`)).add({ weeks: Number(week) - 1 });
  const period = periodOf("week", first, zone);
  return period.name === text ? period : null;
}

/**
 * Returns the latest week or month whose report is due. A week is due `dueMs` after the following Monday
 * 00:00. A month is due at the same weekday and time, on its first occurrence in the following month.
 */
export function lastDue(every: Every, dueMs: number, zone: string, now: number): Period {
  const today = onClocks(now, zone).toPlainDate();
  const [weekday, plainTime] = [Math.floor(dueMs / DAY_MS), onClocks(dueMs, "UTC").toPlainTime()];
  let first = every === "week" ? mondayOf(today) : today.with({ day: 1 });
  for (;;) {
    const day = first.add({ days: (weekday + 8 - first.dayOfWeek) % 7 });
    first = first.subtract(STEP[every]);
    if (day.toZonedDateTime({ timeZone: zone, plainTime }).epochMilliseconds <= now)
      return periodOf(every, first, zone);
  }
}
