import { iso } from "../../domain/clock.ts";
import { StatsRecord } from "../../domain/history-records.ts";
import type { Reader } from "../../store/history/reader.ts";
import { type StatsQuery, type StatsRow, statsQuery } from "../../store/statistics/stats.ts";
import type { Answer } from "../answers/answer.ts";
import type { Format } from "../answers/format.ts";
import { rowsAnswer } from "../answers/rows.ts";

export interface StatsAsked extends StatsQuery {
  readonly format: Format;
}

export interface StatsAnswer extends Answer {
  /** Points that the series would have had; where they are too many, there are no rows. */
  readonly points: number;
}

export async function statsAnswer(read: Reader, asked: StatsAsked): Promise<StatsAnswer> {
  const { rows, total, points, start, end, interval, resolution } = await statsQuery(read, asked);
  const { limit, offset, format } = asked;
  const answer = rowsAnswer(
    {
      ...{ plural: "features", record: StatsRecord, rows: rows.map(statsRecord), total, limit, offset },
      beside: { start: iso(start), end: iso(end), interval, resolution },
    },
    format,
  );
  return { ...answer, points };
}

function statsRecord({ points, ...row }: StatsRow): StatsRecord {
  if (points === null) return row;
  return { ...row, series: points.map(({ at, ...point }) => ({ timestamp: iso(at), ...point })) };
}
