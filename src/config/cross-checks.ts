import { type KeyPath, printPath } from "../domain/schema-problems.ts";
import { RULE, type Schema } from "../domain/text-types.ts";
import { BUILT_IN_COMMANDS } from "../managers/manager.ts";
import type { Profile } from "../managers/profile.ts";
import { MANAGERS, managerOf } from "../managers/registry.ts";
import { needsSecret } from "../managers/secrets.ts";
import { isTable, type Partly, partsOf, show } from "./check-value.ts";
import { ALERT_DEFAULTS } from "./config.ts";
import { credentialName } from "./credentials.ts";
import { handedFile, PLACEHOLDERS, placeholdersOf, program } from "./forms.ts";
import { knownManagers, ownManagers } from "./own-managers.ts";
import type { Finding, Locate } from "./problem.ts";
import { ConfigFile } from "./schema.ts";

type Partial = Partly<ConfigFile>;

/** Finds settings that do not fit together, in the valid part of the file. */
export function crossCheck(
  file: Partial,
  locate: Locate,
  hasCredential: (name: string) => boolean,
): Finding[] {
  return [
    ...unique(file, locate),
    ...together(file),
    ...signOn(file),
    ...ownManagers(file),
    ...knownManagers(file),
    ...servers(file),
    ...thresholds(file),
    ...namedServers(file),
    ...notifications(file),
    ...reports(file),
    ...executedCommands(file),
    ...fleet(file),
    ...credentials(file, hasCredential),
  ];
}

/** Yields the tables at a path below the file, each item of a list on its own. */
function* tablesAt(file: Partial, path: readonly string[]): Generator<[KeyPath, Record<string, unknown>]> {
  let at: unknown = file;
  for (const key of path) at = isTable(at) ? at[key] : undefined;
  if (isTable(at)) yield [path, at];
  if (!Array.isArray(at)) return;
  for (const [index, table] of at.entries()) if (isTable(table)) yield [[...path, index], table];
}

/** Keys whose values must differ between the tables of a list, and from built-in names. */
const UNIQUE: readonly (readonly [
  path: readonly string[],
  key: string,
  what: string,
  taken: readonly string[],
])[] = [
  [["servers"], "id", "server", []],
  [["managers"], "name", "manager", MANAGERS],
  [["products"], "name", "product", []],
  [["execute", "commands"], "name", "command", BUILT_IN_COMMANDS],
];

function* unique(file: Partial, locate: Locate): Generator<Finding> {
  for (const [list, key, what, taken] of UNIQUE) {
    const users = new Map<unknown, string>(taken.map((name) => [name, `a built-in ${what}`]));
    for (const [path, { [key]: name }] of tablesAt(file, list)) {
      const user = users.get(name);
      if (user !== undefined)
        yield {
          path: [...path, key],
          message: `must be unique: ${show(name)} is also the ${key} of ${user}`,
        };
      else if (name !== undefined) {
        const line = locate([...path, key]);
        users.set(name, `${printPath(path)}${line === null ? "" : `, line ${line}`}`);
      }
    }
  }
}

/** Pairs of settings; the first requires the second. */
const TOGETHER: readonly (readonly [path: readonly string[], given: string, needed: string])[] = [
  [["http"], "tls_cert", "tls_key"],
  [["http"], "tls_key", "tls_cert"],
  [["http"], "tls_client_ca", "tls_cert"],
  [["page"], "role_header", "user_header"],
  [["page"], "roles", "user_header"],
  [["managers"], "login", "http"],
  [["managers"], "users", "user_fields"],
  [["products"], "cost_per_seat_year", "currency"],
  [["export", "remote_write"], "username", "token_file"],
  [["fleet"], "cert_file", "cert_key_file"],
  [["fleet"], "cert_key_file", "cert_file"],
];

function* together(file: Partial): Generator<Finding> {
  for (const [section, given, needed] of TOGETHER)
    for (const [path, table] of tablesAt(file, section))
      if (table[given] !== undefined && table[needed] === undefined)
        yield { path: [...path, needed], message: `is required with ${given}` };
}

