import type { DebArchitecture } from "./deb.ts";

/** A target of releases. */
export interface ReleaseTarget {
  /** Name of the target in file names and for `--target`. */
  readonly name: string;
  readonly bun: Bun.Build.CompileTarget;
  readonly system: "linux" | "macos" | "windows";
  /** C library of a Linux target. */
  readonly libc: "glibc" | "musl" | null;
  readonly deb: DebArchitecture | null;
  /**
   * True if the target is built and checked, but not run by the project's tests. Its file names contain
   * "preview".
   */
  readonly preview: boolean;
}

export const TARGETS: readonly ReleaseTarget[] = [
  linux("linux-x64", "bun-linux-x64", "glibc", "amd64"),
  linux("linux-arm64", "bun-linux-arm64", "glibc", "arm64"),
  linux("linux-x64-musl", "bun-linux-x64-musl", "musl", null),
  linux("linux-arm64-musl", "bun-linux-arm64-musl", "musl", null),
  preview("windows-x64", "bun-windows-x64", "windows"),
  preview("macos-arm64", "bun-darwin-arm64", "macos"),
  preview("macos-x64", "bun-darwin-x64", "macos"),
];

function linux(
  name: string,
  bun: Bun.Build.CompileTarget,
  libc: "glibc" | "musl",
  deb: DebArchitecture | null,
): ReleaseTarget {
  return { name, bun, system: "linux", libc, deb, preview: false };
}

function preview(name: string, bun: Bun.Build.CompileTarget, system: "macos" | "windows"): ReleaseTarget {
  return { name, bun, system, libc: null, deb: null, preview: true };
}

/** Name of the archive and its folder: `licmond-1.2.3-linux-x64`, `licmond-1.2.3-windows-x64-preview`. */
export function nameOf(target: ReleaseTarget, version: string): string {
  return `licmond-${version}-${target.name}${target.preview ? "-preview" : ""}`;
}

/** Name of the executable without an archive. */
export function bareName(target: ReleaseTarget, version: string): string {
  return `${nameOf(target, version)}${target.system === "windows" ? ".exe" : ""}`;
}

/** Reports whether the first four bytes of a file match the target's format: ELF, PE, Mach-O. */
export function hasFormat(target: ReleaseTarget, head: Uint8Array): boolean {
  const hex = Buffer.from(head.subarray(0, 4)).toString("hex");
  if (target.system === "linux") return hex === "7f454c46";
  return target.system === "macos" ? hex === "cffaedfe" : hex.startsWith("4d5a");
}
