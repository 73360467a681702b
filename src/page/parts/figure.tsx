import type { ComponentChildren } from "preact";
import { type Answers, addressOf, type Query } from "../api.ts";
import { number } from "../format.ts";
import { IS_HUB } from "../here.ts";
import { curlOf } from "../range.ts";
import { Copy, Pending, useAnswer } from "./answer.tsx";
import { Head } from "./section.tsx";

export const MOST_ROWS = 10_000;
/** Parameters for a whole live list, which a hub limits by default. */
export const ALL: Query = IS_HUB ? { limit: `${MOST_ROWS}` } : {};

export const firstOf = (shown: number, total: number): string =>
  `The first ${number(shown)} of ${number(total)}; the CSV has ${total > MOST_ROWS ? number(MOST_ROWS) : "all"}.`;

export function Csv(props: Readonly<{ path: string; query: Query; class?: string }>) {
  const address = addressOf(props.path, { ...props.query, format: "csv" });
  return (
    <a class={props.class ?? "btn"} href={`.${address}`} download>
      CSV
    </a>
  );
}

export const NO_COVERAGE =
  "No data for this time: licmond was not polling, or the license manager counts no seats here.";

interface FigureProps<P extends keyof Answers> {
  readonly title: string;
  readonly path: P;
  readonly query: Query;
  /** Text after the title: period and coverage. */
  readonly note?: (answer: Answers[P]) => ComponentChildren;
  readonly aside?: ComponentChildren;
  readonly csv?: boolean;
  /** If this value changes, the answer is requested again. The known answer stays visible meanwhile. */
  readonly version?: number;
  readonly id?: string | undefined;
  readonly children: (answer: Answers[P]) => ComponentChildren;
}

/** A section that shows an answer of the API, with the API call for it. */
export function Figure<P extends keyof Answers>(props: FigureProps<P>) {
  const { title, path, query, note, aside, csv = true } = props;
  const { answer, error, again } = useAnswer(path, query, props.version);
  // The table shows only the first rows, but a downloaded file has all rows.
  const all = "limit" in query && { limit: `${MOST_ROWS}` };
  return (
    <section class="sec" id={props.id} aria-busy={answer === null && error === null}>
      <Head title={title} note={answer !== null && note?.(answer)}>
        {aside}
      </Head>
      {answer === null ? <Pending error={error} again={again} /> : props.children(answer)}
      <p class="calls">
        {csv && <Csv class="link" path={path} query={{ ...query, ...all }} />}
        <Copy class="link" label="Copy as curl" text={() => curlOf(document.baseURI, path, query)} />
      </p>
    </section>
  );
}

export function Newest({ shown, total }: Readonly<{ shown: number; total: number }>) {
  if (total <= shown) return null;
  return (
    <p class="why n-warn">{`Counts only the newest ${number(shown)} of ${number(total)}: choose a shorter range.`}</p>
  );
}
