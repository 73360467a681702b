import type { Config } from "../../config/config.ts";
import { messageOf } from "../../domain/error-code.ts";
import type { Log } from "../../domain/log.ts";
import type { HealthCheck } from "../../domain/service/status.ts";
import { type Clock, repeat } from "../../domain/time/clock.ts";
import { openPool, type Pool } from "./connect.ts";

const LOOK_MS = 1_000;
const PATIENCE_MS = 3_000;
/** Maximum lag of a replica that is used. With more, its lists would look like those of silent sites. */
const BEHIND_MS = 10_000;
/** Name of a row that is updated at the primary. The age of the row at a replica is the replica's lag. */
const MARK = "replica";

type HubConfig = NonNullable<Config["hub"]>;
type State = { readonly usable: boolean; readonly message: string };

interface ReadsDeps {
  readonly hub: HubConfig;
  readonly pool: Pool;
  readonly clock: Clock;
  readonly log: Log;
}

export type Reads = ReturnType<typeof createReads>;

/**
 * Chooses where lists and statistics are read: from the replica while its lag is small, otherwise from the
 * primary.
 */
export function createReads({ hub, pool, clock, log }: ReadsDeps) {
  const { readDatabase } = hub;
  const replica = readDatabase === null ? null : openPool({ ...hub, database: readDatabase });
  let state: State = { usable: false, message: "The replica has not been checked yet" };
  let running: Promise<void> | null = null;

  async function ask(from: Pool): Promise<State> {
    await pool`
      INSERT INTO marks (name, value) VALUES (${MARK}, ${clock.now()})
      ON CONFLICT (name) DO UPDATE SET value = greatest(marks.value, excluded.value)`;
    const answer = from`SELECT value FROM marks WHERE name = ${MARK}`;
    const rows: { value: string }[] | null = await Promise.race([
      answer,
      Bun.sleep(PATIENCE_MS).then(() => null),
    ]);
    if (rows === null) return { usable: false, message: "The replica is not responding" };
    const behindMs = clock.now() - Number(rows[0]?.value ?? 0);
    if (behindMs <= BEHIND_MS) return { usable: true, message: "The replica is up to date" };
    const seconds = Math.floor(behindMs / 1000);
    return {
      usable: false,
      message: rows.length === 0 ? "The replica is empty" : `The replica is ${seconds} s behind`,
    };
  }

  async function look(from: Pool): Promise<void> {
    const before = state;
    let error: string | null = null;
    state = await ask(from).catch((thrown) => {
      error = messageOf(thrown);
      return { usable: false, message: "The replica is not responding" };
    });
    if (before.usable === state.usable) return;
    if (state.usable) log.info("Reading lists from the replica");
    else log.warn("Reading lists from the primary", { reason: state.message, error });
  }

  function lookOnce(): Promise<void> {
    if (replica === null) return Promise.resolve();
    running ??= look(replica).finally(() => {
      running = null;
    });
    return running;
  }

  const end = replica === null ? () => {} : repeat(LOOK_MS, () => void lookOnce());
  return {
    look: lookOnce,
    pool: (): Pool => (state.usable && replica) || pool,
    config: (): HubConfig => (state.usable ? { ...hub, database: readDatabase ?? hub.database } : hub),
    health(primary: HealthCheck): HealthCheck {
      if (replica === null || state.usable || primary.status !== "healthy") return primary;
      return { status: "degraded", message: `${state.message}: reading lists from the primary` };
    },
    async stop(): Promise<void> {
      end();
      await running;
      await replica?.close({ timeout: 1 });
    },
  };
}
