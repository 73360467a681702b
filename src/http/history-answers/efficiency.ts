import { iso } from "../../domain/clock.ts";
import { EfficiencyRecord, EfficiencyRow } from "../../domain/history-records.ts";
import type { HistoryRead } from "../../store/history/read.ts";
import {
  type EfficiencyQuery,
  type EfficiencyRow as Efficient,
  efficiencyQuery,
} from "../../store/statistics/efficiency.ts";
import type { Answer } from "../answers/answer.ts";
import type { Format } from "../answers/format.ts";
import { rowsAnswer } from "../answers/rows.ts";

export interface EfficiencyAsked extends EfficiencyQuery {
  readonly format: Format;
}

export function efficiencyAnswer(read: HistoryRead, asked: EfficiencyAsked): Answer {
  const { rows, total, start, end, resolution } = efficiencyQuery(read, asked);
  const { limit, offset, format } = asked;
  if (format === "csv") {
    const record = { plural: "features", record: EfficiencyRow, rows: rows.flatMap(partsOf) };
    return rowsAnswer({ ...record, total, limit, offset }, format);
  }
  return rowsAnswer(
    {
      ...{ plural: "features", record: EfficiencyRecord, rows, total, limit, offset },
      beside: { start: iso(start), end: iso(end), resolution },
    },
    format,
  );
}

function partsOf({ seats, whatIf, ...feature }: Efficient): EfficiencyRow[] {
  const nothing = { busyPercent: null, saturatedSeconds: null, affectedSessions: null };
  return [
    ...seats.map(({ seat, busyPercent }) => ({
      ...{ ...feature, ...nothing },
      ...{ part: "seat" as const, seats: seat, busyPercent },
    })),
    ...whatIf.map(({ total: tried, ...then }) => ({
      ...{ ...feature, ...nothing },
      ...{ part: "whatIf" as const, seats: tried, ...then },
    })),
  ];
}
