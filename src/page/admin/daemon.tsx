import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Maintenance } from "../../domain/service/maintenance.ts";
import type { Status } from "../../domain/service/status.ts";
import { post } from "../api.ts";
import { bytes, duration, moment, number } from "../format.ts";
import { now } from "../live/live.ts";
import { may } from "../me.ts";
import { asDuration, Known } from "../parts/cells.tsx";
import { problemOf, tell } from "../parts/dialog.tsx";
import { Figure, Rows } from "../parts/figure.tsx";
import { Age, State } from "../parts/marks.tsx";
import { linkTo } from "../router.ts";
import { admin } from "./words.ts";

const milliseconds = (value: number) => `${number(Math.round(value * 10) / 10)} ms`;
const percent = (value: number | null) => <Known value={value} as={(share) => `${Math.round(share)} %`} />;

function Facts({ of }: { readonly of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="figures">
      {of.map(([word, value]) => (
        <div key={word}>
          <dt>{word}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Since when it runs, by which config, and how large its database is. */
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
      note={({ timestamp }) => admin.asOf(moment(Date.parse(timestamp), now.value))}
      aside={
        may("reload") && (
          <button class="btn s end" type="button" disabled={isBusy.value} onClick={() => void reload()}>
            {admin.reload}
          </button>
        )
      }
    >
      {(status) => (
        <>
          <p>{admin.runs(status.version, moment(Date.parse(status.startedAt), now.value))}</p>
          <p class="m file">{status.configFile ?? admin.noConfig}</p>
          <Reloads last={status.lastReload} />
          <Facts
            of={[
              [admin.upFor, <Age at={Date.parse(status.startedAt)} />],
              [admin.database, <Known value={status.database.sizeBytes} as={bytes} />],
              [
                admin.oldest,
                <Known
                  value={Date.parse(status.database.oldestSampleAt ?? "") || null}
                  as={(at) => moment(at, now.value)}
                />,
              ],
              [admin.polls, <Known value={status.collector.durationMs.p50} as={milliseconds} />],
              [admin.streams, number(status.streams.sse + status.streams.websocket)],
              [admin.activeKeys, number(status.keys)],
            ]}
          />
        </>
      )}
    </Figure>
  );
}

/** What came of reading the config the last time; its problems in the daemon's words. */
function Reloads({ last }: { readonly last: Status["lastReload"] }) {
  if (last === null) return <p class="q">{admin.neverReloaded}</p>;
  return (
    <>
      <p>
        <State is={last.outcome === "applied" ? "ok" : "warn"}>
          {admin.reloads[last.outcome](moment(Date.parse(last.at), now.value))}
        </State>
      </p>
      {last.message !== null && <p class="tool-says">{last.message}</p>}
    </>
  );
}

/** Memory and load of the daemon and its host. */
export function Load() {
  return (
    <Figure title={admin.load} path="/api/metrics" query={{}} csv={false}>
      {({ process, system, requests, polls }) => (
        <Facts
          of={[
            [admin.memory, bytes(process.memoryBytes)],
            [admin.lag, <Known value={process.eventLoopLagMs} as={milliseconds} />],
            [admin.cpu, asDuration(process.cpuSeconds)],
            [admin.requests, number(requests.total)],
            [admin.pollsDone, admin.ofAll(polls.failed, polls.ok + polls.partial + polls.failed)],
            [
              admin.host,
              <>
                {percent(system.cpu)}, {percent(system.memory)}, {percent(system.disk)}
              </>,
            ],
          ]}
        />
      )}
    </Figure>
  );
}

const MARKS = { healthy: "ok", degraded: "warn", unhealthy: "crit" } as const;

export function Checks() {
  return (
    <Figure title={admin.checks} path="/api/health" query={{}} csv={false}>
      {({ checks }) => (
        <>
          <ul class="rows parts">
            {Object.entries(checks).map(([name, { status, message }]) => (
              <li key={name}>
                <State is={MARKS[status]}>{admin.healths[status]}</State>
                <span>
                  {admin.checkNames[name] ?? name} <span class="q">{message}</span>
                </span>
              </li>
            ))}
          </ul>
          {may("logs") && (
            <p class="q note">
              {admin.backups}{" "}
              <a class="ref" href={linkTo("logs", { q: "backup" })}>
                {admin.theLog}
              </a>
              .
            </p>
          )}
        </>
      )}
    </Figure>
  );
}

type Window = Maintenance["windows"][number];

/** When alerts are held back, and for which servers. */
export function Windows() {
  return (
    <Figure
      title={admin.maintenance}
      path="/api/maintenance"
      query={{}}
      csv={false}
      note={({ timezone }) => timezone}
    >
      {({ windows }) => (
        <Rows
          label={admin.maintenance}
          none={admin.noMaintenance}
          rows={windows}
          columns={[
            { head: admin.pattern, cell: ({ patterns }) => <span class="m">{patterns.join(", ")}</span> },
            { head: admin.when, cell: (window) => <Times of={window} /> },
            {
              head: admin.lasts,
              right: true,
              cell: ({ durationSeconds, every }) =>
                `${duration(1000 * durationSeconds)}, ${every === null ? admin.once : admin.times[every]}`,
            },
          ]}
        />
      )}
    </Figure>
  );
}

function Times({ of: { running, next } }: { readonly of: Window }) {
  const at = (time: string) => moment(Date.parse(time), now.value);
  if (running !== null)
    return (
      <State is="partial">{running.end === null ? admin.alwaysOpen : admin.runsUntil(at(running.end))}</State>
    );
  return <>{next === null ? admin.isOver : admin.isNext(at(next.start))}</>;
}
