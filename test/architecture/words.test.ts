import { describe, expect, test } from "bun:test";
import { codeOf, filesOf, isTypeScript, type SourceFile } from "./source.ts";

/** Returns the matches outside of quotes as `path:line: match`. */
function findings(files: readonly SourceFile[], pattern: RegExp): string[] {
  return files.flatMap((file) =>
    file.text
      .split("\n")
      .flatMap((line, index) =>
        [...line.replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '""').matchAll(pattern)].map(
          ([hit]) => `${file.path}:${index + 1}: ${hit.trim()}`,
        ),
      ),
  );
}

async function codeFiles(): Promise<SourceFile[]> {
  return [...(await filesOf("src/**/*.ts")), ...(await filesOf("scripts/**/*.ts"))];
}

describe("types are checked everywhere", () => {
  test("src and scripts suppress no message and contain no any", async () => {
    const files = await codeFiles();
    expect(files.length).toBeGreaterThan(20);
    expect(
      findings(
        files,
        /@ts-(?:ignore|nocheck|expect-error)|(?<=[\w)\]}] )as (?:any|never)(?=[;,)\]}]|$)|<any>/g,
      ),
    ).toEqual([]);
  });

  test("a double cast has its reason in the line above", async () => {
    const unexplained = (await codeFiles()).flatMap((file) => {
      const lines = file.text.split("\n");
      return lines.flatMap((line, index) =>
        /\bas unknown as\b/.test(line) && !/^\s*\/\//.test(lines[index - 1] ?? "")
          ? [`${file.path}:${index + 1}`]
          : [],
      );
    });
    expect(unexplained).toEqual([]);
  });

  test("tests suppress no message", async () => {
    const files = (await filesOf("test/**/*.ts")).filter(
      (file) => !file.path.startsWith("test/architecture/"),
    );
    expect(findings(files, /@ts-(?:ignore|nocheck)|(?<=[\w)\]}] )as any(?=[;,)\]}]|$)/g)).toEqual([]);
  });
});

describe("no foreign hosts", () => {
  /**
   * Matches loopback, names without a dot, names of RFC 2606 and RFC 6761, and XML namespaces, which are
   * never requested.
   */
  const OWN =
    /^(?:[a-z][a-z-]*|127(?:\.\d+){3}|0\.0\.0\.0|\[::1?\]|(?:[\w-]+\.)*(?:example(?:\.(?:com|net|org))?|test|invalid)|www\.w3\.org)$/;
  const URL_HOST = /\b(?:https?|wss?|ftp|smtps?):\/\/(?:[^\s/@"'`]*@)?(\[[0-9a-f:.]*\]|[\w.-]+)/gi;
  const BARE_HOST = /(?<![\w@/.-])(?:[a-z0-9-]+\.)+(?:com|org|net|io|dev|sh|cloud)(?![\w-]|\.\w)/gi;

  function foreignHosts(text: string): string[] {
    const hosts = [...text.matchAll(URL_HOST)].map(([, host = ""]) => host);
    // Outside of quotes, `socket.net` is a property.
    for (const [literal] of text.matchAll(/"[^"\n]*"|'[^'\n]*'|`[^`]*`/g)) {
      hosts.push(...[...literal.matchAll(BARE_HOST)].map(([host]) => host));
    }
    return hosts.filter((host) => !OWN.test(host.toLowerCase()));
  }

  test.each<[string, string[]]>([
    ['fetch("https://registry.vendor.com/x")', ["registry.vendor.com", "registry.vendor.com"]],
    ["const cdn = 'cdn.vendor.io'", ["cdn.vendor.io"]],
    ["`wss://user:pass@stream.vendor.dev:443/`", ["stream.vendor.dev", "stream.vendor.dev"]],
    ['"http://localhost:8080/" + "http://127.0.0.1/" + "http://lic.example.com"', []],
    ["connection.net.io", []],
  ])("finds them: %s", (text, hosts) => {
    expect([...new Set(foreignHosts(text))]).toEqual([...new Set(hosts)]);
  });

  test("code, scripts, unit and documents name none", async () => {
    // Comments may cite the source of a format; only code could send a request.
    const typescript = [...(await filesOf("src/**/*")), ...(await filesOf("scripts/**/*"))];
    const others = [
      ...(await filesOf("*.{md,json,toml}")),
      ...(await filesOf(".ci/*")),
      ...(await filesOf("systemd/*")),
      ...(await filesOf("docs/**/*.md")),
    ];
    const named = [...typescript, ...others].flatMap((file) =>
      foreignHosts(isTypeScript(file) ? codeOf(file) : file.text).map((host) => `${file.path}: ${host}`),
    );
    expect(named).toEqual([]);
  });
});
