import type { KeyPath } from "../domain/schema-problems.ts";
import { BUILT_IN_COMMANDS } from "../managers/manager.ts";
import { needsSecret } from "../managers/placeholders.ts";
import type { Profile } from "../managers/profile.ts";
import { MANAGERS, managerOf } from "../managers/registry.ts";
import { type Partly, show } from "./check-value.ts";
import { ALERT_DEFAULTS } from "./config.ts";
import { credentialName } from "./credentials.ts";
import { PLACEHOLDERS, placeholdersOf } from "./forms.ts";
import { knownManagers, ownManagers } from "./own-managers.ts";
import type { Finding, Locate } from "./problem.ts";
import type { ConfigFile } from "./schema.ts";

type Partial = Partly<ConfigFile>;

/** Finds settings that do not fit together, in the valid part of the file. */
export function crossCheck(
  file: Partial,
  locate: Locate,
  hasCredential: (name: string) => boolean,
): Finding[] {
  return [
    ...tls(file),
    ...signOn(file),
    ...ownManagers(file),
    ...knownManagers(file),
    ...servers(file, locate),
    ...thresholds(file),
    ...namedServers(file),
    ...notifications(file),
    ...products(file),
    ...reports(file),
    ...executedCommands(file),
    ...remoteWrite(file),
    ...fleet(file),
    ...credentials(file, hasCredential),
  ];
}

function* tls({ http }: Partial): Generator<Finding> {
  if (http === undefined) return;
  if (http.tls_client_ca !== undefined && http.tls_cert === undefined)
    yield { path: ["http", "tls_client_ca"], message: "requires tls_cert and tls_key" };
  if ((http.tls_cert === undefined) === (http.tls_key === undefined)) return;
  const [missing, given] = http.tls_cert === undefined ? ["tls_cert", "tls_key"] : ["tls_key", "tls_cert"];
  yield { path: ["http", missing], message: `is required with ${given}` };
}

function* signOn({ http, page }: Partial): Generator<Finding> {
  if (page === undefined) return;
  const { user_header: user, role_header, roles } = page;
  if (user !== undefined && (http?.trusted_proxies ?? []).length === 0)
    yield { path: ["page", "user_header"], message: "requires http.trusted_proxies" };
  for (const [key, value] of Object.entries({ role_header, roles }))
    if (value !== undefined && user === undefined)
      yield { path: ["page", key], message: "requires user_header" };
}

