import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { AlertRecord } from "../../domain/alerts.ts";
import { get, search } from "../api.ts";
import { subjectOf } from "../daily/attention.ts";
import { daily } from "../daily/words.ts";
import { duration, moment, number } from "../format.ts";
import { firing, isUnhandled, lastAlert } from "../live/alerts.ts";
import { now, site } from "../live/live.ts";
import { may, me } from "../me.ts";
import { AlertDialog, ask, targetOf } from "../parts/alert-dialog.tsx";
import { Outcome } from "../parts/dialog.tsx";
import { State } from "../parts/marks.tsx";
import { Choice } from "../parts/search-field.tsx";
import { go, hrefOf, linkTo, query, setQuery } from "../router.ts";
import { words } from "../words.ts";

/** The worst first. Taken from their words: the domain's lists stand beside schemas, which the page need not load. */
const SEVERITIES = Object.keys(daily.severities);
const RULES = Object.keys(daily.alerts(null, null));
const PAGE_ROWS = 50;
const FILTERS = ["severity", "server", "rule"] as const;
const MARKS = { critical: "crit", warning: "warn", info: "info" } as const;

/** Alerts as the API has them; null while they are not known. */
interface Found {
  readonly alerts: readonly AlertRecord[];
  readonly total: number;
}

/** What fires, live, and what is over. */
export function Alerts() {
  const isOver = query.value.get("state") === "resolved";
  const from = Math.max(0, Number(query.value.get("from")) || 0);
  const past = usePast(isOver, from);
  const found = isOver ? past : firingNow(from);
  const servers = [...(site.value?.keys() ?? [])];
  const tab = (state: string | null, word: string, count: number | null) => (
    <button
      class="chip"
      type="button"
      aria-pressed={(state === "resolved") === isOver}
      onClick={() => setQuery({ state, from: null }, true)}
    >
      {word} {count !== null && <b>{number(count)}</b>}
    </button>
  );
  return (
    <>
      <h1 class="vh">{words.alertsPage}</h1>
      <div class="chips top-chips" role="group" aria-label={words.filters}>
        {tab(null, daily.firing, firing.value?.size ?? null)}
        {tab("resolved", daily.over, isOver ? (past?.total ?? null) : null)}
        <span class="sep" />
        <Choice name="severity" any={daily.anySeverity} values={SEVERITIES} word={daily.severity} />
        <Choice name="server" any={words.anyServer} values={servers} word={words.server} />
        <Choice name="rule" any={daily.anyRule} values={RULES} word={daily.rule} />
        <span class="end">
          <a
            class="btn"
            href={`./api/licenses/alerts${search({ format: "csv", ...asked(isOver) })}`}
            download
          >
            {words.csv}
          </a>
        </span>
      </div>
      {me.value !== null && !may("acknowledge") && <p class="q role">{daily.needsOperator}</p>}
      <Outcome />
      <p class="count q" role="status">
        {found !== null && daily.alertCount(found.total)}
      </p>
      <ul class="rows al" aria-label={isOver ? daily.over : daily.firing}>
        {found?.alerts.map((alert) => (
          <Row key={alert.id} alert={alert} />
        ))}
      </ul>
      {found === null && <p class="empty q">{isOver ? words.loadingPage : daily.alertsUnknown}</p>}
      {found?.total === 0 && (
        <div class="empty">
          <p>
            {FILTERS.some((name) => query.value.has(name))
              ? words.noMatch
              : isOver
                ? daily.noneOver
                : daily.noneFiring}
          </p>
          {FILTERS.some((name) => query.value.has(name)) && (
            <button class="btn" type="button" onClick={() => go(linkTo("alerts"))}>
              {words.clear}
            </button>
          )}
        </div>
      )}
      {found !== null && found.total > from + PAGE_ROWS && (
        <p class="foot">
          <button class="btn" type="button" onClick={() => setQuery({ from: `${from + PAGE_ROWS}` }, true)}>
            {daily.older}
          </button>
        </p>
      )}
      <AlertDialog />
    </>
  );
}

