import { type Command, Option } from "commander";
import { type KeyRecord, keyProblem, type NewKey } from "../domain/keys.ts";
import { iso } from "../domain/time/clock.ts";
import { parseDuration } from "../domain/time/duration.ts";
import { ROLES, type Role } from "../domain/words.ts";
import { keyRecord } from "../http/records.ts";
import { createKeys, type Keys } from "../store/keys.ts";
import { openStore } from "../store/open/open.ts";
import { isEmptyStorage } from "../store/open/start-check.ts";
import { type CommandIo, Failure, readConfig, refuseUsage, warningsOn, withConfigOption } from "./io.ts";
import { integer, parserOf } from "./options.ts";
import { printTable } from "./terminal.ts";

interface CreateOptions extends Partial<Omit<NewKey, "expiresAt">> {
  readonly name: string;
  readonly role: Role;
  /** ms */
  readonly expires?: number;
}

/** `licmond keys …`: API keys, also while the daemon runs. */
export function define(keys: Command, io: CommandIo): void {
  defineCreate(keys, io);
  defineList(keys, io);
  defineRevoke(keys, io);
}

function defineCreate(keys: Command, io: CommandIo): void {
  withConfigOption(keys.command("create"))
    .requiredOption("--name <name>", "what it is for; no other active key may have the name")
    .addOption(new Option("--role <role>", "what it may do").choices(ROLES).makeOptionMandatory())
    .option("--expires <duration>", "when it ends, e.g. 90d (default: never)", expiry)
    .option("--daily-quota <requests>", "requests a day", count)
    .option("--monthly-quota <requests>", "requests a month", count)
    .option("--requests-per-minute <requests>", "instead of the config's limit", count)
    .option("--anonymize", "users and hosts are pseudonyms (role viewer only)")
    .action(async (options: CreateOptions, command: Command) => {
      const { name, role, anonymize = false, expires } = options;
      const { dailyQuota = null, monthlyQuota = null, requestsPerMinute = null } = options;
      const expiresAt = expires === undefined ? null : io.now() + expires;
      const limits = { dailyQuota, monthlyQuota, requestsPerMinute };
      const wanted: NewKey = { name, role, anonymize, expiresAt, ...limits };
      const problem = keyProblem(wanted, io.now());
      if (problem !== null) return refuseUsage(command, problem.message);
      await withKeys(command, io, (repository) => {
        const made = repository.create(wanted);
        if (made.outcome === "created") return io.out(`${made.presented}\n`);
        const taken = `an active key has the name "${wanted.name}"`;
        throw new Failure(`${taken}; revoke it first, or choose another name`);
      });
    });
}

function defineList(keys: Command, io: CommandIo): void {
  withConfigOption(keys.command("list"))
    .option("--json", "print the API's records")
    .action(async ({ json }: { json?: true }, command: Command) => {
      const print = (keys: readonly KeyRecord[]) => io.out((json ? printKeyRecords : printKeys)(keys));
      const list = (repository: Keys) => print(repository.list());
      await withKeys(command, io, list, () => print([]));
    });
}

function defineRevoke(keys: Command, io: CommandIo): void {
  withConfigOption(keys.command("revoke"))
    .argument("<id or name>", "as `licmond keys list` shows it")
    .action(async (named: string, _options: unknown, command: Command) => {
      const unknown = () => {
        throw new Failure(`there is no key "${named}"; \`licmond keys list\` shows them`);
      };
      const revoke = (repository: Keys) => {
        const key = repository.find(named);
        if (key === null) return unknown();
        if (repository.revoke(key.id) === "gone") throw new Failure(`the key "${named}" was revoked before`);
        io.err(`The key ${key.id} (${key.name}) is revoked.\n`);
      };
      await withKeys(command, io, revoke, unknown);
    });
}

/**
 * Opens the keys of the configured storage directory, beside a daemon if there is one. `withoutAny` is done instead where
 * nothing is stored yet: a command that only looks makes no database.
 */
async function withKeys(
  command: Command,
  io: CommandIo,
  work: (keys: Keys) => void,
  withoutAny?: () => void,
): Promise<void> {
  const { config } = await readConfig(command, io);
  const { directory, backupBeforeUpgrade } = config.storage;
  if (withoutAny !== undefined && isEmptyStorage(directory)) return withoutAny();
  const log = warningsOn(io);
  const store = openStore({ directory, log, mode: "cli", backUpBeforeUpgrade: backupBeforeUpgrade });
  try {
    work(createKeys({ store, clock: { now: io.now } }));
  } finally {
    store.close();
  }
}

const expiry = parserOf(
  (text) => parseDuration(text) || null,
  "It takes a duration of 1s or more, e.g. 90d.",
);
const count = integer(1, Number.MAX_SAFE_INTEGER, "It takes a whole number of 1 or more.");

/** Keys for people. */
function printKeys(keys: readonly KeyRecord[]): string {
  if (keys.length === 0)
    return "There is no key yet. licmond keys create --name NAME --role admin makes one.\n";
  const rows = keys.map(({ id, name, role, anonymize, state, createdAt, expiresAt, lastUsedAt }) => {
    const [expires, used] = [expiresAt, lastUsedAt].map((at) => (at === null ? "never" : minute(at)));
    const does = anonymize ? `${role} (anonymized)` : role;
    return [id, name, does, state, minute(createdAt), expires ?? "", used ?? ""];
  });
  return printTable(["id", "name", "role", "state", "created", "expires", "last used"], rows);
}

/** Keys as the API's records. */
function printKeyRecords(keys: readonly KeyRecord[]): string {
  return `${JSON.stringify({ keys: keys.map(keyRecord) }, null, 2)}\n`;
}

/** `2026-01-31 08:15 UTC` */
function minute(at: number): string {
  return `${iso(at).slice(0, 16).replace("T", " ")} UTC`;
}