function* signOn({ http, page }: Partial): Generator<Finding> {
  if (page?.user_header !== undefined && (http?.trusted_proxies ?? []).length === 0)
    yield { path: ["page", "user_header"], message: "requires http.trusted_proxies" };
}

function* servers({ servers: list = [], managers = [] }: Partial): Generator<Finding> {
  for (const [index, server = {}] of list.entries()) {
    const { manager, address = "", tool, secret_file, log_file, log_command } = server;
    const at = (key: string, ...rest: number[]): KeyPath => ["servers", index, key, ...rest];
    const asked = manager === undefined ? undefined : managerNamed(manager, managers);
    const parsed = address === "" ? undefined : asked?.parseAddress(address);
    if (/^(?:[A-Za-z]:[\\/]|\\\\)/.test(address) && process.platform !== "win32")
      yield {
        path: at("address"),
        message: `is a Windows path, but this host does not run Windows: ${show(address)}`,
      };
    else if (parsed !== undefined && "problem" in parsed)
      yield { path: at("address"), message: parsed.problem };
    else if (secret_file === undefined && asked?.steps([""], address).some(needsSecret))
      yield { path: at("secret_file"), message: `is required for ${asked.title}` };
    for (const [key, argv] of Object.entries({ tool, log_command })) {
      const first = Array.isArray(argv) ? argv[0] : undefined;
      if (typeof first === "string" && program.read(first) === undefined)
        yield { path: at(key, 0), message: `must be ${program.takes}, not ${show(first)}` };
    }
    if (log_file !== undefined && log_command !== undefined)
      yield { path: at("log_command"), message: "conflicts with log_file: a server has only one log" };
  }
}

/** Returns undefined if the manager is missing or invalid, which is reported elsewhere. */
function managerNamed(name: string, own: NonNullable<Partial["managers"]>) {
  const usable = own.filter((profile): profile is Profile => profile !== undefined && isUsable(profile));
  const isKnown = MANAGERS.includes(name) || usable.some((profile) => profile.name === name);
  return isKnown ? managerOf(name, usable) : undefined;
}

function isUsable({ name, argv, http, login }: Partly<Profile>): boolean {
  const isAsked = argv !== undefined || http?.url !== undefined;
  return name !== undefined && isAsked && (login === undefined || login.url !== undefined);
}

function* thresholds({ alerts }: Partial): Generator<Finding> {
  const levels = [alerts, ...(alerts?.overrides ?? [])];
  for (const [index, own] of levels.entries()) {
    const warning = own?.usage_warning ?? alerts?.usage_warning ?? ALERT_DEFAULTS.usageWarning;
    const critical = own?.usage_critical ?? alerts?.usage_critical ?? ALERT_DEFAULTS.usageCritical;
    if (warning <= critical || (own?.usage_warning ?? own?.usage_critical) === undefined) continue;
    const key = own?.usage_warning === undefined ? "usage_critical" : "usage_warning";
    yield {
      path: index === 0 ? ["alerts", key] : ["alerts", "overrides", index - 1, key],
      message: `must satisfy usage_warning (${warning}) <= usage_critical (${critical})`,
    };
  }
}

/** Checks ids and labels of servers that other settings name, because a typo would match nothing. */
function* namedServers(file: Partial): Generator<Finding> {
  const { servers = [], maintenance = [], notifications = [], reports = [] } = file;
  const ids = servers.map(({ id } = {}) => id);
  for (const [section, tables] of Object.entries({ maintenance, notifications })) {
    for (const [index, table] of tables.entries()) {
      for (const [position, name] of (table?.servers ?? []).entries()) {
        if (/[*?]/.test(name) || ids.includes(name)) continue;
        const takes = "must match a server id (* matches any characters)";
        yield {
          path: [section, index, "servers", position],
          message: `${takes}; found no server ${show(name)}`,
        };
      }
    }
  }
  for (const [section, tables] of Object.entries({ notifications, reports })) {
    for (const [index, { labels = {} } = {}] of tables.entries()) {
      for (const [name, value] of Object.entries(labels)) {
        if (servers.some((server) => server?.labels?.[name] === value)) continue;
        const path = [section, index, "labels", name];
        yield { path, message: `must be a label of a server; found none with ${show(value)}` };
      }
    }
  }
}

