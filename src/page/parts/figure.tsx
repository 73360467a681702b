import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Answers, Query } from "../api.ts";
import { moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import { curlOf } from "../range.ts";
import { isOnPaper } from "../tables/paper.ts";
import { past } from "../words-past.ts";
import { Pending, useAnswer } from "./answer.tsx";
import { Known } from "./cells.tsx";
import { Copy } from "./copy-link.tsx";
import { Csv, MOST_ROWS } from "./csv.tsx";

interface FigureProps<P extends keyof Answers> {
  readonly title: string;
  readonly path: P;
  readonly query: Query;
  /** Beside the title: what the figures are of, and how much of the time is known. */
  readonly note?: (answer: Answers[P]) => ComponentChildren;
  readonly aside?: ComponentChildren;
  /** False where the answer has no form as CSV. */
  readonly csv?: boolean;
  /** Another one reads it again; what is known stays meanwhile. */
  readonly version?: number;
  /** Where a jump leads. */
  readonly id?: string | undefined;
  readonly children: (answer: Answers[P]) => ComponentChildren;
}

/** A section of the page that is an answer of the API, with the call that gives the same. */
export function Figure<P extends keyof Answers>(props: FigureProps<P>) {
  const { title, path, query, note, aside, csv = true } = props;
  const { answer, error, again } = useAnswer(path, query, props.version);
  // The table shows the first ones, a file has all.
  const all = "limit" in query && { limit: `${MOST_ROWS}` };
  return (
    <section class="sec" id={props.id} aria-busy={answer === null && error === null}>
      <div class="h">
        <h2>{title}</h2>
        <span class="q">{answer !== null && note?.(answer)}</span>
        {aside}
      </div>
      {answer === null ? <Pending error={error} again={again} /> : props.children(answer)}
      <p class="calls">
        {csv && <Csv class="link" path={path} query={{ ...query, ...all }} />}
        <Copy class="link" label={past.copyCurl} text={() => curlOf(document.baseURI, path, query)} />
      </p>
    </section>
  );
}

/** What is made of rows of which there are more than one answer has. */
export function Newest({ shown, total }: { readonly shown: number; readonly total: number }) {
  if (total <= shown) return null;
  return <p class="why n-warn">{past.newest(number(shown), number(total))}</p>;
}

/** What a column shows of a row: anything, a number that may not be known, or a time. */
export type Column<T> = {
  readonly head: string;
  /** Left out where there is little room. */
  readonly wide?: boolean;
} & (
  | { readonly cell: (row: T) => ComponentChildren; readonly right?: boolean }
  | { readonly value: (row: T) => number | null; readonly as?: (value: number) => string }
  | { readonly time: (row: T) => string | null; readonly otherwise?: string }
);

function cellOf<T>(column: Column<T>, row: T): ComponentChildren {
  if ("cell" in column) return column.cell(row);
  if ("value" in column) return <Known value={column.value(row)} as={column.as} />;
  const at = column.time(row);
  return at === null ? column.otherwise : <time dateTime={at}>{moment(Date.parse(at), now.peek())}</time>;
}

/** Rows shown until more are wanted; paper has all of them. */
const FIRST = 20;

/** Rows of figures. `total`: how many there are beyond those of the answer. */
export function Rows<T>(props: {
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly total?: number;
  readonly none?: string;
}) {
  const { label, rows, columns, total = rows.length, none = past.none } = props;
  const [isLong, setLong] = useState(false);
  if (rows.length === 0) return <p class="q">{none}</p>;
  const style = (column: Column<T>) =>
    `${!("cell" in column) || column.right === true ? "r" : ""} ${column.wide === true ? "opt" : ""}`;
  const hidden = isLong || isOnPaper.value ? 0 : Math.max(0, rows.length - FIRST);
  return (
    <>
      <table class="rt" aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" class={style(column)}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, rows.length - hidden).map((row, at) => (
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
      {hidden > 0 && (
        <button class="link" type="button" onClick={() => setLong(true)}>
          {past.showMore(hidden)}
        </button>
      )}
      {hidden === 0 && total > rows.length && <p class="q">{past.firstOf(rows.length, total, MOST_ROWS)}</p>}
    </>
  );
}
