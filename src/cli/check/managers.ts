import recheck from "recheck/lib/browser.js" with { type: "file" };
import { printPath } from "../../domain/schema-problems.ts";
import { expressionsOf, type Profile } from "../../managers/profile.ts";
import type { Look } from "./files.ts";

/** Time limit for analyzing one expression. Slow analyses rarely find problems, and the daemon limits matching anyway. */
const JUDGE_MS = 2_000;

/** Checks the config's own managers for problems that compiling their expressions does not reveal. */
export async function checkManagers({ config, report }: Look): Promise<void> {
  if (config.managers.length === 0) return;
  const checkSync = await loadRecheck();
  for (const profile of config.managers) {
    const what = `managers: ${profile.name}`;
    if (!hasEnd(profile)) {
      const why = "no end mark (end): truncated output would look like missing licenses";
      report.warning(what, why);
    }
    const slow = expressionsOf(profile).filter(({ source }) => {
      const judged = checkSync(source, "u", { timeout: JUDGE_MS });
      return judged.complexity?.type === "exponential";
    });
    for (const { path } of slow) {
      const why = "takes exponential time on crafted lines";
      report.warning(what, `${printPath(path)} ${why}: polls may time out`);
    }
    if (slow.length === 0 && hasEnd(profile)) report.fine(what, profile.title ?? profile.format);
  }
}

type CheckSync = (
  source: string,
  flags: string,
  limits: { readonly timeout: number },
) => { readonly status: "safe" | "vulnerable" | "unknown"; readonly complexity?: { readonly type: string } };

/**
 * Loads the pure JavaScript build of recheck. Its main entry first looks for a Java or native program. Bundled as a
 * module its bytecode would cost 8 MB of disk, and 1 MB of memory in every daemon.
 */
async function loadRecheck(): Promise<CheckSync> {
  const module = { exports: {} as { checkSync: CheckSync } };
  new Function("module", "exports", await Bun.file(recheck).text())(module, module.exports);
  return module.exports.checkSync;
}

function hasEnd({ format, end, wrap }: Profile): boolean {
  return end !== undefined || (format !== "lines" && wrap === undefined);
}
