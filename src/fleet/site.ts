import type { FleetSettings } from "../config/config.ts";
import { type RandomBytes, systemRandom } from "../domain/keys.ts";
import type { LogOf } from "../domain/log.ts";
import type { Snapshot } from "../domain/picture.ts";
import type { Clock, Timers } from "../domain/time/clock.ts";
import type { Store } from "../store/open/open.ts";
import { installationSecret } from "../store/secrets.ts";
import { readSecretFile } from "../system/secret-file.ts";
import { bareOf, createBatches } from "./batch.ts";
import { type Actions, createCommands } from "./commands.ts";
import { createOutbox } from "./outbox.ts";
import { type Anonymizer, createPeople } from "./people.ts";
import { postPush } from "./post.ts";
import { HEARTBEAT_MS } from "./protocol.ts";
import { createSender, type Talk } from "./sender.ts";
import { createStates } from "./states.ts";

/** At least 32 bytes in base64 or hex. A shorter key of the HMAC could be brute-forced. */
const KEY = /^[A-Za-z0-9+/_-]{43,1024}={0,2}$/;

export const MAKE_KEY = "openssl rand -base64 32";

/** Throws an Error without the path or content of the file. */
export async function readPeopleKey(file: string): Promise<Uint8Array> {
  const read = await readSecretFile(file);
  if ("problem" in read) throw new Error(`The people_key_file ${read.problem}`);
  if (!KEY.test(read.text))
    throw new Error(
      `The people_key_file must contain at least 32 random bytes in base64 or hex: ${MAKE_KEY}`,
    );
  return Buffer.from(read.text);
}

export interface SiteDeps {
  readonly store: Store;
  readonly settings: FleetSettings;
  readonly snapshot: () => Snapshot;
  readonly version: string;
  readonly timezone: string;
  readonly anonymizer: (secret: Uint8Array) => Anonymizer;
  readonly actions: Actions;
  readonly toldUntil?: () => number | null;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly holdMs?: number;
  readonly random?: RandomBytes;
  readonly log: LogOf;
}

export type Site = ReturnType<typeof createSite>;

/** Runs this licmond as a site of a fleet, with its current config. A config change replaces the site. */
export function createSite(deps: SiteDeps) {
  const { store, settings, snapshot, clock, timers, random = systemRandom } = deps;
  const { people: audience } = settings;
  const log = deps.log("system");
  const now = clock.now;
  const outbox = createOutbox(store, random);
  const { site, formerly } = settings;
  const instance = Buffer.from(random(8)).toString("hex");
  const head = { site, instance, ...(formerly !== null && { formerly }) };
  const holdMs = () => (commands.isBusy() ? 0 : (deps.holdMs ?? HEARTBEAT_MS));
  const around = {
    outbox,
    head,
    now,
    waitingSince: () => sender.drainedAt(),
    toldUntil: deps.toldUntil ?? (() => null),
    holdMs,
  };

  const siteState = () => ({
    version: deps.version,
    timezone: deps.timezone,
    labels: settings.labels,
    formerly,
    people: audience,
    allow: [...settings.allow],
    notify: settings.notify,
    logs: settings.logs,
    servers: snapshot().servers.map(({ server }) => server.id),
  });

  async function begin(): Promise<Talk | null> {
    const { peopleKeyFile: file } = settings;
    const key = file === null ? installationSecret(store, random) : await readPeopleKey(file);
    // Include the key, because another key yields other pseudonyms.
    const mark = audience === "pseudonyms" ? `pseudonyms ${fingerprint(key)}` : audience;
    if (outbox.speakOf(mark, now())) {
      log.warn("People are named differently at the hub from now on; sending everything again", {
        people: audience,
        key: file === null ? "this site's own" : "fleet.people_key_file",
      });
      return null;
    }
    const people = createPeople(audience, deps.anonymizer(key));
    const states = createStates({ store, snapshot, people, site: siteState, now });
    return { states, batches: createBatches({ ...around, store, people, states, log }) };
  }

  const sender = createSender({
    outbox,
    hello() {
      outbox.begin(now());
      return bareOf(around, { hello: true });
    },
    farewell: () => bareOf(around, { stops: true }),
    begin,
    settings: () => settings,
    post: postPush,
    carryOut: (asked) => commands.carryOut(asked),
    logFile: `${store.path}-wal`,
    clock,
    timers,
    random: Math.random,
    log,
  });
  const commands = createCommands({
    actions: deps.actions,
    allow: () => settings.allow,
    outbox,
    wake: sender.wake,
    audit: deps.log("audit"),
    log,
  });

  const { start, stop, status, wake, lastContactAt } = sender;
  return { start, stop, status, wake, lastContactAt };
}

function fingerprint(secret: Uint8Array): string {
  return new Bun.CryptoHasher("sha256", secret).update("fleet").digest("hex").slice(0, 16);
}