const KEYS_OF_TYPE: Readonly<Record<string, Readonly<Record<"needs" | "takes", readonly string[]>>>> = {
  webhook: { needs: [], takes: ["url", "url_file", "secret_file", "template"] },
  email: { needs: ["smtp", "from", "to"], takes: ["username", "secret_file"] },
  command: { needs: ["argv"], takes: [] },
};
const COMMON_KEYS = "type name severity rules servers features labels anonymize group".split(" ");

function* notifications({ notifications: list = [] }: Partial): Generator<Finding> {
  for (const [index, notification = {}] of list.entries()) {
    const { needs = [], takes = [] } = KEYS_OF_TYPE[notification.type ?? ""] ?? {};
    const own = [...needs, ...takes];
    if (own.length === 0) continue;
    const finding = (key: string, message: string) => ({ path: ["notifications", index, key], message });
    const { type, url, url_file } = notification;
    if (type === "webhook" && url === undefined && url_file === undefined)
      yield finding("url", "or url_file is required for type webhook");
    if (url !== undefined && url_file !== undefined && type === "webhook")
      yield finding("url_file", "conflicts with url; set only one");
    for (const key of needs) {
      if (!Object.hasOwn(notification, key)) yield finding(key, `is required for type ${notification.type}`);
    }
    for (const key of Object.keys(notification)) {
      if (!COMMON_KEYS.includes(key) && !own.includes(key))
        yield finding(key, `does not apply to type ${notification.type}, which accepts ${own.join(", ")}`);
    }
  }
}

function* reports(file: Partial): Generator<Finding> {
  const { reports: list = [], notifications: targets = [] } = file;
  const mails = targets.flatMap(({ type, name } = {}) =>
    type === "email" && name !== undefined ? [name] : [],
  );
  for (const [index, { target } = {}] of list.entries()) {
    if (target === undefined || mails.includes(target)) continue;
    const known = mails.length === 0 ? "none found" : `one of ${mails.map(show).join(", ")}`;
    const takes = `must be the name of a notification of type email (${known})`;
    yield { path: ["reports", index, "target"], message: `${takes}, not ${show(target)}` };
  }
}

/** Finds credentials that the unit does not pass. Does not quote them, because the value may be a secret. */
function* credentials(file: Partial, hasCredential: (name: string) => boolean): Generator<Finding> {
  for (const { schema, value, path } of partsOf(ConfigFile, file)) {
    // Skip the defaults, because each server has them too.
    if ((schema as Schema)[RULE] !== handedFile || typeof value !== "string" || path[0] === "server_defaults")
      continue;
    const name = credentialName(value);
    if (name === null || hasCredential(name)) continue;
    yield {
      path,
      message:
        "names a credential that the unit does not provide: add LoadCredential=NAME:/path under [Service] in a drop-in (systemctl edit licmond) and restart",
    };
  }
}

function* executedCommands({ execute }: Partial): Generator<Finding> {
  for (const [index, { argv = [] } = {}] of (execute?.commands ?? []).entries()) {
    const path = ["execute", "commands", index, "argv"];
    const list = PLACEHOLDERS.map((each) => `{${each}}`).join(", ");
    for (const word of new Set(placeholdersOf(argv)))
      if (!PLACEHOLDERS.includes(word))
        yield { path, message: `has an unknown placeholder {${word}}; known ones are ${list}` };
    if (argv[0]?.includes("{")) yield { path, message: "must start with a fixed program, not a placeholder" };
  }
}

function* fleet({ fleet: section }: Partial): Generator<Finding> {
  if (section === undefined) return;
  const { site, people_key_file, people = "names", logs = false, formerly } = section;
  const at = (key: string): KeyPath => ["fleet", key];
  if (logs && people !== "names")
    yield {
      path: at("logs"),
      message: `conflicts with people = ${show(people)}: log lines may contain user names`,
    };
  if (people_key_file !== undefined && people !== "pseudonyms")
    yield {
      path: at("people_key_file"),
      message: `applies only to people = "pseudonyms", not ${show(people)}`,
    };
  if (formerly !== undefined && formerly === site)
    yield { path: at("formerly"), message: "must be the previous name of the site, not the current one" };
}
