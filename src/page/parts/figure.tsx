import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type Answers, get, type Query, Refusal, search } from "../api.ts";
import { moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import { curlOf } from "../range.ts";
import { words } from "../words.ts";
import { past } from "../words-past.ts";
import { Known } from "./cells.tsx";
import { Copy } from "./copy-link.tsx";
import { Csv, MOST_ROWS } from "./csv.tsx";
import { State } from "./marks.tsx";
import { isOnPaper } from "./paper.ts";

/** What came of a question: nothing yet, an answer, or what went wrong. */
interface Asked<T> {
  readonly answer: T | null;
  readonly error: Refusal | "unreachable" | null;
}

/**
 * An answer of the API, none for a query that is null. It is read again when the question or `version` changes, and given up
 * when the place is left.
 */
export function useAnswer<P extends keyof Answers>(
  path: P,
  query: Query | null,
  version = 0,
): Asked<Answers[P]> & { again(): void } {
  const question = search(query ?? {});
  const [asked, setAsked] = useState<Asked<Answers[P]> & { readonly question: string }>();
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (query === null) return;
    const end = new AbortController();
    get(path, query, end.signal).then(
      (answer) => setAsked({ answer, error: null, question }),
      (error) => {
        if (end.signal.aborted) return;
        setAsked({ answer: null, error: error instanceof Refusal ? error : "unreachable", question });
      },
    );
    return () => end.abort();
  }, [path, question, tries, version]);
  const isOfQuestion = asked?.question === question;
  return {
    answer: isOfQuestion ? asked.answer : null,
    error: isOfQuestion ? asked.error : null,
    again() {
      setAsked(undefined);
      setTries(tries + 1);
    },
  };
}

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

/** While there is no answer, and why there is none. */
export function Pending({ error, again }: Pick<Asked<never>, "error"> & { readonly again: () => void }) {
  if (error === null) return <p class="empty pending q">{past.loading}</p>;
  const { status, message, details, requestId } =
    error === "unreachable"
      ? { status: 0, message: words.unreachable, details: null, requestId: null }
      : error;
  const isRole = status === 403;
  return (
    <div class="empty pending" role="alert">
      <State is={isRole ? "unknown" : "crit"}>{isRole ? past.notForYou : past.failed}</State>
      <p>{message}</p>
      {details !== null && <p class="tool-says">{details}</p>}
      {status >= 500 && requestId !== null && (
        <Copy class="link" text={() => requestId} label={words.requestId(requestId)} />
      )}
      {!isRole && (
        <button class="btn s" type="button" onClick={again}>
          {words.tryAgain}
        </button>
      )}
    </div>
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
