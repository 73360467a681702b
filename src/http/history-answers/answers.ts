import type { LogSource } from "../../domain/words.ts";
import type { HistoryRead } from "../../store/history/read.ts";
import type { Pseudonyms } from "../anonymous/pseudonyms.ts";
import { type AlertsAsked, alertsAnswer } from "./alerts.ts";
import { type DenialsAsked, denialsAnswer } from "./denials.ts";
import { type EfficiencyAsked, efficiencyAnswer } from "./efficiency.ts";
import { type HeatmapAsked, heatmapAnswer } from "./heatmap.ts";
import { type LogsAsked, logStatsAnswer, logsAnswer } from "./logs.ts";
import { type SessionsAsked, sessionsAnswer } from "./sessions.ts";
import { type StatsAsked, statsAnswer } from "./stats.ts";
import { type NamesAsked, unknownName } from "./unknown-name.ts";
import { type UsageAsked, usageAnswer } from "./usage.ts";

/**
 * What the routes ask of history: but for `unknownName`, each makes a whole answer, to the last byte, where it is read. An answer of a large
 * site has megabytes, and the event loop is to do no more than to hand them on.
 */
export function historyAnswers(pseudonymsOf: (read: HistoryRead) => Pseudonyms) {
  const hidden = (read: HistoryRead, { anonymize }: Audience) => (anonymize ? pseudonymsOf(read) : null);
  return {
    unknownName: (read: HistoryRead, asked: NamesAsked) => unknownName(read, asked),
    stats: (read: HistoryRead, asked: StatsAsked) => statsAnswer(read, asked),
    heatmap: (read: HistoryRead, asked: HeatmapAsked) => heatmapAnswer(read, asked),
    efficiency: (read: HistoryRead, asked: EfficiencyAsked) => efficiencyAnswer(read, asked),
    sessions: (read: HistoryRead, asked: SessionsAsked & Audience) =>
      sessionsAnswer(read, asked, hidden(read, asked)),
    usage: (read: HistoryRead, asked: UsageAsked & Audience) => usageAnswer(read, asked, hidden(read, asked)),
    denials: (read: HistoryRead, asked: DenialsAsked & Audience) =>
      denialsAnswer(read, asked, hidden(read, asked)),
    alerts: (read: HistoryRead, asked: AlertsAsked) => alertsAnswer(read, asked),
    logs: (read: HistoryRead, asked: LogsAsked) => logsAnswer(read, asked),
    logStats: (read: HistoryRead, hiddenSources: readonly LogSource[]) => logStatsAnswer(read, hiddenSources),
  };
}

export type HistoryAnswers = ReturnType<typeof historyAnswers>;

/** Who asks; everything is made for one or the other. */
export interface Audience {
  /** No name of a person or a host may be in the answer, nor tell by its order. */
  readonly anonymize: boolean;
}
