import type { HistoryRead } from "../history/read.ts";
import { makeSessionDay } from "./make-session-day.ts";
import { makeSiteDay } from "./make-site-day.ts";

/** What `createDayKeeper` asks the worker of history. */
export const DAY_QUERIES = {
  sessionDay: (read: HistoryRead, { day }: { readonly day: number }) => makeSessionDay(read, day),
  siteDay: (read: HistoryRead, { day }: { readonly day: number }) => ({ data: makeSiteDay(read, day) }),
};

export type DayQueries = typeof DAY_QUERIES;
