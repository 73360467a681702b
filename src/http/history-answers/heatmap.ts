import { iso } from "../../domain/clock.ts";
import { HeatCellRecord } from "../../domain/history-records.ts";
import type { HistoryRead } from "../../store/history/read.ts";
import { type HeatmapQuery, heatmapQuery } from "../../store/statistics/heatmap.ts";
import { type Answer, encode, jsonAnswer } from "../answers/answer.ts";
import type { Format } from "../answers/format.ts";
import { rowsAnswer } from "../answers/rows.ts";

export interface HeatmapAsked extends HeatmapQuery {
  readonly format: Format;
}

export function heatmapAnswer(read: HistoryRead, asked: HeatmapAsked): Answer {
  const { cells, features, start, end, resolution } = heatmapQuery(read, asked);
  if (asked.format !== "json") {
    const rows = { plural: "cells", record: HeatCellRecord, rows: cells, total: cells.length };
    return rowsAnswer({ ...rows, limit: null, offset: 0 }, asked.format);
  }
  const { timezone } = asked;
  const body = { timezone, features, cells, start: iso(start), end: iso(end), resolution };
  return jsonAnswer(encode(JSON.stringify(body)));
}
