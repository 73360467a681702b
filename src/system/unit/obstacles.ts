import type { Confinement } from "./confinement.ts";

/** A file that the service needs. */
export interface Need {
  /** Who needs it, as reports name it: `eda: tool`. */
  readonly what: string;
  readonly path: string;
  /** The same with every link followed; null when it cannot be told, or nothing is there. */
  readonly realPath: string | null;
  readonly access: "read" | "run" | "write";
  /** The path may be said in a report: that of a secret may not. */
  readonly mayShow: boolean;
  /** Name under which the unit may hand it over instead (LoadCredential=); absent where the config takes no credential. */
  readonly credential?: string;
  /** Of a program: it belongs to the 32-bit ABI of x86. */
  readonly is32Bit?: boolean;
  /** Of a program: its mode asks for the rights of its owner or group (set-user-ID, set-group-ID). */
  readonly setsId?: boolean;
  /** Of a program: it is there to run another one, as `sudo` and `env` are. */
  readonly runsAnother?: boolean;
}

/** A line of the unit that stands between the service and a file. */
export interface Obstacle {
  readonly need: Need;
  /** One sentence without its full stop. */
  readonly message: string;
  /** Lines of a drop-in that take it out of the way; empty when only another place helps, which the message says. */
  readonly dropIn: readonly string[];
  /** What helps instead; absent where the drop-in or the message says it all. */
  readonly fix?: string;
  /** It may work nevertheless. */
  readonly isBearable?: boolean;
}

/** Which directives are in the way of which needs: the first of each, as the next shows itself when it is gone. */
export function obstaclesOf(unit: Confinement, needs: readonly Need[]): Obstacle[] {
  return needs.flatMap((need) => {
    const found = hidden(unit, need) ?? notWritable(unit, need) ?? notRun(unit, need);
    return found === null ? [] : [{ need, ...found }];
  });
}

type Found = Omit<Obstacle, "need">;

/** Files below these need no read-only file system to be shown: they are the service's own. */
const HOMES = ["/home", "/root", "/run/user"];
const TEMPORARY = ["/tmp", "/var/tmp"];
/** What PrivateDevices= leaves of /dev. */
const PSEUDO_DEVICES =
  /^\/dev\/(null|zero|full|random|urandom|tty|ptmx|stdin|stdout|stderr|(pts|shm|mqueue|fd|hugepages)(\/.*)?|log)$/;

function hidden(unit: Confinement, need: Need): Found | null {
  for (const path of placesOf(need)) {
    const bound = isBelowAny(path, unit.binds) !== null;
    const inaccessible = isBelowAny(path, unit.inaccessible);
    const says = (directive: string, place: string, dropIn: readonly string[]): Found => ({
      message: `${shown(need, path)} lies under ${place}, which ${directive} hides from the service`,
      dropIn,
    });
    if (inaccessible !== null)
      return says(`InaccessiblePaths=${inaccessible}`, inaccessible, [
        "InaccessiblePaths=",
        ...unit.inaccessible
          .filter((each) => each !== inaccessible)
          .map((each) => `InaccessiblePaths=${each}`),
      ]);
    const home = isBelowAny(path, HOMES);
    // Nothing can be bound into a place that is inaccessible; into one that is emptied, it can.
    if (home !== null && (unit.protectHome === "yes" || (unit.protectHome === "tmpfs" && !bound)))
      return says(
        `ProtectHome=${unit.protectHome}`,
        home,
        unit.protectHome === "tmpfs"
          ? [bindLine(need, path)]
          : ["ProtectHome=read-only", ...(need.access === "write" ? [`ReadWritePaths=${path}`] : [])],
      );
    if (bound) continue;
    const emptied = isBelowAny(path, unit.emptied);
    if (emptied !== null) return says(`TemporaryFileSystem=${emptied}`, emptied, [bindLine(need, path)]);
    const temporary = isBelowAny(path, TEMPORARY);
    if (temporary !== null && unit.privateTmp)
      return {
        message: `${shown(need, path)} lies under ${temporary}, of which the service has one of its own (PrivateTmp=yes)`,
        // Of a directory, so that a log that is replaced stays in sight.
        dropIn: [need.access === "run" ? bindLine(need, path) : "PrivateTmp=no"],
      };
    if (path.startsWith("/dev/") && unit.privateDevices && !PSEUDO_DEVICES.test(path))
      return {
        message: `${shown(need, path)} is a device, which PrivateDevices=yes hides from the service`,
        dropIn: ["PrivateDevices=no", `DeviceAllow=${path}`],
      };
  }
  return null;
}

