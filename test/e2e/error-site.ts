import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { type ApiDocument, createConformance } from "../http/document.ts";
import type { Daemon } from "./harness.ts";
import { lmstat, REFUSED } from "./lmstat.ts";
import { createSite, type Site, serverToml } from "./site.ts";

/** A word in bodies, keys and names of requests. No answer may contain it. */
export const CANARY = "canary-7c1d";

/** Patterns that no answer may contain: stacks, SQL, keys, source locations, and values of a body. */
const LEAKS = [
  /\\n\s+at |\bat \S+ \(/,
  /\.ts:\d|\$bunfs|node_modules/,
  /\b(SELECT|INSERT|UPDATE|DELETE|PRAGMA)\b .*\b(FROM|INTO|SET|WHERE)\b/i,
  /SQLITE_|SQLiteError/,
  new RegExp(CANARY),
];

/** Codes whose details may contain paths of the host and output of the tool. */
const MAY_NAME_PATHS = /^(LICENSE|COMMAND)_/;

/** Creates servers with tools that fail in every possible way. */
export async function createErrorSite(more = ""): Promise<Site> {
  const site = await createSite();
  const script = async (name: string, text: string) => {
    const path = join(site.folder, name);
    await Bun.write(path, `#!/bin/sh\n${text}\n`);
    await chmod(path, 0o755);
    return path;
  };
  const good = await site.tool("good");
  await good.says(lmstat({ solver: { total: 4, holders: [{ user: "ada", host: "ws01" }] } }));
  const down = await site.tool("down");
  await down.says(REFUSED, 241);
  const odd = await site.tool("odd");
  await odd.says("Segmentation of the annual report\n");
  const hang = await script("hang", "sleep 600");
  const fails = await script("fails", `echo '${site.folder}: it did not work' >&2; exit 3`);
  const server = (id: string, tool: string, rest = "") => serverToml(id, tool, `interval = "24h"\n${rest}`);
  await site.configure(
    [
      server("good", good.path),
      server("down", down.path),
      server("odd", odd.path),
      server("hang", hang, 'timeout = "1s"'),
      server("no-tool", join(site.folder, "no-such-tool")),
      server("off", good.path, "enabled = false"),
      "[execute]\nenabled = true\n",
      `[[execute.commands]]\nname = "fails"\nargv = ["${fails}"]\n`,
      `[[execute.commands]]\nname = "hangs"\nargv = ["${hang}"]\ntimeout = "1s"\n`,
      more,
    ].join("\n"),
  );
  return site;
}

export async function createAsker(site: Site, daemon: Daemon) {
  const conformance = createConformance(await daemon.json<ApiDocument>("/swagger/json"));
  const codes = new Set<string>();
  return {
    codes,
    async ask(path: string, key?: string, init: BunFetchRequestInit = {}) {
      const response = await daemon.get(path, key, init);
      const text = await response.text();
      const { status, headers } = response;
      const { pathname } = new URL(response.url);
      const problems = conformance.check(init.method ?? "GET", pathname, { status, headers, text });
      // A new key is shown once, in the answer that creates it.
      const leaks = status === 201 ? LEAKS : [...LEAKS, /lmk_[a-z0-9]{12}_[\w-]+/];
      problems.push(...leaks.filter((leak) => leak.test(text)).map((leak) => `it leaks ${leak}`));
      const code = status < 400 ? null : ((JSON.parse(text) as { code?: string }).code ?? null);
      if (status >= 400 && code === null) problems.push("no code");
      if (code !== null) {
        codes.add(code);
        const elsewhere = MAY_NAME_PATHS.test(code) ? text.replace(/"details":"([^"\\]|\\.)*"/, "") : text;
        if (elsewhere.includes(site.folder)) problems.push("it names a path of the host");
      }
      if (problems.length > 0) throw new Error(`${path} → ${status}: ${problems.join("; ")}\n${text}`);
      return { status, code };
    },
  };
}