function* servers({ servers: list = [], managers = [] }: Partial, locate: Locate): Generator<Finding> {
  const first = new Map<string, number>();
  for (const [
    index,
    { id, manager, address, tool, secret_file, log_file, log_command } = {},
  ] of list.entries()) {
    const at = (key: string, ...rest: number[]): KeyPath => ["servers", index, key, ...rest];
    const other = id === undefined ? undefined : first.get(id);
    if (other !== undefined) {
      const line = locate(["servers", other, "id"]);
      const where = line === null ? `servers[${other}]` : `servers[${other}], line ${line}`;
      yield { path: at("id"), message: `must be unique: ${show(id)} is also the id of ${where}` };
    } else if (id !== undefined) first.set(id, index);
    const asked = manager === undefined ? undefined : managerNamed(manager, managers);
    const parsed = address === undefined ? undefined : asked?.parseAddress(address);
    const isWindowsPath = /^(?:[A-Za-z]:[\\/]|\\\\)/.test(address ?? "");
    if (isWindowsPath && process.platform !== "win32")
      yield {
        path: at("address"),
        message: `is a Windows path, but this host does not run Windows: ${show(address)}`,
      };
    else if (parsed !== undefined && "problem" in parsed)
      yield { path: at("address"), message: parsed.problem };
    else if (secret_file === undefined && asked?.steps([""], address ?? "").some(needsSecret))
      yield { path: at("secret_file"), message: `is required for ${asked.title}` };
    // In an argv list, the path rule applies to the program.
    for (const [key, argv] of Object.entries({ tool, log_command })) {
      const program = Array.isArray(argv) ? argv[0] : undefined;
      if (typeof program !== "string" || program.startsWith("/") || !program.includes("/")) continue;
      const takes = "must be an absolute path, or a name to look up in $PATH";
      yield { path: at(key, 0), message: `${takes}, not ${show(program)}` };
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

/** Checks names and labels of servers in other settings: a typo would match nothing. */
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

function* products({ products: list = [] }: Partial): Generator<Finding> {
  const seen = new Set<string>();
  for (const [index, { name, cost_per_seat_year: cost, currency } = {}] of list.entries()) {
    const finding = (key: string, message: string) => ({ path: ["products", index, key], message });
    if (name !== undefined && seen.has(name))
      yield finding("name", `must be unique: ${show(name)} is also the name of an earlier product`);
    if (name !== undefined) seen.add(name);
    if (cost !== undefined && currency === undefined)
      yield finding("currency", "is required with cost_per_seat_year");
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
function* credentials(
  { http, servers: monitored = [], notifications: list = [], export: exported, fleet: site, hub }: Partial,
  hasCredential: (name: string) => boolean,
): Generator<Finding> {
  const named: [KeyPath, string | undefined][] = [
    [["http", "tls_cert"], http?.tls_cert],
    [["http", "tls_key"], http?.tls_key],
    [["http", "tls_client_ca"], http?.tls_client_ca],
    ...monitored.flatMap((each, index): [KeyPath, string | undefined][] => [
      [["servers", index, "secret_file"], each?.secret_file],
      [["servers", index, "ca_file"], each?.ca_file],
    ]),
    ...list.flatMap((each, index): [KeyPath, string | undefined][] => [
      [["notifications", index, "secret_file"], each?.secret_file],
      [["notifications", index, "url_file"], each?.url_file],
    ]),
    [["export", "remote_write", "token_file"], exported?.remote_write?.token_file],
    ...(["api_key_file", "ca_file", "cert_file", "cert_key_file", "people_key_file"] as const).map(
      (key): [KeyPath, string | undefined] => [["fleet", key], site?.[key]],
    ),
    [["hub", "database_password_file"], hub?.database_password_file],
  ];
  for (const [path, text] of named) {
    const name = text === undefined ? null : credentialName(text);
    if (name === null || hasCredential(name)) continue;
    yield {
      path,
      message:
        "names a credential that the unit does not provide: add LoadCredential=NAME:/path under [Service] in a drop-in (systemctl edit licmond) and restart",
    };
  }
}

function* executedCommands({ execute }: Partial): Generator<Finding> {
  const seen = new Set<string>(BUILT_IN_COMMANDS);
  for (const [index, { name, argv = [] } = {}] of (execute?.commands ?? []).entries()) {
    const at = (key: string): KeyPath => ["execute", "commands", index, key];
    if (name !== undefined && seen.has(name)) {
      const whose = BUILT_IN_COMMANDS.some((each) => each === name)
        ? "a built-in command"
        : "an earlier command";
      yield { path: at("name"), message: `must be unique: ${show(name)} is also the name of ${whose}` };
    }
    if (name !== undefined) seen.add(name);
    const list = PLACEHOLDERS.map((each) => `{${each}}`).join(", ");
    for (const word of new Set(placeholdersOf(argv))) {
      if (!PLACEHOLDERS.includes(word))
        yield { path: at("argv"), message: `has an unknown placeholder {${word}}; known ones are ${list}` };
    }
    if (argv[0]?.includes("{"))
      yield { path: at("argv"), message: "must start with a fixed program, not a placeholder" };
  }
}

function* remoteWrite({ export: section }: Partial): Generator<Finding> {
  const { url, username, token_file } = section?.remote_write ?? {};
  const at = (key: string): KeyPath => ["export", "remote_write", key];
  if (url !== undefined && (new URL(url).username !== "" || new URL(url).password !== "")) {
    const message = "must be a URL without credentials; use username and token_file";
    yield { path: at("url"), message };
  }
  if (username !== undefined && token_file === undefined)
    yield { path: at("token_file"), message: "is required with username" };
}

function* fleet({ fleet: section }: Partial): Generator<Finding> {
  if (section === undefined) return;
  const {
    site,
    url,
    cert_file,
    cert_key_file,
    people_key_file,
    people = "names",
    logs = false,
    formerly,
  } = section;
  const at = (key: string): KeyPath => ["fleet", key];
  if (url !== undefined && (new URL(url).username !== "" || new URL(url).password !== ""))
    yield { path: at("url"), message: "must be a URL without credentials; use api_key_file" };
  if ((cert_file === undefined) !== (cert_key_file === undefined)) {
    const [missing, given] =
      cert_file === undefined ? ["cert_file", "cert_key_file"] : ["cert_key_file", "cert_file"];
    yield { path: at(missing), message: `is required with ${given}` };
  }
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
