import type { Config } from "../../config/config.ts";
import type { Key, KeyParts, NewKey } from "../../domain/keys.ts";
import { keyFromSecret, keyProblem, systemRandom } from "../../domain/keys.ts";
import { parseDuration } from "../../domain/time/clock.ts";
import { ROLES } from "../../domain/words.ts";
import { keyRecord } from "../../http/records.ts";
import type { HubKeys } from "../../hub/access/keys.ts";
import { createKeys, type Keys } from "../../store/keys.ts";
import { openStore } from "../../store/open/open.ts";
import { isEmptyStorage } from "../../store/open/start-check.ts";
import { readSecretFile } from "../../system/secret-file.ts";
import { createClient } from "../client/client.ts";
import { CLIENT_OPTIONS, type ClientOptions, findTarget } from "../client/target.ts";
import { command, flag, type Group, integer, option, reader, required, text } from "../command.ts";
import { type CommandIo, Failure, readConfig, UsageError, warningsOn } from "../io.ts";
import { printJson, printTable } from "../terminal.ts";

type AnyKeys = Pick<Keys | HubKeys, "list" | "find" | "create" | "revoke">;

const expiry = reader((text) => parseDuration(text) || null, "Expected a duration of 1s or more, e.g. 90d.");
const count = integer(1, Number.MAX_SAFE_INTEGER, "Expected a whole number of 1 or more.");

const create = command({
  options: {
    name: required("<name>", "purpose of the key; unique among active keys", String),
    role: required("<role>", "permissions of the key", ROLES),
    expires: option("<duration>", "lifetime, e.g. 90d (default: never expires)", expiry),
    "daily-quota": option("<requests>", "requests per day", count),
    "monthly-quota": option("<requests>", "requests per month", count),
    "requests-per-minute": option("<requests>", "overrides the config's limit", count),
    anonymize: flag("show pseudonyms for users and hosts (role viewer only)"),
    site: text("<name>", "site that pushes with the key (role site only, on a hub)"),
    "secret-file": text("<file>", "file with an existing secret or key"),
  },
  async run({ options, config }, io) {
    const { name, role, anonymize, expires, site } = options;
    const wanted: NewKey = {
      name,
      role,
      anonymize,
      expiresAt: expires === undefined ? null : io.now() + expires,
      dailyQuota: options["daily-quota"] ?? null,
      monthlyQuota: options["monthly-quota"] ?? null,
      requestsPerMinute: options["requests-per-minute"] ?? null,
      ...(site !== undefined && { site }),
    };
    const check = (ofSites: boolean) => {
      const problem = keyProblem(wanted, io.now(), ofSites);
      if (problem !== null) throw new UsageError(problem.message);
    };
    const parts = await partsIn(options["secret-file"]);
    const work = async (keys: AnyKeys | null) => {
      if (parts !== undefined && keys?.find(parts.id)?.id === parts.id)
        throw new Failure(`a key with the id "${parts.id}" already exists; use another secret file`);
      const made = await keys?.create(wanted, parts);
      if (made?.outcome === "created") return io.out(`${made.presented}\n`);
      const taken = `an active key named "${name}" already exists`;
      throw new Failure(`${taken}; revoke it first, or choose another name`);
    };
    await withKeys(config, io, work, check);
  },
});

/** Reads the id and secret of an existing key. Rejects with a Failure that does not quote the file. */
async function partsIn(file: string | undefined): Promise<KeyParts | undefined> {
  if (file === undefined) return undefined;
  const read = await readSecretFile(file);
  if ("problem" in read) throw new Failure(`the secret file ${file} ${read.problem}`);
  const parts = keyFromSecret(read.text, systemRandom);
  if (parts !== null) return parts;
  const takes =
    "43 characters of base64url (openssl rand 32 | basenc --base64url | tr -d =), or lmk_<id>_<secret>";
  throw new Failure(`the secret file ${file} must contain ${takes}`);
}

const list = command({
  options: { json: flag("print the API's records"), ...CLIENT_OPTIONS },
  async run({ options, config }, io) {
    if (options.url !== undefined || io.env.LICMOND_URL) return listRemote(options, io);
    await withKeys(config, io, (keys) => {
      const all = (keys?.list() ?? []).map(keyRecord);
      io.out(options.json ? printJson({ keys: all }) : printKeys(all));
    });
  },
});

async function listRemote(options: ClientOptions & { readonly json: boolean }, io: CommandIo): Promise<void> {
  const client = createClient(await findTarget(options, io.env));
  const { keys } = await client.get<{ keys: readonly Key[] }>("/api/keys?limit=10000");
  io.out(options.json ? printJson({ keys }) : printKeys(keys));
}

const revoke = command({
  args: [["<id or name>", "as shown by `licmond keys list`"]],
  async run({ args: [named = ""], config }, io) {
    await withKeys(config, io, async (keys) => {
      const key = keys?.find(named);
      if (!key) throw new Failure(`unknown key "${named}"; see \`licmond keys list\``);
      if ((await keys?.revoke(key.id)) === "gone") throw new Failure(`the key "${named}" is already revoked`);
      io.err(`Revoked key ${key.id} (${key.name}).\n`);
    });
  },
});

export const keys: Group = {
  commands: { create: async () => create, list: async () => list, revoke: async () => revoke },
};

/**
 * Calls `work` with the keys in the configured storage directory, or with a hub's keys. The daemon may be
 * running. Without a database, `work` gets null. Commands that create keys pass `check`. It runs first, and
 * a missing database is then created.
 */
async function withKeys(
  file: string | undefined,
  io: CommandIo,
  work: (keys: AnyKeys | null) => void | Promise<void>,
  check?: (ofSites: boolean) => void,
): Promise<void> {
  const { config } = await readConfig(file, io);
  check?.(config.hub !== null);
  if (io.env.LICMOND_URL)
    io.err("licmond: warning: ignoring $LICMOND_URL; this command changes the keys of this host\n");
  if (config.hub !== null) return withKeysOfHub(config.hub, io, work);
  const { directory, backupBeforeUpgrade } = config.storage;
  if (check === undefined && isEmptyStorage(directory)) return work(null);
  const log = warningsOn(io);
  const store = openStore({ directory, log, mode: "cli", backUpBeforeUpgrade: backupBeforeUpgrade });
  try {
    await work(createKeys({ store, clock: { now: io.now } }));
  } finally {
    store.close();
  }
}

async function withKeysOfHub(
  hub: NonNullable<Config["hub"]>,
  io: CommandIo,
  work: (keys: AnyKeys) => void | Promise<void>,
): Promise<void> {
  const { openPool } = await import("../../hub/database/connect.ts");
  const { migrate } = await import("../../hub/database/migrate.ts");
  const { createHubKeys } = await import("../../hub/access/keys.ts");
  const pool = openPool(hub, 2);
  try {
    await migrate(pool);
    await work(await createHubKeys(pool, { now: io.now }));
  } finally {
    await pool.close();
  }
}

function printKeys(keys: readonly Key[]): string {
  if (keys.length === 0) return "No keys yet. Create one: licmond keys create --name NAME --role admin\n";
  const rows = keys.map(({ id, name, role, anonymize, state, createdAt, expiresAt, lastUsedAt }) => {
    const shownRole = anonymize ? `${role} (anonymized)` : role;
    return [id, name, shownRole, state, minute(createdAt), minute(expiresAt), minute(lastUsedAt)];
  });
  return printTable(["id", "name", "role", "state", "created", "expires", "last used"], rows);
}

const minute = (at: string | null) => (at === null ? "never" : `${at.slice(0, 16).replace("T", " ")} UTC`);
