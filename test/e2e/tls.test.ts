import { describe, expect, test } from "bun:test";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "node:tls";
import { HAS_OPENSSL, type Pair, selfSigned } from "../certificates.ts";
import { type Daemon, until, untilPrinted } from "./harness.ts";
import { createSite, type Site } from "./site.ts";
import { framesOf } from "./stream-site.ts";

const DAY = 86_400_000;
const now = Date.now();

const pairIn = (site: Site, name: string) => selfSigned(site.folder, name, now - DAY, now + 365 * DAY);
const lines = ({ cert, key }: Pair) => `tls_cert = "${cert}"\ntls_key = "${key}"\n`;
const textOf = (path: string) => Bun.file(path).text();

async function livePair(site: Site) {
  const files = { cert: join(site.folder, "live.crt"), key: join(site.folder, "live.key") };
  const [one, two] = [await pairIn(site, "one"), await pairIn(site, "two")];
  const put = async (pair: Pair) => {
    await copyFile(pair.cert, files.cert);
    await copyFile(pair.key, files.key);
  };
  await put(one);
  return { files, one, two, put };
}

function firstMessage(url: string, tls: { readonly ca: string }): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const socket = new WebSocket(url, { tls });
  socket.onmessage = ({ data }) => {
    resolve(JSON.parse(String(data)));
    socket.close();
  };
  socket.onerror = () => reject(new Error("the socket failed"));
  return promise;
}

async function serveOverTls(site: Site, pair: Pair): Promise<Daemon> {
  await site.configure("", lines(pair));
  return site.serve({ tls: { ca: await textOf(pair.cert) } });
}

function servedTo(site: Site): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect({ host: "127.0.0.1", port: site.port, rejectUnauthorized: false }, () => {
    resolve(String(socket.getPeerCertificate().subject?.CN));
    socket.destroy();
  });
  socket.on("error", (error) => resolve("code" in error ? String(error.code) : String(error)));
  return promise;
}

const hup = (daemon: Daemon) => process.kill(daemon.pid, "SIGHUP");

