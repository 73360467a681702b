import { type Denial, DenialRecord, denialRecord } from "../../domain/denials.ts";
import { type DenialPage, type DenialQuery, denialPage, deniedPeople } from "../../store/denial-queries.ts";
import type { HistoryRead } from "../../store/history/read.ts";
import { namesFor } from "../anonymous/names.ts";
import type { Pseudonyms } from "../anonymous/pseudonyms.ts";
import type { Answer } from "../answers/answer.ts";
import type { Format } from "../answers/format.ts";
import { ordered } from "../answers/order.ts";
import { rowsAnswer } from "../answers/rows.ts";

export interface DenialsAsked extends DenialQuery {
  readonly format: Format;
  /** Of each server, whether its denials can be seen; stands in JSON as it is. */
  readonly logging: readonly object[];
}

export function denialsAnswer(read: HistoryRead, asked: DenialsAsked, pseudonyms: Pseudonyms | null): Answer {
  const { rows, total } =
    pseudonyms === null ? denialPage(read, asked) : anonymousPage(read, asked, pseudonyms);
  read.checkpoint();
  const { limit, offset, logging, format } = asked;
  return rowsAnswer(
    {
      ...{ plural: "denials", record: DenialRecord, rows: rows.map(denialRecord), total, limit, offset },
      beside: { logging },
    },
    format,
  );
}

/** The page of a caller who may not know names. What is sorted by a name is sorted by its pseudonym. */
function anonymousPage(read: HistoryRead, asked: DenialQuery, pseudonyms: Pseudonyms): DenialPage {
  const people = namesFor(pseudonyms, () => deniedPeople(read, asked));
  const named = people.wanted(asked);
  const masked = (denial: Denial): Denial => ({
    ...denial,
    user: denial.user === null ? null : people.user(denial.user),
    host: people.host(denial.host),
    reason: people.text(denial.reason),
  });
  const { sort, limit, offset } = asked;
  if (sort?.field !== "user" && sort?.field !== "host") {
    // Reasons that nobody may read are all alike.
    const order = sort?.field === "reason" ? ({ field: "timestamp", descending: false } as const) : sort;
    const { rows, total } = denialPage(read, { ...named, sort: order });
    return { rows: rows.map(masked), total };
  }
  const { rows, total } = denialPage(read, { ...named, sort: null, limit: null, offset: 0 });
  const byName = { field: sort.field, descending: sort.descending } as const;
  const sorted = ordered(rows.map(masked), byName, ["at", "server"]);
  return { rows: sorted.slice(offset, limit === null ? undefined : offset + limit), total };
}
