import type { AlertRecord } from "../../domain/alerts.ts";
import { may, me } from "../api.ts";
import { AlertDialog, targetOf } from "../daily/alert-dialog.tsx";
import { alertWords, SEVERITY_MARKS, subjectOf } from "../daily/attention.ts";
import { capital, duration, moment, number, plural, withDays } from "../format.ts";
import { IS_FLEET, IS_HUB } from "../here.ts";
import { ask, asked, changes, firing, isUnhandled, type SitesAlert, toneOf } from "../live/alerts.ts";
import { firingCount } from "../live/hub.ts";
import { now } from "../live/live.ts";
import { Pending, useAnswer } from "../parts/answer.tsx";
import { Outcome } from "../parts/dialog.tsx";
import { Csv } from "../parts/figure.tsx";
import { NoMatch } from "../parts/list-table.tsx";
import { State } from "../parts/marks.tsx";
import { isOnPaper } from "../parts/print-foot.tsx";
import { Choice, ServerChoice } from "../parts/search-field.tsx";
import { hrefOf, query, setQuery } from "../router.ts";

const SEVERITIES = ["critical", "warning", "info"];
const RULES = Object.keys(alertWords(null, null)).filter((rule) => IS_HUB || !rule.startsWith("site_"));
const PAGE_ROWS = 50;
const FILTERS = ["severity", "server", "rule"] as const;

export function Alerts() {
  const isOver = query.value.get("state") === "resolved";
  const from = Math.max(0, Number(query.value.get("from")) || 0);
  // Read alerts that are not in memory: resolved alerts, and the older alerts of a fleet.
  const isRead = isOver || IS_FLEET;
  const past = useAnswer(
    "/api/licenses/alerts",
    isRead ? { ...filters(isOver), limit: `${PAGE_ROWS}`, offset: `${from}` } : null,
    isRead ? changes.value : 0,
  );
  const found = isRead ? past.answer : firingNow(from, isOnPaper.value ? undefined : from + PAGE_ROWS);
  const tab = (state: string | null, word: string, count: number | undefined) => (
    <button
      class="chip"
      type="button"
      aria-pressed={(state !== null) === isOver}
      onClick={() => setQuery({ state, from: null }, true)}
    >
      {word} {count !== undefined && <b>{number(count)}</b>}
    </button>
  );
  return (
    <>
      <h1 class="vh">Alerts</h1>
      <div class="chips top-chips" role="group" aria-label="Filters">
        {tab(null, "Firing", firingCount.value)}
        {tab("resolved", "Resolved", isOver ? past.answer?.total : undefined)}
        <span class="sep" />
        <Choice name="severity" label="Severity" values={SEVERITIES} />
        {!IS_FLEET && <ServerChoice />}
        <Choice
          name="rule"
          label="Rule"
          values={RULES}
          word={(rule) => `Rule: ${rule.replaceAll("_", " ")}`}
        />
        <span class="end">
          <Csv path="/api/licenses/alerts" query={filters(isOver)} />
        </span>
      </div>
      {me.value !== null && !may("acknowledge") && (
        <p class="q role">Acknowledging and silencing need the role operator.</p>
      )}
      <Outcome />
      <p class="count q vh" role="status">
        {found !== null && plural(found.total, "alert")}
      </p>
      {isRead && found === null && <Pending {...past} />}
      {!isRead && found === null && <p class="empty q">Alerts are not known now.</p>}
      {found?.total === 0 &&
        (FILTERS.some((name) => query.value.has(name)) ? (
          <NoMatch />
        ) : (
          <p class="empty">{isOver ? "No resolved alerts in the stored history." : "No firing alerts."}</p>
        ))}
      <ul class="rows al" aria-label={isOver ? "Resolved" : "Firing"}>
        {found?.alerts.map((alert) => (
          <Row key={alert.id} alert={alert} />
        ))}
      </ul>
      {found !== null && found.total > found.alerts.length && (
        <p class="sec q">{`${number(from + 1)}–${number(from + found.alerts.length)} of ${number(found.total)}`}</p>
      )}
      {found !== null && found.total > from + PAGE_ROWS && (
        <p class="chips">
          <button class="btn" type="button" onClick={() => setQuery({ from: `${from + PAGE_ROWS}` }, true)}>
            Older ones
          </button>
        </p>
      )}
      {asked.value && <AlertDialog {...asked.value} />}
    </>
  );
}

function filters(isOver: boolean): Record<string, string> {
  const set = [...query.value].filter(([name]) => FILTERS.some((filter) => filter === name));
  return { state: isOver ? "resolved" : "firing", ...Object.fromEntries(set) };
}

/**
 * Returns firing alerts: the worst first, handled alerts last, and among equals the newest first. Returns
 * null while the alerts are unknown.
 */
function firingNow(from: number, until?: number) {
  if (firing.value === null) return null;
  const rank = (alert: AlertRecord) =>
    SEVERITIES.indexOf(alert.severity) + (isUnhandled(alert, now.value) ? 0 : SEVERITIES.length);
  const all = [...firing.value.values()]
    .filter((alert) => FILTERS.every((name) => (query.value.get(name) ?? alert[name]) === alert[name]))
    .sort((a, b) => rank(a) - rank(b) || Date.parse(b.startedAt) - Date.parse(a.startedAt));
  return { alerts: all.slice(from, until), total: all.length };
}

function Row({ alert }: Readonly<{ alert: SitesAlert }>) {
  const { severity, message, resolvedAt, acknowledgedBy, comment, state } = alert;
  const began = Date.parse(alert.startedAt);
  const silence = Date.parse(alert.silencedUntil ?? "");
  const isFiring = state === "firing";
  const place = subjectOf(alert);
  const facts = [
    `since ${moment(began, now.value)}`,
    ...(alert.acknowledged
      ? [acknowledgedBy === null ? "acknowledged" : `acknowledged by ${acknowledgedBy}`]
      : []),
    ...(isFiring && silence > now.value ? [`silenced until ${moment(silence, now.value)}`] : []),
    ...(comment === null ? [] : [`“${comment}”`]),
  ];
  const act = (action: "acknowledge" | "silence") => (
    <button class="link" type="button" onClick={() => ask({ alert, action })}>
      {capital(action)}
      <span class="vh"> {targetOf(alert)}</span>
    </button>
  );
  return (
    <li class={isFiring && !isUnhandled(alert, now.value) ? "handled" : undefined}>
      <State is={SEVERITY_MARKS[severity]} tone={toneOf(alert)}>
        {capital(severity)}
      </State>
      <div class="alert-words">
        <p>{withDays(message, now.value)}</p>
        <p class="q">
          {place !== null && (
            <>
              <a class="ref" href={hrefOf(place)}>
                {targetOf(alert)}
              </a>
              {" · "}
            </>
          )}
          {facts.join(" · ")}
        </p>
      </div>
      <span class="r q">{duration((resolvedAt === null ? now.value : Date.parse(resolvedAt)) - began)}</span>
      {isFiring && may("acknowledge") && (
        <div class="acts">
          {!alert.acknowledged && act("acknowledge")}
          {act("silence")}
        </div>
      )}
    </li>
  );
}