/** The filters of the address, as the API takes them. */
function asked(isOver: boolean): Record<string, string> {
  const set = FILTERS.flatMap((name) => {
    const value = query.value.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { state: isOver ? "resolved" : "firing", ...Object.fromEntries(set) };
}

/** The worst first, those that somebody has taken note of last, then the newest. */
function firingNow(from: number): Found | null {
  if (firing.value === null) return null;
  const filter = asked(false);
  const rank = (alert: AlertRecord) =>
    SEVERITIES.indexOf(alert.severity) + (isUnhandled(alert, now.value) ? 0 : SEVERITIES.length);
  const all = [...firing.value.values()]
    .filter((alert) => FILTERS.every((name) => filter[name] === undefined || filter[name] === alert[name]))
    .sort((a, b) => rank(a) - rank(b) || Date.parse(b.startedAt) - Date.parse(a.startedAt));
  return { alerts: all.slice(from, from + PAGE_ROWS), total: all.length };
}

/** Alerts that are over, the newest first; read again when one ends. */
function usePast(isWanted: boolean, from: number): Found | null {
  const found = useSignal<Found | null>(null);
  const filter = JSON.stringify(asked(true));
  const ended = lastAlert.value?.change === "resolved" ? lastAlert.value.id : null;
  useEffect(() => {
    if (!isWanted) return;
    const end = new AbortController();
    const page = {
      ...(JSON.parse(filter) as Record<string, string>),
      limit: `${PAGE_ROWS}`,
      offset: `${from}`,
    };
    get("/api/licenses/alerts", page, end.signal).then(
      (answer) => {
        found.value = answer;
      },
      // An unknown server or rule in the address: nothing matches. All else the picture tells.
      () => {
        if (!end.signal.aborted) found.value ??= { alerts: [], total: 0 };
      },
    );
    return () => end.abort();
  }, [isWanted, filter, from, ended]);
  return found.value;
}

function Row({ alert }: { readonly alert: AlertRecord }) {
  const { severity, message, startedAt, resolvedAt, acknowledgedBy, comment, silencedUntil, state } = alert;
  const [began, ended] = [startedAt, resolvedAt].map((time) =>
    time === null ? null : Date.parse(time ?? ""),
  );
  const place = subjectOf(alert);
  const silence =
    silencedUntil === null || Date.parse(silencedUntil) <= now.value ? null : Date.parse(silencedUntil);
  const facts = [
    `${daily.began} ${moment(began ?? 0, now.value)}`,
    ...(alert.acknowledged ? [daily.acknowledgedBy(acknowledgedBy)] : []),
    ...(silence === null || state === "resolved" ? [] : [daily.silencedUntil(moment(silence, now.value))]),
    ...(comment === null ? [] : [`“${comment}”`]),
  ];
  return (
    <li class={state === "firing" && !isUnhandled(alert, now.value) ? "handled" : undefined}>
      <State is={MARKS[severity]}>{daily.severities[severity]}</State>
      <div class="alert-words">
        <p>{message}</p>
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
      <span class="r q">
        {resolvedAt === null ? duration(now.value - (began ?? 0)) : duration((ended ?? 0) - (began ?? 0))}
      </span>
      {state === "firing" && may("acknowledge") && (
        <div class="acts">
          {!alert.acknowledged && (
            <button class="ack" type="button" onClick={() => ask({ alert, action: "acknowledge" })}>
              {daily.acknowledge}
              <span class="vh"> {targetOf(alert)}</span>
            </button>
          )}
          <button class="ack" type="button" onClick={() => ask({ alert, action: "silence" })}>
            {daily.silence}
            <span class="vh"> {targetOf(alert)}</span>
          </button>
        </div>
      )}
    </li>
  );
}
