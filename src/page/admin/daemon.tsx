import { useSignal } from "@preact/signals";
import { printBytes } from "../../domain/bytes.ts";
import type { Maintenance } from "../../domain/service/maintenance.ts";
import type { Status } from "../../domain/service/status.ts";
import { post } from "../api.ts";
import { duration, moment } from "../format.ts";
import { IS_HUB } from "../here.ts";
import { now } from "../live/live.ts";
import { may } from "../me.ts";
import { Facts, Known } from "../parts/cells.tsx";
import { problemOf, tell } from "../parts/dialog.tsx";
import { Figure } from "../parts/figure.tsx";
import { State } from "../parts/marks.tsx";
import { admin } from "./words.ts";

/** Formats a time of the API. */
const at = (time: string) => moment(Date.parse(time), now.value);

/** Shows start time, config, size of the database and last backup. */
export function Daemon() {
  const version = useSignal(0);
  const isBusy = useSignal(false);
  const reload = async () => {
    isBusy.value = true;
    try {
      tell(admin.reloaded((await post("/api/reload", null)).needRestart));
    } catch (error) {
      tell(problemOf(error));
    } finally {
      isBusy.value = false;
      version.value++;
    }
  };
  return (
    <Figure
      title={admin.daemon}
      path="/api/status"
      query={{}}
      csv={false}
      version={version.value}
      note={({ timestamp }) => admin.asOf(at(timestamp))}
      aside={
        may("reload") && (
          <button class="btn s end" type="button" disabled={isBusy.value} onClick={() => void reload()}>
            {admin.reload}
          </button>
        )
      }
    >
      {({ startedAt, configFile, lastReload, database, ...status }) => (
        <>
          <p>{admin.runs(status.version, at(startedAt))}</p>
          <p class="m file">{configFile ?? admin.noConfig}</p>
          <Reloads last={lastReload} />
          {!IS_HUB && (
            <Facts
              of={[
                [admin.database, <Known value={database.sizeBytes} as={printBytes} />],
                [
                  admin.oldest,
                  database.oldestSampleAt === null ? admin.noReading : at(database.oldestSampleAt),
                ],
                [admin.stateBackup, <Backup of={database.backups.state} />],
                [admin.historyBackup, <Backup of={database.backups.history} />],
              ]}
            />
          )}
        </>
      )}
    </Figure>
  );
}

/** Shows the age of a backup. */
function Backup({ of }: { readonly of: string | null }) {
  if (of === null) return <State is="warn">{admin.noBackup}</State>;
  return <>{admin.ago(duration(now.value - Date.parse(of)))}</>;
}

/** Shows the outcome of the last reload, with the daemon's problems of the config. */
function Reloads({ last }: { readonly last: Status["lastReload"] }) {
  if (last === null) return <p class="q">{admin.neverReloaded}</p>;
  return (
    <>
      <p>
        <State is={last.outcome === "applied" ? "ok" : "warn"}>
          {admin.reloads[last.outcome](at(last.at))}
        </State>
      </p>
      {last.message !== null && <p class="tool-says">{last.message}</p>}
    </>
  );
}

const MARKS = { healthy: "ok", degraded: "warn", unhealthy: "crit" } as const;

export function Checks() {
  return (
    <Figure title={admin.checks} path="/api/health" query={{}} csv={false}>
      {({ checks }) => (
        <ul class="rows parts">
          {Object.entries(checks).map(([name, { status, message }]) => (
            <li key={name}>
              <State is={MARKS[status]}>{admin.healths[status]}</State>
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

/** Shows when alerts are held back, and for which servers. */
export function Windows() {
  return (
    <Figure
      title={admin.maintenance}
      path="/api/maintenance"
      query={{}}
      csv={false}
      note={({ timezone }) => timezone}
    >
      {({ windows }) =>
        windows.length === 0 ? (
          <p class="q">{admin.noMaintenance}</p>
        ) : (
          <ul class="rows windows">
            {windows.map((window, at) => (
              <li key={at}>
                <span class="m">{window.patterns.join(", ")}</span>
                <Times of={window} />
                <span class="q">{admin.lasts(duration(1000 * window.durationSeconds), window.every)}</span>
              </li>
            ))}
          </ul>
        )
      }
    </Figure>
  );
}

function Times({ of: { running, next } }: { readonly of: Maintenance["windows"][number] }) {
  if (running === null) return <span>{next === null ? admin.isOver : admin.isNext(at(next.start))}</span>;
  return (
    <State is="partial">{running.end === null ? admin.alwaysOpen : admin.runsUntil(at(running.end))}</State>
  );
}
