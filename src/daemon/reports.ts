import { createMailer } from "../alerts/notify/email.ts";
import type { Config, ConfiguredReport } from "../config/config.ts";
import { messageOf } from "../domain/error-code.ts";
import type { Log } from "../domain/log.ts";
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, repeat } from "../domain/time/clock.ts";
import { hostZone } from "../domain/time/zone.ts";
import type { HistoryClient } from "../history/client.ts";
import type { Live } from "../live/live.ts";
import type { ReportQueries } from "../reports/figures.ts";
import { lastDue, type Period } from "../reports/period.ts";
import { createMarks } from "../store/events.ts";
import type { Store } from "../store/open/open.ts";

/**
 * Maximum duration of a query. Statistics of a large site over a month may take longer than an HTTP answer.
 */
const READ_TIMEOUT_MS = 5 * MINUTE_MS;
const SEND_TIMEOUT_MS = MINUTE_MS;
const RETRY_MS = HOUR_MS;

interface ReportsDeps {
  readonly store: Store;
  readonly live: Pick<Live, "snapshot">;
  readonly history: Pick<HistoryClient<ReportQueries>, "query">;
  readonly config: () => Pick<Config, "http" | "reports" | "notifications" | "products">;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Sends the configured reports when they are due, once per period, with hourly retries. The period sent
 * last is stored, so that a daemon that was down sends the last missed report once. A new report is first
 * sent at its next due time.
 */
export function createReports({ store, live, history, config, clock, log }: ReportsDeps) {
  const marks = createMarks(store);
  const sent = new Map<string, number>();
  const retryAt = new Map<string, number>();
  const ending = new AbortController();
  let looking: Promise<void> | null = null;
  let cancel = () => {};

  async function send({ target, labels }: ConfiguredReport, period: Period) {
    const { http, notifications, products } = config();
    const to = notifications.find(({ type, name }) => type === "email" && name === target);
    if (to?.type !== "email") throw new Error(`Unknown email notification "${target}"`);
    // Loaded with the first report, so that statistics use no memory in this process until then.
    const { readFigures } = await import("../reports/figures.ts");
    const { writeReport } = await import("../reports/write.ts");
    const options = { who: "reports", signal: ending.signal, timeoutMs: READ_TIMEOUT_MS };
    const figures = await readFigures((asked) => history.query("report", asked, options), {
      period,
      now: clock.now(),
      zone: hostZone(),
      servers: live.snapshot().servers,
      products,
      labels,
      anonymize: to.anonymize,
      publicUrl: http.publicUrl,
    });
    const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(SEND_TIMEOUT_MS)]);
    return createMailer(to)(writeReport(figures), signal);
  }

  async function lookAt(report: ConfiguredReport, mark: `report:${string}`): Promise<void> {
    const { every, dueMs, target } = report;
    const now = clock.now();
    const period = lastDue(every, dueMs, hostZone(), now);
    const last = sent.get(mark) ?? marks.get(mark);
    // If the report is new, or was last sent while the clock was ahead, send nothing now and continue with
    // the next period.
    const isFirst = last === 0 || last > now;
    // Allow a day of difference: after a change of the time zone, the same period ends at another time of
    // day.
    if (!isFirst && (period.end - last < DAY_MS || now < (retryAt.get(mark) ?? 0))) return;
    if (!isFirst) {
      const remark = await send(report, period);
      log.info("Report sent", { target, period: period.name, ...(remark && { remark }) });
    }
    sent.set(mark, period.end);
    store.transaction(() => marks.set(mark, period.end));
  }

  async function look(): Promise<void> {
    for (const report of config().reports) {
      const { every, target, labels } = report;
      // Identify a report by its content without the time of day, because a new time of day must not send
      // the same report again.
      const mark = `report:${JSON.stringify([every, target, labels])}` as const;
      try {
        await lookAt(report, mark);
      } catch (error) {
        if (ending.signal.aborted) return;
        retryAt.set(mark, clock.now() + RETRY_MS);
        const about = { every, target, error: messageOf(error), minutes: RETRY_MS / MINUTE_MS };
        log.warn("Cannot send the report; retrying", about);
      }
    }
  }

  function run(): void {
    looking ??= look().finally(() => {
      looking = null;
    });
  }

  return {
    start(): void {
      run();
      cancel = repeat(MINUTE_MS, run);
    },
    look,
    async stop(): Promise<void> {
      cancel();
      ending.abort(new Error("The daemon is stopping"));
      await looking;
    },
  };
}
