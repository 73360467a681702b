import type { ComponentChildren } from "preact";
import type { PagePath } from "../../domain/words.ts";
import type { Query } from "../api.ts";
import { IS_FLEET } from "../here.ts";
import { now } from "../live/live.ts";
import {
  RANGES,
  type Range,
  type RangeWord,
  rangeInWords,
  rangeOf,
  rangeQuery,
  rangeText,
  rangeWord,
} from "../range.ts";
import { linkTo, page, query, setQuery } from "../router.ts";
import { meanCoverage } from "../series.ts";
import { CopyLink } from "./answer.tsx";
import { PrintFoot } from "./print-foot.tsx";
import { ServerChoice } from "./search-field.tsx";

/** Returns the range of the address; fixed while the page is shown. */
export const rangeHere = (otherwise: RangeWord): Range =>
  rangeOf(query.value.get("range"), now.peek(), otherwise);

export function askedHere(range: Range | null): Query {
  const server = query.value.get("server");
  return { ...(server !== null && { server }), ...(range !== null && rangeQuery(range)) };
}

export const periodOf = ({ start, end }: Record<"start" | "end", number | string>): string =>
  rangeInWords({ start: new Date(start).getTime(), end: new Date(end).getTime() }, now.peek());

export const coveredIn = (
  range: Parameters<typeof periodOf>[0],
  rows: Parameters<typeof meanCoverage>[0],
): string => `${periodOf(range)}, ${meanCoverage(rows)} % covered`;

export const zoom = (start: number, end: number): void => setQuery({ range: rangeText(start, end) }, true);

/**
 * Head of a page about the past: name, neighbors, range and filters. `range` is null if the page has none.
 */
export function PastHead(props: Readonly<{ range: Range | null; children?: ComponentChildren }>) {
  const { range } = props;
  const report = query.value.get("report");
  const here =
    REPORTS.find((place) => place.path === page.value && (place.report ?? report) === report) ??
    REPORTS.find(({ path }) => path === page.value);
  const kept = Object.fromEntries([...query.value].filter(([name]) => name === "range" || name === "server"));
  return (
    <>
      <div class="crumbs">
        <h1>{here?.word}</h1>
        {range !== null && <RangeChoice range={range} />}
        <div class="acts">
          <CopyLink />
        </div>
      </div>
      <nav class="tabs" aria-label="Looking back">
        {REPORTS.filter(({ report }) => isReportShown(report)).map(({ path, report, word }) => (
          <a
            key={word}
            href={linkTo(path, { ...(report && { report }), ...kept })}
            aria-current={word === here?.word ? "page" : undefined}
          >
            {word}
          </a>
        ))}
      </nav>
      <div class="filters">
        {here?.report !== "compare" && !IS_FLEET && <ServerChoice />}
        {props.children}
      </div>
      <PrintFoot range={range} />
    </>
  );
}

export function RangeChoice({ range }: Readonly<{ range: Range }>) {
  return (
    <div class="range" role="group" aria-label="Range">
      {range.word === null && (
        <button class="btn s" type="button" aria-pressed={true}>
          {periodOf(range)}
        </button>
      )}
      {RANGES.map((word) => (
        <button
          key={word}
          class="btn s"
          type="button"
          aria-pressed={range.word === word}
          onClick={() => setQuery({ range: word }, true)}
        >
          {rangeWord(word)}
        </button>
      ))}
    </div>
  );
}

interface Report {
  readonly path: PagePath;
  /** One of the reports at /history. */
  readonly report?: "usage" | "efficiency" | "heatmap" | "compare";
  readonly word: string;
  readonly also: string;
}

export const REPORTS: readonly Report[] = [
  { path: "history", report: "usage", word: "Usage", also: "report who used seat-hours statistics" },
  {
    path: "history",
    report: "efficiency",
    word: "Efficiency",
    also: "report utilization seats needed idle cost",
  },
  { path: "history", report: "heatmap", word: "Hours", also: "report heat map week busy" },
  { path: "history", report: "compare", word: "Compare", also: "report comparison chart" },
  { path: "denials", word: "Denials", also: "report denied refused rejected requests queue" },
  { path: "outages", word: "Outages", also: "report downtime uptime availability" },
  { path: "expiry", word: "Expiry", also: "report expiration renewal calendar dates" },
];

/**
 * Reports whether a report is shown. A fleet has no comparison, because its features are chosen from the
 * picture, which a fleet does not have.
 */
export const isReportShown = (report?: string): boolean => !IS_FLEET || report !== "compare";
