import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { arranged, hasText, type Keyed, slugOf } from "../arrange.ts";
import { moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import { query } from "../router.ts";
import { firstOf } from "./figure.tsx";
import { SortHead } from "./list-table.tsx";
import { FeatureLink, featureText, Known, Person } from "./marks.tsx";
import { isOnPaper } from "./print-foot.tsx";
import { Filter } from "./search-field.tsx";

export type Column<T> = Keyed<T, ComponentChildren>;

/** Column with the feature of a row, its server and its daemon. */
export const FEATURE: Column<Parameters<typeof featureText>[0]> = {
  head: "Feature",
  by: featureText,
  cell: (row) => <FeatureLink {...row} />,
};
/** Column with the person of a row. */
export const PERSON: Column<{ readonly user: string | null }> = {
  head: "Person",
  by: ({ user }) => user,
  cell: (row) => <Person {...row} />,
};

function cellOf<T>(column: Column<T>, row: T): ComponentChildren {
  if ("by" in column) {
    if (column.cell !== undefined) return column.cell(row);
    const key = column.by?.(row);
    return column.style === undefined ? key : <span class={column.style}>{key}</span>;
  }
  if ("value" in column) return <Known value={column.value(row)} as={column.as} />;
  const at = column.time(row);
  return at === null ? column.otherwise : <time dateTime={at}>{moment(Date.parse(at), now.peek())}</time>;
}

/** Number of rows that are shown at first, and added on request. Print shows all rows. */
const FIRST = 20;
const MORE = 500;

/**
 * A table that sorts by every column and filters by text. The address keeps both under the table's name.
 * `total` is the number of rows without the limit.
 */
export function Rows<T>(props: {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly total?: number;
  readonly none?: string;
}) {
  const { label, rows, columns, total = rows.length, none = "None." } = props;
  const [most, setMost] = useState(FIRST);
  const name = slugOf(label);
  const search = query.value.get(`${name}-q`) ?? "";
  const sort = query.value.get(`${name}-sort`) ?? "";
  if (rows.length === 0) return <p class="q">{none}</p>;
  const found = arranged(rows, columns, { sort, search, now: now.peek() });
  const shown = isOnPaper.value ? found : found.slice(0, most);
  const style = (column: Column<T>) =>
    [
      !("by" in column) || column.right === true ? "r" : "",
      column.wide === true ? "opt" : "",
      column.isWord === true ? "word" : "",
    ].join(" ");
  const hidden = found.length - shown.length;
  return (
    <>
      {(search !== "" || hasText(columns, rows)) && (
        <Filter label={label} name={`${name}-q`} found={found.length} all={rows.length} />
      )}
      <table class="rt" aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) =>
              "by" in column && column.by === null ? (
                <th key={column.head} scope="col" class={style(column)}>
                  {column.head}
                </th>
              ) : (
                <SortHead
                  key={column.head}
                  isCell
                  name={`${name}-sort`}
                  order={slugOf(column.head)}
                  first=""
                  falls={!("by" in column) || column.right === true}
                  class={style(column)}
                >
                  {column.head}
                </SortHead>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {shown.map((row, at) => (
            <tr key={at}>
              {columns.map((column) => (
                <td key={column.head} class={style(column)}>
                  {cellOf(column, row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {found.length === 0 && <p class="q">Nothing matches.</p>}
      {hidden > 0 && (
        <button class="link" type="button" onClick={() => setMost(most + MORE)}>
          {`Show ${number(Math.min(hidden, MORE))} more`}
        </button>
      )}
      {total > rows.length && <p class="q">{firstOf(rows.length, total)}</p>}
    </>
  );
}
