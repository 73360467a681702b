import { readFileSync } from "node:fs";

export interface Mount {
  readonly point: string;
  readonly options: readonly string[];
}

/** The mount on which a file lies, by the kernel's table (proc_pid_mountinfo(5)); null where there is none. */
export function mountOf(realPath: string, table = readTable()): Mount | null {
  let best: Mount | null = null;
  for (const line of table.split("\n")) {
    const [, , , , point, options] = line.split(" ");
    if (point === undefined || options === undefined) continue;
    const mount = { point: unescapeOctal(point), options: options.split(",") };
    const isAbove =
      realPath === mount.point || realPath.startsWith(mount.point === "/" ? "/" : `${mount.point}/`);
    // Of two mounts on one point the later covers the earlier.
    if (isAbove && mount.point.length >= (best?.point.length ?? 0)) best = mount;
  }
  return best;
}

function readTable(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return "";
  }
}

/** Blanks and backslashes stand as `\040`. */
function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(parseInt(digits, 8)));
}
