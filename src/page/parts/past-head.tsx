import type { ComponentChildren } from "preact";
import type { PagePath } from "../../domain/words.ts";
import { moment } from "../format.ts";
import { now } from "../live/live.ts";
import { type Range, rangeInWords } from "../range.ts";
import { linkTo, page, query } from "../router.ts";
import { words } from "../words.ts";
import { past } from "../words-past.ts";
import { CopyLink } from "./copy-link.tsx";
import { RangeChoice } from "./range-choice.tsx";

export const REPORTS = ["usage", "efficiency", "heatmap", "compare"] as const;
export type Report = (typeof REPORTS)[number];
export const reportHere = (): Report => REPORTS.find((each) => each === query.value.get("report")) ?? "usage";

const PLACES: readonly { readonly path: PagePath; readonly report?: Report; readonly word: string }[] = [
  ...REPORTS.map((report) => ({ path: "history", report, word: past.reports[report] }) as const),
  { path: "denials", word: words.denials },
  { path: "outages", word: words.outages },
  { path: "expiry", word: words.expiry },
];

/** What a place that looks back is of: its name, its neighbours, its range (null = it has none) and its filters. */
export function PastHead(props: { readonly range: Range | null; readonly children?: ComponentChildren }) {
  const { range } = props;
  const here = PLACES.find(
    ({ path, report }) => path === page.value && (report === undefined || report === reportHere()),
  );
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
      <nav class="tabs" aria-label={past.lookingBack}>
        {PLACES.map(({ path, report, word }) => (
          <a
            key={word}
            href={linkTo(path, { ...(report && { report }), ...kept })}
            aria-current={word === here?.word ? "page" : undefined}
          >
            {word}
          </a>
        ))}
      </nav>
      {props.children !== undefined && <div class="filters">{props.children}</div>}
      <PrintFoot range={range} />
    </>
  );
}

/** On paper alone: what the figures are of, when it was printed, and where it came from. */
export function PrintFoot({ range }: { readonly range: Range | null }) {
  const filter = [...query.value]
    .filter(([name]) => name !== "range")
    .map(([name, value]) => `${name}: ${value}`);
  const parts = [
    ...(range === null ? [] : [rangeInWords({ ...range, end: Math.min(range.end, now.peek()) }, now.value)]),
    ...filter,
    past.printed(moment(now.value, 0)),
    location.href,
  ];
  return <p class="on-paper">{parts.join(" · ")}</p>;
}
