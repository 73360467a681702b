import { parseUnit, type UnitSettings } from "./unit-file.ts";

/** What of a unit decides about the files that the service can reach (systemd.exec(5)). */
export interface Confinement {
  readonly user: string;
  /** Null = the user's own. */
  readonly group: string | null;
  readonly supplementaryGroups: readonly string[];
  readonly dynamicUser: boolean;
  readonly protectHome: "no" | "yes" | "read-only" | "tmpfs";
  readonly protectSystem: "no" | "yes" | "full" | "strict";
  readonly privateTmp: boolean;
  readonly privateDevices: boolean;
  readonly privateNetwork: boolean;
  /** Paths; without the `-` and `+` in front. */
  readonly inaccessible: readonly string[];
  readonly readOnly: readonly string[];
  /** ReadWritePaths= and the directories that systemd makes for the service. */
  readonly writable: readonly string[];
  readonly emptied: readonly string[];
  readonly binds: readonly string[];
  readonly noExec: readonly string[];
  readonly exec: readonly string[];
  /** Empty = all. */
  readonly architectures: readonly string[];
  readonly noNewPrivileges: boolean;
  readonly mayBindLowPorts: boolean;
  readonly deniesAllAddresses: boolean;
  readonly memoryDenyWriteExecute: boolean;
  readonly procSubset: string | null;
  /** Source: a path, or null where the secret stands in the unit or comes from elsewhere. */
  readonly credentials: readonly { readonly name: string; readonly source: string | null }[];
  /** Names with `*`: ImportCredential=. */
  readonly importedCredentials: readonly string[];
  /** $PATH of the service. */
  readonly path: string;
  /** The config that it reads; null = the default one. */
  readonly configFile: string | null;
  /** Settings that Environment= gives the service alone: `LICMOND_HTTP_PORT`, in the order of their names. */
  readonly variables: readonly { readonly name: string; readonly value: string }[];
}

/** systemd's own, where the unit sets none. */
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const CONFIG_VARIABLE = "LICMOND_CONFIG";

/** `text`: as `systemctl cat` prints it. */
export function confinementOf(text: string): Confinement {
  const unit = parseUnit(text);
  const dynamicUser = unit.isOn("DynamicUser");
  return {
    user: unit.last("User") ?? (dynamicUser ? "licmond" : "root"),
    group: unit.last("Group"),
    supplementaryGroups: unit.words("SupplementaryGroups"),
    dynamicUser,
    protectHome: choice(unit, "ProtectHome", ["read-only", "tmpfs"], dynamicUser ? "read-only" : "no"),
    protectSystem: choice(unit, "ProtectSystem", ["full", "strict"], dynamicUser ? "strict" : "no"),
    privateTmp: dynamicUser || unit.isOn("PrivateTmp") || unit.last("PrivateTmp") === "disconnected",
    privateDevices: unit.isOn("PrivateDevices"),
    privateNetwork: unit.isOn("PrivateNetwork"),
    inaccessible: paths(unit, "InaccessiblePaths"),
    readOnly: paths(unit, "ReadOnlyPaths"),
    writable: [...paths(unit, "ReadWritePaths"), ...ownDirectories(unit)],
    emptied: paths(unit, "TemporaryFileSystem").map(beforeColon),
    binds: [...paths(unit, "BindPaths"), ...paths(unit, "BindReadOnlyPaths")].map(bindTarget),
    noExec: paths(unit, "NoExecPaths"),
    exec: paths(unit, "ExecPaths"),
    architectures: unit.words("SystemCallArchitectures"),
    noNewPrivileges: unit.isOn("NoNewPrivileges"),
    mayBindLowPorts:
      (unit.last("User") ?? "root") === "root" ||
      unit.words("AmbientCapabilities").some((name) => name.toUpperCase() === "CAP_NET_BIND_SERVICE"),
    deniesAllAddresses:
      unit.words("IPAddressDeny").some((each) => each === "any") && unit.words("IPAddressAllow").length === 0,
    memoryDenyWriteExecute: unit.isOn("MemoryDenyWriteExecute"),
    procSubset: unit.last("ProcSubset"),
    credentials: [
      "LoadCredential",
      "LoadCredentialEncrypted",
      "SetCredential",
      "SetCredentialEncrypted",
    ].flatMap((key) =>
      unit.words(key).map((word) => ({
        name: beforeColon(word),
        source: key.startsWith("Load") ? sourceOf(word) : null,
      })),
    ),
    importedCredentials: unit.words("ImportCredential").map(beforeColon),
    path: environmentOf(unit, "PATH") ?? DEFAULT_PATH,
    configFile: environmentOf(unit, CONFIG_VARIABLE) ?? configArgument(unit),
    variables: variablesOf(unit),
  };
}

function choice<Word extends string>(
  unit: UnitSettings,
  key: string,
  words: readonly Word[],
  unset: Word | "no",
): Word | "yes" | "no" {
  const value = unit.last(key);
  if (value === null) return unset;
  return words.find((word) => word === value) ?? (unit.isOn(key) ? "yes" : "no");
}

function paths(unit: UnitSettings, key: string): string[] {
  return unit.words(key).map((word) => word.replace(/^[-+]+/, "").replace(/(?<=.)\/+$/, ""));
}

function ownDirectories(unit: UnitSettings): string[] {
  const kinds = [
    ["StateDirectory", "/var/lib"],
    ["CacheDirectory", "/var/cache"],
    ["LogsDirectory", "/var/log"],
    ["RuntimeDirectory", "/run"],
  ] as const;
  return kinds.flatMap(([key, above]) => unit.words(key).map((name) => `${above}/${beforeColon(name)}`));
}

function beforeColon(word: string): string {
  return word.split(":", 1)[0] ?? word;
}

/** `source:target:options`, or only one path for both. */
function bindTarget(word: string): string {
  const [source = "", target] = word.split(":");
  return target === undefined || target === "" ? source : target;
}

function sourceOf(word: string): string | null {
  const source = word.slice(beforeColon(word).length + 1);
  return source.startsWith("/") ? source : null;
}

/** The last of each name counts. */
function variablesOf(unit: UnitSettings): { name: string; value: string }[] {
  const names = unit.words("Environment").flatMap((word) => /^(LICMOND_[A-Z_]+)=/.exec(word)?.[1] ?? []);
  return [...new Set(names)]
    .filter((name) => name !== CONFIG_VARIABLE)
    .sort()
    .map((name) => ({ name, value: environmentOf(unit, name) ?? "" }));
}

function environmentOf(unit: UnitSettings, name: string): string | null {
  const assignment = unit.words("Environment").findLast((word) => word.startsWith(`${name}=`));
  return assignment === undefined ? null : assignment.slice(name.length + 1);
}

function configArgument(unit: UnitSettings): string | null {
  const words = unit.words("ExecStart");
  const joined = words.findLast((word) => word.startsWith("--config="));
  if (joined !== undefined) return joined.slice("--config=".length);
  const at = words.lastIndexOf("--config");
  return at < 0 ? null : (words[at + 1] ?? null);
}
