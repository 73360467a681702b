import { iso } from "../../domain/clock.ts";
import { UsageRecord } from "../../domain/history-records.ts";
import type { UsageGroup, UsageKey } from "../../domain/stats/usage.ts";
import type { HistoryRead } from "../../store/history/read.ts";
import { namesOf } from "../../store/statistics/people.ts";
import { type UsageQuery, usageQuery } from "../../store/statistics/usage.ts";
import { namesFor } from "../anonymous/names.ts";
import type { Pseudonyms } from "../anonymous/pseudonyms.ts";
import type { Answer } from "../answers/answer.ts";
import type { Format } from "../answers/format.ts";
import { rowsAnswer } from "../answers/rows.ts";

/** The columns beside the keys of the groups. */
export const FIGURES = ["heldSeatHours", "sessions", "peakHeld", "uniqueUsers", "lastUsedAt"];

/** The columns of the groups: a feature has those of its server and its daemon too. */
export function keyColumns(by: readonly UsageKey[]): readonly UsageKey[] {
  return by.includes("feature") ? ["server", "daemon", ...by] : by;
}

export interface UsageAsked extends UsageQuery {
  readonly format: Format;
}

export function usageAnswer(read: HistoryRead, asked: UsageAsked, pseudonyms: Pseudonyms | null): Answer {
  const { filter, groupBy, limit, offset, format } = asked;
  const people = namesFor(pseudonyms, () => namesOf(read, filter, asked));
  const shown = (key: UsageKey, name: string | null) =>
    key === "user" ? people.user(name ?? "") : key === "host" ? people.host(name) : name;
  const { start, end, rows, total } = usageQuery(read, { ...asked, filter: people.wanted(filter) }, shown);
  return rowsAnswer(
    {
      ...{ plural: "groups", record: UsageRecord, total, limit, offset },
      rows: rows.map(usageRecord),
      columns: [...keyColumns(groupBy), ...FIGURES],
      beside: { start: iso(start), end: iso(end), resolution: "exact" },
    },
    format,
  );
}

function usageRecord({ keys, ...group }: UsageGroup): UsageRecord {
  const { heldSeatHours, sessions, peakHeld, uniqueUsers, lastUsedAt } = group;
  const named = Object.entries(keys);
  return {
    ...Object.fromEntries(named),
    ...{ heldSeatHours, sessions, peakHeld, uniqueUsers, lastUsedAt: iso(lastUsedAt) },
  };
}
