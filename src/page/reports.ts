import type { PagePath } from "../domain/words.ts";
import { IS_FLEET } from "./here.ts";

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

/** Features to compare are chosen from the picture, which a fleet does not have. */
export const isReportShown = (report?: string): boolean => !IS_FLEET || report !== "compare";
