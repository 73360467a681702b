import { WaitsRecord } from "../../domain/history-records.ts";
import { OutageRecord, outageRecord } from "../../domain/outages.ts";
import { iso } from "../../domain/time/clock.ts";
import { availabilityOf, type OutageQuery, outagesOf } from "../../history/outages.ts";
import type { HistorySource, Reader } from "../../history/reader.ts";
import { type WaitsQuery, waitsQuery } from "../../history/statistics/waits.ts";
import type { Answer, Formatted } from "../answers/answer.ts";
import { rowsAnswer, withSite } from "../answers/list.ts";

interface OutagesAsked extends OutageQuery, Formatted {
  readonly now: number;
  /** Servers whose availability is reported by default. */
  readonly configured: readonly string[];
}

/** Answers outages and the availability of each server in the range. */
export function outagesAnswer(read: Pick<Reader, "all" | "now" | "checkpoint">, asked: OutagesAsked): Answer {
  const { start, end, now, servers, configured } = asked;
  const { rows, total } = outagesOf(read, asked);
  const records = rows.map((outage) => outageRecord(outage, now));
  const available = (servers ?? configured).map((server) => {
    read.checkpoint();
    return withSite(availabilityOf(read, server, asked), asked.ofSite);
  });
  const beside = { servers: available, start: iso(start), end: iso(end) };
  return rowsAnswer("outages", OutageRecord, records, total, asked, beside);
}

export async function waitsAnswer(read: HistorySource, asked: WaitsQuery & Formatted): Promise<Answer> {
  const { rows, total } = await waitsQuery(read, asked);
  const beside = { start: iso(asked.start), end: iso(asked.end) };
  return rowsAnswer("waits", WaitsRecord, rows, total, asked, beside);
}
