import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { interpretConfig } from "../../src/config/load.ts";
import { postPush } from "../../src/fleet/post.ts";
import { createHub } from "../../src/hub/hub.ts";
import { HAS_OPENSSL, type Pair, selfSigned } from "../certificates.ts";
import { freePort } from "../free-port.ts";
import { usePostgres } from "./describe-hub.ts";
import { HAS_POSTGRES } from "./postgres.ts";
import { keyAt, madeUpFacts, madeUpSite, open } from "./rig.ts";

const DAY = 86_400_000;

describe.skipIf(!HAS_POSTGRES || !HAS_OPENSSL)("client certificates of a hub", () => {
  const postgres = usePostgres();
  let folder: string;
  let hub: ReturnType<typeof createHub>;
  let url: string;
  let database: string;
  let site: ReturnType<typeof madeUpSite>;
  const pairs: Record<string, Pair> = {};
  const at = (name: string) => join(folder, name);

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "licmond-hub-tls-"));
    const now = Date.now();
    for (const name of ["hub", "site", "stranger"])
      pairs[name] = await selfSigned(folder, name, now - DAY, now + DAY);
    pairs.expired = await selfSigned(folder, "expired", now - 2 * DAY, now - DAY);
    database = await postgres.database();
    const key = await keyAt(database, { role: "site", site: "muc" });
    await Bun.write(at("muc.key"), key);
    site = madeUpSite("muc", key);
    const authorities = await Promise.all(
      [pairs.site, pairs.expired].map((pair) => Bun.file(pair?.cert ?? "").text()),
    );
    await Bun.write(at("sites.pem"), authorities.join(""));
    const port = await freePort();
    const toml = `[http]\nhost = "127.0.0.1"\nport = ${port}\ntls_cert = "${pairs.hub?.cert}"\ntls_key = "${pairs.hub?.key}"
tls_client_ca = "${at("sites.pem")}"\n[log]\nlevel = "error"\n[hub]\ndatabase = "${database}"\n`;
    const read = interpretConfig(toml, null, {});
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    hub = createHub(read.config, { environment: {} });
    await hub.start();
    url = `https://localhost:${port}`;
  });
  afterAll(async () => {
    await hub?.stop();
    await rm(folder, { recursive: true });
  });

  /** Pushes the next fact as a site does. */
  let seq = 0;
  async function push(pair: Pair | null, authorities: string | null) {
    const from = seq + 1;
    const pushed = site.push({ from, to: from, begins: from === 1, facts: madeUpFacts(from, 1, Date.now()) });
    const files = { caFile: authorities, certFile: pair?.cert ?? null, certKeyFile: pair?.key ?? null };
    const answer = await postPush(
      { url, apiKeyFile: at("muc.key"), ...files },
      new Uint8Array(Bun.zstdCompressSync(JSON.stringify(pushed))),
      AbortSignal.timeout(60_000),
      Date.now,
    );
    if (answer.outcome === "taken") seq = answer.answer.cursor;
    return answer.outcome;
  }
  async function cursor(): Promise<number> {
    const pool = open(database);
    const [row] = await pool`SELECT coalesce(max(cursor), 0)::int AS cursor FROM sites`;
    await pool.close();
    return row.cursor;
  }

  test("accepts pushes of a site with a certificate of its authorities", async () => {
    expect(await push(pairs.site ?? null, pairs.hub?.cert ?? null)).toBe("taken");
    expect(await cursor()).toBe(1);
  });

  test.each([
    ["no certificate", null, "hub"],
    ["one of another authority", "stranger", "hub"],
    ["one that has expired", "expired", "hub"],
  ])("refuses a site with %s, regardless of its key", async (_, name, authority) => {
    const before = await cursor();
    expect(await push(name === null ? null : (pairs[name] ?? null), pairs[authority]?.cert ?? null)).toBe(
      "failed",
    );
    expect(await cursor()).toBe(before);
  });

  test("a site trusts only the hub of its ca_file", async () => {
    const before = await cursor();
    expect(await push(pairs.site ?? null, pairs.stranger?.cert ?? null)).toBe("failed");
    expect(await push(pairs.site ?? null, null)).toBe("failed");
    expect(await cursor()).toBe(before);
  });

  test("refuses before HTTP, even for routes that need no key", async () => {
    const ca = await Bun.file(pairs.hub?.cert ?? "").text();
    const ask = (tls: object) =>
      fetch(`${url}/api/ping`, { tls: { ca, ...tls } }).then(
        (answer) => answer.status,
        () => "no answer",
      );
    const pairOf = async (name: string) => ({
      cert: await Bun.file(pairs[name]?.cert ?? "").text(),
      key: await Bun.file(pairs[name]?.key ?? "").text(),
    });
    expect(await ask({})).toBe("no answer");
    expect(await ask(await pairOf("stranger"))).toBe("no answer");
    expect(await ask(await pairOf("site"))).toBe(200);
  });
});
