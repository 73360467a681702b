import { type Denial, type DenialOutcome, DenialRecord, denialRecord } from "../../domain/denials.ts";
import { serverAt } from "../../domain/server.ts";
import type { QueryParams } from "../../history/serve.ts";
import { isOfNames } from "../../history/sessions/session-order.ts";
import { namesFor, type Pseudonyms } from "../../http/anonymous/anonymous.ts";
import type { Answer } from "../../http/answers/answer.ts";
import { rowsAnswer } from "../../http/answers/list.ts";
import type { HistoryAnswers } from "../../http/history-answers/answers.ts";
import type { DenialQuery, DenialSort } from "../../store/denial-queries.ts";
import { type Pool, whole } from "../database/connect.ts";
import { createConditions } from "../lists/conditions.ts";
import { peopleIn, personConditions, placesIn } from "./people.ts";

/** Answers denied requests, newest first by default. */
export async function denialsAnswer(
  pool: Pool,
  asked: QueryParams<HistoryAnswers, "denials">,
  pseudonyms: Pseudonyms | null,
): Promise<Answer> {
  const stored = await peopleIn(pool, asked, pseudonyms, ["denials"]);
  const people = namesFor(pseudonyms, () => stored);
  const conditions = createConditions();
  const { use, add } = conditions;
  const known = (names: readonly string[] | null) => names?.filter((name) => name !== "") ?? null;
  const wanted = people.wanted(asked);
  personConditions(conditions, { ...wanted, features: known(wanted.features), users: known(wanted.users) });
  if (asked.start !== null) add(`at >= ${use(asked.start)}`);
  if (asked.end !== null) add(`at < ${use(asked.end)}`);
  const from = `FROM denials WHERE ${conditions.where()}`;
  const counted = [...conditions.values];
  const { sort } = asked;
  let order = orderOf(sort);
  let head = "";
  let joins = "";
  if (pseudonyms !== null && sort !== null && isOfNames(sort.field)) {
    // Sort by pseudonym instead of by name.
    const places = await placesIn(pool, asked, sort.field, pseudonyms, ["denials"]);
    head = `WITH places AS MATERIALIZED (SELECT value->>0 AS name, (value->>1)::int AS place
      FROM json_array_elements(${use(JSON.stringify(places))}::text::json))`;
    joins = `LEFT JOIN places ON name = ${COLUMNS[sort.field] ?? sort.field}`;
    order = `place ${sort.descending ? "DESC" : "ASC"} NULLS LAST, at, site, server, site_id DESC`;
  } else if (pseudonyms !== null && sort?.field === "reason") {
    // Hidden reasons are all equal.
    order = orderOf({ field: "timestamp", descending: false });
  }
  const page = `LIMIT ${use(asked.limit)} OFFSET ${use(asked.offset)}`;
  const [[{ total }], rows] = await Promise.all([
    pool.unsafe(`SELECT count(*)::int AS total ${from}`, counted),
    pool.unsafe(
      `${head} SELECT d.* FROM (SELECT * ${from}) d ${joins} ORDER BY ${order} ${page}`,
      conditions.values,
    ),
  ]);
  const records = (rows as Row[]).map((row) => {
    const denial = denialOf(row);
    const user = denial.user === null ? null : people.user(denial.user);
    const shown = { ...denial, user, host: people.host(denial.host), reason: people.text(denial.reason) };
    return denialRecord(shown);
  });
  return rowsAnswer("denials", DenialRecord, records, total, asked, { logging: asked.logging });
}

type Row = Readonly<Record<string, string | null>> & { readonly site: string };

function denialOf(row: Row): Denial {
  return {
    at: Number(row.at),
    until: Number(row.until),
    server: serverAt(row.site, row.server ?? ""),
    daemon: row.daemon ?? "",
    feature: row.feature ?? null,
    user: row.user_name ?? null,
    host: row.host ?? null,
    count: Number(row.count),
    attempts: Number(row.attempts),
    reason: row.reason ?? null,
    code: whole(row.code),
    outcome: row.outcome as DenialOutcome,
  };
}

/** Columns of sorts that are not named like their column. */
const COLUMNS: Partial<Record<DenialSort, string>> = {
  server: "site, server",
  user: "user_name",
  code: "code",
};

function orderOf(sort: DenialQuery["sort"]): string {
  const newest = "at DESC, site, site_id DESC";
  if (sort === null) return newest;
  const way = sort.descending ? "DESC" : "ASC";
  if (sort.field === "timestamp") return `at ${way}, site, site_id ${way}`;
  const columns = (COLUMNS[sort.field] ?? sort.field)
    .split(", ")
    .map((column) => `${column} ${way} NULLS LAST`);
  return `${columns.join(", ")}, at, site, server, daemon, feature NULLS FIRST, site_id`;
}
