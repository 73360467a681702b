import { iso } from "../../domain/clock.ts";
import { EfficiencyRecord } from "../../domain/history-records.ts";
import type { HistoryRead } from "../../store/history/read.ts";
import { type EfficiencyQuery, efficiencyQuery } from "../../store/statistics/efficiency.ts";
import type { Answer } from "../answers/answer.ts";
import type { Format } from "../answers/format.ts";
import { rowsAnswer } from "../answers/rows.ts";

export interface EfficiencyAsked extends EfficiencyQuery {
  readonly format: Format;
}

export function efficiencyAnswer(read: HistoryRead, asked: EfficiencyAsked): Answer {
  const { rows, total, start, end, resolution } = efficiencyQuery(read, asked);
  const { limit, offset, format } = asked;
  return rowsAnswer(
    {
      ...{ plural: "features", record: EfficiencyRecord, rows, total, limit, offset },
      beside: { start: iso(start), end: iso(end), resolution },
    },
    format,
  );
}
