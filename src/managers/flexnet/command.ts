import type { ToolCommand } from "../manager.ts";

/**
 * `lmutil lmstat -a -i -c <address>`: `-a` asks the server, `-i` adds the license file's table, because old tools
 * print no expiry in `-a` and some daemons have an empty table. A tool that is lmstat itself takes no verb.
 */
export function command(tool: readonly string[], address: string): ToolCommand {
  const program = (tool.at(-1) ?? "").split(/[/\\]/).at(-1)?.toLowerCase();
  const verb = program === "lmstat" || program === "lmstat.exe" ? [] : ["lmstat"];
  return { argv: [...tool, ...verb, "-a", "-i", "-c", address], env: {} };
}