function notWritable(unit: Confinement, need: Need): Found | null {
  if (need.access !== "write") return null;
  for (const path of placesOf(need)) {
    const readOnly = readOnlyBy(unit, path);
    if (readOnly === null) continue;
    const named = unit.readOnly.filter((each) => readOnly === `ReadOnlyPaths=${each}`);
    const others = unit.readOnly.filter((each) => !named.includes(each));
    return {
      message: `${shown(need, path)} cannot be written by the service: ${readOnly} makes it read-only`,
      // ReadWritePaths= beside it would not help: of two lines for one place the stricter holds.
      dropIn:
        named.length > 0
          ? ["ReadOnlyPaths=", ...others.map((each) => `ReadOnlyPaths=${each}`)]
          : [`ReadWritePaths=${path}`],
    };
  }
  return null;
}

/** The directive that makes a place read-only; null when it can be written. The longest path that names it decides, of two alike the stricter. */
function readOnlyBy(unit: Confinement, path: string): string | null {
  const writable = isBelowAny(path, unit.writable);
  const named = isBelowAny(path, unit.readOnly);
  if (named !== null && named.length >= (writable?.length ?? 0)) return `ReadOnlyPaths=${named}`;
  if (writable !== null) return null;
  if (unit.protectHome === "read-only" && isBelowAny(path, HOMES) !== null) return "ProtectHome=read-only";
  switch (unit.protectSystem) {
    case "strict":
      return isBelowAny(path, ["/dev", "/proc", "/sys"]) === null ? "ProtectSystem=strict" : null;
    case "full":
      return isBelowAny(path, ["/usr", "/boot", "/efi", "/etc"]) === null ? null : "ProtectSystem=full";
    case "yes":
      return isBelowAny(path, ["/usr", "/boot", "/efi"]) === null ? null : "ProtectSystem=yes";
    case "no":
      return null;
  }
}

function notRun(unit: Confinement, need: Need): Found | null {
  if (need.access !== "run") return null;
  for (const path of placesOf(need)) {
    const forbidden = isBelowAny(path, unit.noExec);
    const allowed = isBelowAny(path, unit.exec);
    if (forbidden !== null && (allowed?.length ?? -1) < forbidden.length)
      return {
        message: `${shown(need, path)} cannot be run by the service: NoExecPaths=${forbidden} forbids it`,
        dropIn: [`ExecPaths=${path}`],
      };
  }
  if (need.setsId === true && unit.noNewPrivileges)
    return {
      message: `${shown(need, need.path)} is a set-user-ID or set-group-ID program, to which NoNewPrivileges=yes gives no more rights than the service has`,
      dropIn: [],
      fix:
        need.runsAnother === true
          ? `name the program that it runs alone, and give what that reads to ${unit.user}`
          : `give what it reads to ${unit.user}`,
      isBearable: need.runsAnother !== true,
    };
  const { architectures } = unit;
  if (need.is32Bit !== true || architectures.length === 0 || architectures.includes("x86")) return null;
  return {
    message: `${shown(need, need.path)} is a 32-bit program, and SystemCallArchitectures=${architectures.join(" ")} kills those`,
    dropIn: [`SystemCallArchitectures=x86`],
  };
}

function placesOf({ path, realPath }: Need): string[] {
  return realPath === null || realPath === path ? [path] : [path, realPath];
}

/** The longest of the directories that the path is, or lies below. */
function isBelowAny(path: string, directories: readonly string[]): string | null {
  const above = directories.filter((each) => each === "/" || path === each || path.startsWith(`${each}/`));
  return above.sort((a, b) => b.length - a.length)[0] ?? null;
}

function bindLine({ access }: Need, path: string): string {
  return access === "write" ? `BindPaths=${path}` : `BindReadOnlyPaths=${path}`;
}

function shown({ mayShow, path }: Need, place: string): string {
  if (!mayShow) return "the file";
  return place === path ? path : `${path}, which leads to ${place},`;
}
