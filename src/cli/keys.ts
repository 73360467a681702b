import { type Command, InvalidArgumentError, Option } from "commander";
import { parseDuration } from "../domain/duration.ts";
import type { KeyRecord, NewKey } from "../domain/keys.ts";
import { ROLES, type Role } from "../domain/words.ts";
import type { Keys } from "../store/keys.ts";
import { readConfig, withConfigOption } from "./config-option.ts";
import { type CommandIo, EXIT_USAGE, fail } from "./io.ts";

interface CreateOptions {
  readonly name: string;
  readonly role: Role;
  /** ms */
  readonly expires?: number;
  readonly dailyQuota?: number;
  readonly monthlyQuota?: number;
  readonly requestsPerMinute?: number;
  readonly anonymize?: true;
}

/** `licmond keys …`: API keys, also while the daemon runs. */
export function registerKeys(program: Command, io: CommandIo): void {
  const keys = withConfigOption(program.command("keys")).description(
    "Makes, lists and revokes API keys, also while the daemon runs.",
  );
  registerCreate(keys, io);
  registerList(keys, io);
  registerRevoke(keys, io);
}

function registerCreate(keys: Command, io: CommandIo): void {
  withConfigOption(keys.command("create"))
    .description("Makes a key and prints it, alone, on stdout. It is shown this once.")
    .requiredOption("--name <name>", "what it is for; no other active key may have the name")
    .addOption(new Option("--role <role>", "what it may do").choices(ROLES).makeOptionMandatory())
    .option("--expires <duration>", "when it ends, e.g. 90d (default: never)", expiry)
    .option("--daily-quota <requests>", "requests a day", count)
    .option("--monthly-quota <requests>", "requests a month", count)
    .option("--requests-per-minute <requests>", "instead of the config's limit", count)
    .option("--anonymize", "users and hosts are pseudonyms (role viewer only)")
    .addHelpText(
      "after",
      `
Roles: viewer reads, operator also rescans and acknowledges, admin does everything, calendar reads the expiry calendar.

Examples:
  licmond keys create --name wall --role viewer
  licmond keys create --name ci --role operator --expires 90d > /etc/ci/licmond.key`,
    )
    .action(async (options: CreateOptions, command: Command) => {
      const wanted: NewKey = {
        name: options.name,
        role: options.role,
        expiresAt: options.expires === undefined ? null : io.now() + options.expires,
        anonymize: options.anonymize ?? false,
        dailyQuota: options.dailyQuota ?? null,
        monthlyQuota: options.monthlyQuota ?? null,
        requestsPerMinute: options.requestsPerMinute ?? null,
      };
      const { keyProblem } = await import("../domain/keys.ts");
      const problem = keyProblem(wanted, io.now());
      if (problem !== null) return command.error(`error: ${problem.message}`, { exitCode: EXIT_USAGE });
      await withKeys(command, io, (repository) => {
        const made = repository.create(wanted);
        if (made.outcome === "created") return io.out(`${made.presented}\n`);
        fail(io, `an active key has the name "${wanted.name}"; revoke it first, or choose another name`);
      });
    });
}

function registerList(keys: Command, io: CommandIo): void {
  withConfigOption(keys.command("list"))
    .description("Lists all keys, revoked ones too. The keys themselves are stored nowhere.")
    .option("--json", "print the API's records")
    .addHelpText("after", "\nExample:\n  licmond keys list")
    .action(async ({ json }: { json?: true }, command: Command) => {
      const { printKeys, printKeyRecords } = await import("./keys-output.ts");
      const tell = (keys: readonly KeyRecord[]) => io.out((json ? printKeyRecords : printKeys)(keys));
      await withKeys(
        command,
        io,
        (repository) => tell(repository.list()),
        () => tell([]),
      );
    });
}

function registerRevoke(keys: Command, io: CommandIo): void {
  withConfigOption(keys.command("revoke"))
    .description("Ends a key for good. A running daemon refuses it at once.")
    .argument("<id or name>", "as `licmond keys list` shows it")
    .addHelpText("after", "\nExample:\n  licmond keys revoke wall")
    .action(async (named: string, _options: unknown, command: Command) => {
      const unknown = () => fail(io, `there is no key "${named}"; \`licmond keys list\` shows them`);
      const revoke = (repository: Keys) => {
        const key = repository.find(named);
        if (key === null) return unknown();
        if (repository.revoke(key.id) === "gone") return fail(io, `the key "${named}" was revoked before`);
        io.err(`The key ${key.id} (${key.name}) is revoked.\n`);
      };
      await withKeys(command, io, revoke, unknown);
    });
}

/**
 * Opens the keys of the configured storage directory, beside a daemon if there is one. `withoutAny` is done instead where
 * nothing is stored yet: who only looks makes no database.
 */
async function withKeys(
  command: Command,
  io: CommandIo,
  work: (keys: Keys) => void,
  withoutAny?: () => void,
): Promise<void> {
  const found = await readConfig(command, io);
  if (found === null) return;
  const { isEmptyStorage } = await import("../store/inspect.ts");
  if (withoutAny !== undefined && isEmptyStorage(found.config.storage.directory)) return withoutAny();
  const { openStore } = await import("../store/open.ts");
  const { createKeys } = await import("../store/keys.ts");
  const { StoreError } = await import("../store/store-error.ts");
  const tell = (message: string) => io.err(`licmond: ${message}\n`);
  const log = { debug() {}, info() {}, warn: tell, error: tell };
  try {
    const { directory, backupBeforeUpgrade } = found.config.storage;
    const store = openStore({ directory, log, mode: "cli", backUpBeforeUpgrade: backupBeforeUpgrade });
    try {
      work(createKeys({ store, clock: { now: io.now } }));
    } finally {
      store.close();
    }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    fail(io, `${error.message}. ${error.fix}`);
  }
}

function expiry(text: string): number {
  const ms = parseDuration(text);
  if (ms !== null && ms > 0) return ms;
  throw new InvalidArgumentError("It takes a duration of 1s or more, e.g. 90d.");
}

function count(text: string): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (value >= 1) return value;
  throw new InvalidArgumentError("It takes a whole number of 1 or more.");
}
