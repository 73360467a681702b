import type { Alert, AlertChange, AlertSubject, Severity } from "../domain/alerts.ts";
import type { Log } from "../domain/log.ts";
import { MINUTE_MS } from "../domain/time/clock.ts";

const LEVELS = { info: "info", warning: "warn", critical: "error" } as const satisfies Record<
  Severity,
  string
>;
const MESSAGES: Readonly<Partial<Record<AlertChange, string>>> = {
  fired: "Alert fired",
  raised: "Alert raised",
  resolved: "Alert resolved",
};

type Logged = Pick<AlertSubject, "rule" | "server" | "daemon" | "feature"> &
  Pick<Alert, "severity" | "value" | "threshold"> & { readonly site?: string };

export interface AlertNews<Of = Alert> {
  readonly alert: Of;
  readonly change: AlertChange;
}

/**
 * Logs that an alert fired, was raised or resolved. Leaves out the alert's message, which may name people.
 */
export function logAlert(log: Log, { alert, change }: AlertNews<Logged>, alerts?: number): void {
  const message = MESSAGES[change];
  if (message === undefined) return;
  const { site, rule, server, daemon, feature, value, threshold } = alert;
  const level = change === "resolved" ? "info" : LEVELS[alert.severity];
  log[level](message, { site, rule, server, daemon, feature, value, threshold, alerts });
}

/**
 * Time after a server's first poll during which its alerts are logged together with those of the first
 * reading, because the next tick, up to a minute later, checks dates.
 */
const FIRST_MS = MINUTE_MS + 5_000;

/**
 * Logs alerts. Alerts from the first reading of a server share one line per rule, which gives their number,
 * because a new installation may fire hundreds at once. The servers in `installed`, which are those of a
 * new installation, share one line per rule together.
 */
export function createAlertLog(log: Log, installed: ReadonlySet<string>) {
  const firstPolls = new Map<string, number>();
  const written = new Set<string>();

  function isFirst({ alert: { server, startedAt }, change }: AlertNews): boolean {
    const first = change !== "fired" || server === null ? undefined : firstPolls.get(server);
    return first !== undefined && startedAt <= first + FIRST_MS;
  }

  return {
    firstPolled: (server: string, at: number): void => void firstPolls.getOrInsert(server, at),
    write(news: readonly AlertNews[]): void {
      const { first = [], others = [] } = Object.groupBy(news, (one) => (isFirst(one) ? "first" : "others"));
      for (const one of others) logAlert(log, one);
      const groupOf = ({ alert: { rule, server } }: AlertNews) =>
        installed.has(server ?? "") ? rule : `${rule} ${server}`;
      for (const [group, [one, ...more]] of Map.groupBy(first, groupOf)) {
        if (one === undefined || written.has(group)) continue;
        written.add(group);
        logAlert(log, one, more.length > 0 ? more.length + 1 : undefined);
      }
    },
  };
}