describe.skipIf(!HAS_OPENSSL)("over TLS", () => {
  test("requests, streams and sockets work, HSTS is set, and ciphers are strong", async () => {
    await using site = await createSite();
    const pair = await selfSigned(site.folder, "soon", now - DAY, now + 5.5 * DAY);
    await using daemon = await serveOverTls(site, pair);
    await untilPrinted(daemon, "in 5 days");
    const ca = await textOf(pair.cert);
    const key = await site.key("viewer");

    const summary = await daemon.get("/api/licenses/summary", key);
    expect(summary.status).toBe(200);
    expect(summary.headers.get("strict-transport-security")).toMatch(/^max-age=\d+$/);
    const refused = await daemon.get("/api/licenses/summary");
    expect([refused.status, refused.headers.has("strict-transport-security")]).toEqual([401, true]);

    let isTold = false;
    for await (const { name } of framesOf(daemon, "/stream/metrics", key)) {
      isTold = name === "metrics";
      if (isTold) break;
    }
    expect(isTold).toBe(true);
    const url = `wss://127.0.0.1:${site.port}/ws/metrics?api_key=${key}`;
    expect(await firstMessage(url, { ca })).toMatchObject({ type: "metrics" });
    expect(daemon.output()).not.toContain("Plain HTTP");

    // TLS 1.2 accepts only ciphers with forward secrecy and authenticated encryption. TLS 1.3 works.
    const client = ["openssl", "s_client", "-connect", `127.0.0.1:${site.port}`];
    const agreed = (...offer: string[]) => {
      const { stdout } = Bun.spawnSync([...client, ...offer], { stdin: null });
      return /^New, TLSv1\.[23], Cipher is (\S+)$/m.exec(stdout.toString())?.[1] ?? null;
    };
    const twelve = (ciphers: string) => agreed("-tls1_2", "-cipher", `${ciphers}:@SECLEVEL=0`);
    expect(twelve("ECDHE-ECDSA-AES128-GCM-SHA256")).toBe("ECDHE-ECDSA-AES128-GCM-SHA256");
    expect(twelve("ECDHE-ECDSA-CHACHA20-POLY1305")).toBe("ECDHE-ECDSA-CHACHA20-POLY1305");
    expect(twelve("ALL:!AESGCM:!CHACHA20")).toBeNull();
    expect(agreed("-tls1_3")).toStartWith("TLS_");
    expect(await daemon.stop()).toBe(0);
  });

  test("SIGHUP loads a new certificate, and open connections stay", async () => {
    await using site = await createSite();
    const { files, one, two, put } = await livePair(site);
    await using daemon = await serveOverTls(site, files);
    const ca = await textOf(one.cert);
    const key = await site.key("viewer");
    expect(await servedTo(site)).toBe("one");

    const messages: string[] = [];
    let closes = 0;
    const watched = `wss://127.0.0.1:${site.port}/ws/metrics?interval=250&api_key=${key}`;
    const socket = new WebSocket(watched, { tls: { ca } });
    socket.onmessage = ({ data }) => messages.push(String(data));
    socket.onclose = () => closes++;
    await until("the socket gets its first message", () => messages.length > 0 || undefined);
    const stream = await daemon.get("/stream/metrics?interval=250", key);
    const reader = (stream.body as ReadableStream<Uint8Array>).getReader();
    await reader.read();

    await put(two);
    hup(daemon);
    await until("the new one is served", async () => (await servedTo(site)) === "two" || undefined);

    const before = messages.length;
    await until("the socket gets more", () => messages.length > before + 2 || undefined);
    expect((await reader.read()).done).toBe(false);
    expect(closes).toBe(0);
    const renewed = { tls: { ca: await textOf(two.cert) } };
    expect((await daemon.get("/api/ping", undefined, renewed)).status).toBe(200);
    // After the change, a new WebSocket works: the new listener upgrades it.
    const url = `wss://127.0.0.1:${site.port}/ws/metrics?api_key=${key}`;
    expect(await firstMessage(url, renewed.tls)).toMatchObject({ type: "metrics" });

    // A certificate and a key that do not match are refused, and the old ones stay.
    await copyFile(one.key, files.key);
    hup(daemon);
    await until("the refusal is logged", () => daemon.output().includes("is not the key of") || undefined);
    expect(await servedTo(site)).toBe("two");
    // The answer names the settings only; the paths are in the log.
    type Status = { lastReload: { outcome: string; message: string } };
    const { lastReload } = await daemon.json<Status>("/api/status", key, renewed);
    expect(lastReload.outcome).toBe("refused");
    expect(lastReload.message).toContain("http.tls_cert");
    expect(lastReload.message).not.toContain(site.folder);
    socket.close();
    await reader.cancel();
    expect(await daemon.stop()).toBe(0);
  });

  test("switching to TLS by a reload: a mismatched pair is refused, a valid one waits for the restart", async () => {
    await using site = await createSite();
    await using daemon = await site.serve();
    const key = await site.key("admin");
    const reload = async (pair: Pair) => {
      await site.configure("", lines(pair));
      return (await daemon.post("/api/reload", key)).json();
    };
    const nowhere = { cert: join(site.folder, "none.crt"), key: join(site.folder, "none.key") };
    const details = expect.stringContaining("http.tls_cert");
    expect(await reload(nowhere)).toMatchObject({ code: "CONFLICT", details });
    const needRestart = ["http.tls_cert", "http.tls_key"];
    expect(await reload(await pairIn(site, "one"))).toEqual({ outcome: "applied", needRestart });
    expect((await daemon.get("/api/ping")).status).toBe(200);
  });

  test("many connections during many certificate changes are all served", async () => {
    await using site = await createSite();
    const { files, one, two, put } = await livePair(site);
    await using daemon = await serveOverTls(site, files);
    let asking = true;
    let served = 0;
    const failures: string[] = [];
    const ask = async () => {
      while (asking) {
        try {
          const answer = await fetch(`${daemon.url}/api/ping`, {
            keepalive: false,
            tls: { rejectUnauthorized: false },
          });
          await answer.text();
          if (answer.status === 200) served++;
        } catch (error) {
          failures.push(error instanceof Error && "code" in error ? String(error.code) : String(error));
        }
      }
    };
    const askers = [ask(), ask()];
    for (let turn = 1; turn <= 6; turn++) {
      await put(turn % 2 === 0 ? one : two);
      hup(daemon);
      const name = turn % 2 === 0 ? "one" : "two";
      await until(`${name} is served`, async () => (await servedTo(site)) === name || undefined);
      const before = served;
      await until("some are served", () => served >= before + 10 || undefined);
    }
    asking = false;
    await Promise.all(askers);
    // A connection in progress may be reset when the old listener closes, but none is refused.
    expect(failures.filter((code) => code !== "ECONNRESET")).toEqual([]);
    expect(failures.length).toBeLessThanOrEqual(askers.length * 6);
    console.log(`${served} requests served over 6 changes of the certificate, ${failures.length} reset`);
  });
});
