import { readFileSync } from "node:fs";
import { codeOf } from "../domain/error-code.ts";
import { type Host, kindOf } from "./host.ts";
import { PACKAGED_BINARY } from "./layout.ts";

/** Who else installed licmond on the host: dpkg, or another package manager; null = nobody. */
export function packagedBy(host: Host): "dpkg" | "a package" | null {
  if (dpkgStatus(host).some(isInstalled)) return "dpkg";
  return kindOf(host.at(PACKAGED_BINARY)) === "missing" ? null : "a package";
}

/** Paragraphs of dpkg's database: a package that was removed keeps one, with another status. */
function dpkgStatus(host: Host): string[] {
  try {
    return readFileSync(host.at("/var/lib/dpkg/status"), "utf8").split("\n\n");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  }
}

function isInstalled(paragraph: string): boolean {
  return /^Package: licmond$/m.test(paragraph) && /^Status: \S+ \S+ installed$/m.test(paragraph);
}
