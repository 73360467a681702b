import type { PagePath } from "../domain/words.ts";
import { IS_FLEET } from "./here.ts";
import { words } from "./words-pages.ts";
import { past } from "./words-past.ts";

/** A page about the past. */
interface Report {
  readonly path: PagePath;
  /** One of the reports at /history. */
  readonly report?: keyof typeof past.reports;
  readonly word: string;
  /** Synonyms for the search. */
  readonly also: string;
}

export const REPORTS: readonly Report[] = [
  {
    path: "history",
    report: "usage",
    word: past.reports.usage,
    also: "report who used seat-hours statistics",
  },
  {
    path: "history",
    report: "efficiency",
    word: past.reports.efficiency,
    also: "report utilization seats needed idle cost",
  },
  { path: "history", report: "heatmap", word: past.reports.heatmap, also: "report heat map week busy" },
  { path: "history", report: "compare", word: past.reports.compare, also: "report comparison chart" },
  { path: "denials", word: words.denials, also: "report denied refused rejected requests queue" },
  { path: "outages", word: words.outages, also: "report downtime uptime availability" },
  { path: "expiry", word: words.expiry, also: "report expiration renewal calendar dates" },
];

/** Features to compare are chosen from the picture, which a fleet does not have. */
export const isReportShown = (report?: string): boolean => !IS_FLEET || report !== "compare";
