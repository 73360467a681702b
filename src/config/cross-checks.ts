import type { KeyPath } from "../domain/schema-problems.ts";
import { BUILT_IN_COMMANDS } from "../managers/manager.ts";
import { managerOf } from "../managers/registry.ts";
import { type Partly, show } from "./check-value.ts";
import { credentialName } from "./credentials.ts";
import { isPattern } from "./glob.ts";
import type { Locate } from "./locate.ts";
import type { Finding } from "./problem.ts";
import type { ConfigFile } from "./schema.ts";

type Partial = Partly<ConfigFile>;

/** What no single value tells: each looks at what is right of the file, so that its findings stand beside the others. */
export function crossCheck(
  file: Partial,
  locate: Locate,
  hasCredential: (name: string) => boolean,
): Finding[] {
  return [
    ...tls(file),
    ...uniqueIds(file, locate),
    ...addresses(file),
    ...tools(file),
    ...thresholds(file),
    ...maintainedServers(file),
    ...notifications(file),
    ...executedCommands(file),
    ...remoteWrite(file),
    ...credentials(file, hasCredential),
  ];
}

function tls({ http }: Partial): Finding[] {
  if (http === undefined || (http.tls_cert === undefined) === (http.tls_key === undefined)) return [];
  const [missing, given] = http.tls_cert === undefined ? ["tls_cert", "tls_key"] : ["tls_key", "tls_cert"];
  return [{ path: ["http", missing], message: `is missing: it goes with ${given}` }];
}

function uniqueIds({ servers = [] }: Partial, locate: Locate): Finding[] {
  const first = new Map<string, number>();
  return servers.flatMap(({ id } = {}, index) => {
    if (id === undefined) return [];
    const other = first.get(id);
    if (other === undefined) {
      first.set(id, index);
      return [];
    }
    const line = locate(["servers", other, "id"]);
    const where = line === null ? `servers[${other}]` : `servers[${other}], line ${line}`;
    return [
      { path: ["servers", index, "id"], message: `takes an id of its own: ${show(id)} is that of ${where}` },
    ];
  });
}

function addresses({ servers = [] }: Partial): Finding[] {
  return servers.flatMap(({ manager, address } = {}, index) => {
    if (manager === undefined || address === undefined) return [];
    const parsed = managerOf(manager).parseAddress(address);
    return "problem" in parsed ? [{ path: ["servers", index, "address"], message: parsed.problem }] : [];
  });
}

/** The form of a tool's list of arguments is that of its program. */
function tools({ servers = [] }: Partial): Finding[] {
  return servers.flatMap(({ tool } = {}, index) => {
    const [program] = Array.isArray(tool) ? tool : [];
    if (typeof program !== "string" || program.startsWith("/") || !program.includes("/")) return [];
    return [
      {
        path: ["servers", index, "tool", 0],
        message: `takes an absolute path, or a bare name that is looked for in $PATH, not ${show(program)}`,
      },
    ];
  });
}

function thresholds({ alerts }: Partial): Finding[] {
  const check = (own: typeof alerts, path: KeyPath): Finding[] => {
    const warning = own?.usage_warning ?? alerts?.usage_warning ?? 80;
    const critical = own?.usage_critical ?? alerts?.usage_critical ?? 95;
    if (warning <= critical || (own?.usage_warning ?? own?.usage_critical) === undefined) return [];
    const key = own?.usage_warning === undefined ? "usage_critical" : "usage_warning";
    return [
      {
        path: [...path, key],
        message: `takes usage_warning (${warning}) up to usage_critical (${critical})`,
      },
    ];
  };
  const base = check(alerts, ["alerts"]);
  const overrides = (alerts?.overrides ?? []).flatMap((own, index) =>
    check(own, ["alerts", "overrides", index]),
  );
  return [...base, ...overrides];
}

function maintainedServers({ servers = [], maintenance = [] }: Partial): Finding[] {
  const ids = servers.flatMap(({ id } = {}) => (id === undefined ? [] : [id]));
  return maintenance.flatMap((window, index) =>
    (window?.servers ?? []).flatMap((name, position) =>
      isPattern(name) || ids.includes(name)
        ? []
        : [
            {
              path: ["maintenance", index, "servers", position],
              message: `takes ids of servers, in which * stands for any characters; no server is ${show(name)}`,
            },
          ],
    ),
  );
}

