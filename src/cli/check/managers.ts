import recheck from "recheck/lib/browser.js" with { type: "file" };
import { printPath } from "../../domain/schema-problems.ts";
import { expressionsOf, type Profile } from "../../managers/profile.ts";
import type { Look } from "./files.ts";

/** Time to judge one expression: those that are judged late are seldom bad, and none can hold the daemon. */
const JUDGE_MS = 2_000;

/** What may go wrong with the config's own managers although each expression compiles. */
export async function checkManagers({ config, report }: Look): Promise<void> {
  if (config.managers.length === 0) return;
  const checkSync = await loadRecheck();
  for (const profile of config.managers) {
    const what = `managers: ${profile.name}`;
    if (!hasEnd(profile)) {
      const why = "it has no end mark (end): a text that is cut looks whole, as if licenses had gone";
      report.warning(what, why);
    }
    const slow = expressionsOf(profile).filter(({ source }) => {
      const judged = checkSync(source, "u", { timeout: JUDGE_MS });
      return judged.complexity?.type === "exponential";
    });
    for (const { path } of slow) {
      const why = "takes a time that grows exponentially with the line, on lines made for it";
      report.warning(what, `${printPath(path)} ${why}: its answers may not be read in time`);
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
 * The pure JavaScript of recheck. Its main entry looks for a Java or a native program first, and a module in the binary
 * has its bytecode beside it: 8 MB of disk, and 1 MB of every daemon's memory.
 */
async function loadRecheck(): Promise<CheckSync> {
  const module = { exports: {} as { checkSync: CheckSync } };
  new Function("module", "exports", await Bun.file(recheck).text())(module, module.exports);
  return module.exports.checkSync;
}

/** JSON and XML end where they begin; a list that is wrapped has lost its own brackets. */
function hasEnd({ format, end, wrap }: Profile): boolean {
  return end !== undefined || (format !== "lines" && wrap === undefined);
}
