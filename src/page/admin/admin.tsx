import { useSignal } from "@preact/signals";
import { printBytes } from "../../domain/bytes.ts";
import type { Maintenance } from "../../domain/service/maintenance.ts";
import type { Status } from "../../domain/service/status.ts";
import { may, me, post } from "../api.ts";
import { duration, moment } from "../format.ts";
import { IS_HUB } from "../here.ts";
import { now } from "../live/live.ts";
import { Outcome, problemOf, tell } from "../parts/dialog.tsx";
import { Figure } from "../parts/figure.tsx";
import { Facts, Known, State } from "../parts/marks.tsx";
import { linkTo, page } from "../router.ts";
import { Commands } from "./commands.tsx";
import { Keys, SignIns } from "./keys.tsx";

export function AdminHead() {
  const places = [["admin", "Administration"] as const, ...(may("logs") ? [["logs", "Logs"] as const] : [])];
  return (
    <>
      <div class="crumbs">
        <h1>{page.value === "logs" ? "Logs" : "Administration"}</h1>
      </div>
      <nav class="tabs" aria-label="Parts of the administration">
        {places.map(([path, word]) => (
          <a key={path} href={linkTo(path)} aria-current={path === page.value ? "page" : undefined}>
            {word}
          </a>
        ))}
      </nav>
    </>
  );
}

export function Admin() {
  const needs = may("keys")
    ? null
    : may("execute_operator")
      ? "Keys, all sign-ins and reloading need the role admin."
      : "Running commands needs the role operator; keys, all sign-ins and reloading need admin.";
  return (
    <>
      <AdminHead />
      <Outcome />
      {me.value !== null && needs !== null && <p class="q role needs">{needs}</p>}
      <div class="cols c2">
        {may("details") && <Daemon />}
        <Checks />
      </div>
      <Windows />
      {may("keys") && <Keys />}
      {me.value?.via !== "public" && <SignIns />}
      {may("execute_operator") && <Commands />}
    </>
  );
}

const at = (time: string) => moment(Date.parse(time), now.value);

export function Daemon() {
  const version = useSignal(0);
  const isBusy = useSignal(false);
  const reload = async () => {
    isBusy.value = true;
    try {
      const { needRestart } = await post("/api/reload", null);
      const later = needRestart.length === 0 ? "" : ` Restart to change: ${needRestart.join(", ")}.`;
      tell(`Configuration reloaded.${later}`);
    } catch (error) {
      tell(problemOf(error));
    } finally {
      isBusy.value = false;
      version.value++;
    }
  };
  return (
    <Figure
      title="Daemon"
      path="/api/status"
      query={{}}
      csv={false}
      version={version.value}
      note={({ timestamp }) => `as of ${at(timestamp)}`}
      aside={
        may("reload") && (
          <button class="btn s end" type="button" disabled={isBusy.value} onClick={() => void reload()}>
            Reload configuration
          </button>
        )
      }
    >
      {({ startedAt, configFile, lastReload, database, ...status }) => (
        <>
          <p>{`licmond ${status.version} has been running since ${at(startedAt)}.`}</p>
          <p class="m file">{configFile ?? "No config file: using defaults."}</p>
          <Reloads last={lastReload} />
          {!IS_HUB && (
            <Facts
              of={[
                ["Database", <Known value={database.sizeBytes} as={printBytes} />],
                [
                  "Oldest reading",
                  database.oldestSampleAt === null ? "none yet" : at(database.oldestSampleAt),
                ],
                ["Keys and alerts backed up", <Backup of={database.backups.state} />],
                ["History backed up", <Backup of={database.backups.history} />],
              ]}
            />
          )}
        </>
      )}
    </Figure>
  );
}

function Backup({ of }: Readonly<{ of: string | null }>) {
  if (of === null) return <State is="warn">never</State>;
  return <>{duration(now.value - Date.parse(of))} ago</>;
}

function Reloads({ last }: Readonly<{ last: Status["lastReload"] }>) {
  if (last === null) return <p class="q">Configuration loaded at startup; not reloaded since.</p>;
  return (
    <>
      <p>
        <State is={last.outcome === "applied" ? "ok" : "warn"}>
          {last.outcome === "applied"
            ? `Configuration reloaded ${at(last.at)}.`
            : `The reload of ${at(last.at)} was refused; the previous configuration is active.`}
        </State>
      </p>
      {last.message !== null && <p class="tool-says">{last.message}</p>}
    </>
  );
}

const MARKS = { healthy: "ok", degraded: "warn", unhealthy: "crit" } as const;
const WORDS = { healthy: "fine", degraded: "degraded", unhealthy: "broken" } as const;

export function Checks() {
  return (
    <Figure title="Checks" path="/api/health" query={{}} csv={false}>
      {({ checks }) => (
        <ul class="rows parts">
          {Object.entries(checks).map(([name, { status, message }]) => (
            <li key={name}>
              <State is={MARKS[status]}>{WORDS[status]}</State>
              <span>
                {name} <span class="q">{message}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Figure>
  );
}

export function Windows() {
  return (
    <Figure
      title="Maintenance windows"
      path="/api/maintenance"
      query={{}}
      csv={false}
      note={({ timezone }) => timezone}
    >
      {({ windows }) =>
        windows.length === 0 ? (
          <p class="q">The config has none.</p>
        ) : (
          <ul class="rows windows">
            {windows.map((window, at) => (
              <li key={at}>
                <span class="m">{window.patterns.join(", ")}</span>
                <Times of={window} />
                <span class="q">
                  {duration(1000 * window.durationSeconds)},{" "}
                  {window.every === null ? "once" : `every ${window.every}`}
                </span>
              </li>
            ))}
          </ul>
        )
      }
    </Figure>
  );
}

function Times({ of: { running, next } }: Readonly<{ of: Maintenance["windows"][number] }>) {
  if (running === null) return <span>{next === null ? "over" : `next ${at(next.start)}`}</span>;
  return <State is="partial">{running.end === null ? "open-ended" : `open until ${at(running.end)}`}</State>;
}