/** Which keys a type of notification needs, and which go with it. */
const KEYS_OF_TYPE = {
  webhook: { needs: ["url"], takes: ["secret_file", "template"] },
  email: { needs: ["smtp", "from", "to"], takes: ["username", "secret_file"] },
  command: { needs: ["argv"], takes: [] },
} as const;
const COMMON_KEYS: readonly string[] = ["type", "severity", "rules"];

function notifications({ notifications: list = [] }: Partial): Finding[] {
  return list.flatMap((notification = {}, index) => {
    const { type } = notification;
    if (type === undefined) return [];
    const needs: readonly string[] = KEYS_OF_TYPE[type].needs;
    const takes: readonly string[] = KEYS_OF_TYPE[type].takes;
    const all = [...COMMON_KEYS, ...needs, ...takes];
    const missing = needs
      .filter((key) => !Object.hasOwn(notification, key))
      .map((key) => ({ path: ["notifications", index, key], message: `is missing: type ${type} needs it` }));
    const strange = Object.keys(notification)
      .filter((key) => !all.includes(key))
      .map((key) => ({
        path: ["notifications", index, key],
        message: `does not go with type ${type}, which takes ${[...needs, ...takes].join(", ")}`,
      }));
    return [...missing, ...strange];
  });
}

/** Files that the unit should hand over, and does not. Their names are not said: where one stands, a secret may too. */
function credentials(
  { http, notifications: list = [], export: exported }: Partial,
  hasCredential: (name: string) => boolean,
): Finding[] {
  const named: [KeyPath, string | undefined][] = [
    [["http", "tls_cert"], http?.tls_cert],
    [["http", "tls_key"], http?.tls_key],
    ...list.map((each, index): [KeyPath, string | undefined] => [
      ["notifications", index, "secret_file"],
      each?.secret_file,
    ]),
    [["export", "remote_write", "token_file"], exported?.remote_write?.token_file],
  ];
  return named.flatMap(([path, text]) => {
    const name = text === undefined ? null : credentialName(text);
    if (name === null || hasCredential(name)) return [];
    return [
      {
        path,
        message:
          "names a credential that the unit does not hand over: LoadCredential=NAME:/path under [Service] in a drop-in (systemctl edit licmond) does, from the next restart on",
      },
    ];
  });
}

/** What an argv template may leave to the request or the server. */
export const ARGV_PLACEHOLDERS = [
  "address",
  "server",
  "feature",
  "user",
  "host",
  "display",
  "handle",
] as const;

function executedCommands({ execute }: Partial): Finding[] {
  const seen = new Set<string>(BUILT_IN_COMMANDS);
  return (execute?.commands ?? []).flatMap(({ name, argv = [] } = {}, index) => {
    const found: Finding[] = [];
    const at = (key: string): KeyPath => ["execute", "commands", index, key];
    if (name !== undefined && seen.has(name)) {
      const whose = BUILT_IN_COMMANDS.some((each) => each === name) ? "built in" : "of an earlier command";
      found.push({ path: at("name"), message: `takes a name of its own: ${show(name)} is ${whose}` });
    }
    if (name !== undefined) seen.add(name);
    const known: readonly string[] = ARGV_PLACEHOLDERS;
    const strange = argv.flatMap((argument) =>
      [...argument.matchAll(/\{([a-z_]+)\}/g)].flatMap(([, word = ""]) =>
        known.includes(word) ? [] : [word],
      ),
    );
    for (const word of new Set(strange)) {
      const list = known.map((each) => `{${each}}`).join(", ");
      found.push({ path: at("argv"), message: `has the placeholder {${word}}; there are ${list}` });
    }
    if (argv[0]?.includes("{"))
      found.push({ path: at("argv"), message: "takes a fixed program, no placeholder, first" });
    return found;
  });
}

function remoteWrite({ export: section }: Partial): Finding[] {
  const { url, username, token_file } = section?.remote_write ?? {};
  const found: Finding[] = [];
  const at = (key: string): KeyPath => ["export", "remote_write", key];
  if (url !== undefined && (new URL(url).username !== "" || new URL(url).password !== ""))
    found.push({
      path: at("url"),
      message: "takes a URL without credentials: username and token_file are for these",
    });
  if (username !== undefined && token_file === undefined)
    found.push({ path: at("token_file"), message: "is missing: username goes with it" });
  return found;
}
