import { expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { PAGE_PATHS } from "../../src/domain/words.ts";
import { pageFiles } from "../../src/http/page/files.ts";
import { bench } from "./make.ts";

const at = bench();
const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  at.app.handle(new Request(`http://localhost${path}`, { headers, method }));
const html = await (await get("/")).text();
const links = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, link = ""]) => link);

test("each path of the page is the same document, without a key and with any query", async () => {
  for (const path of PAGE_PATHS)
    expect(await (await get(`/${path}?q=x&label=location:muc&whatever=1`)).text()).toBe(html);
  const head = await get("/features", {}, "HEAD");
  expect([head.status, await head.text(), head.headers.get("etag")]).toEqual([
    200,
    "",
    (await get("/features")).headers.get("etag"),
  ]);
  expect((await get("/feature/more")).status).toBe(404);
  expect((await get("/features", {}, "POST")).status).toBe(405);
});

test.each(["/nope", "/feature/more", "/a/b/c"])(
  "a browser gets a page with a link back for %s",
  async (path) => {
    const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    const answer = await get(path, browser);
    const { status, headers } = answer;
    expect([status, headers.get("content-type")]).toEqual([404, "text/html;charset=utf-8"]);
    const text = await answer.text();
    expect(text).toContain("<h1>Page not found</h1>");
    expect(text).not.toContain("<script");
    const hrefs = [...text.matchAll(/href="([^"#]+)"/g)].map(([, href = ""]) => href);
    expect(hrefs.length).toBeGreaterThanOrEqual(5);
    for (const href of hrefs)
      expect([href, (await get(new URL(href, `http://localhost${path}`).pathname)).status]).toEqual([
        href,
        200,
      ]);
    // Programs get JSON, and so does every caller of the API.
    for (const [path_, sent] of [
      [path, {}],
      ["/api/nope", browser],
      ["/assets/nope.js", browser],
    ] as const)
      expect(await (await get(path_, sent)).json()).toMatchObject({ code: "NOT_FOUND" });
  },
);

test("runs only its own files, by links that work below any prefix", async () => {
  const { headers } = await get("/");
  const policy = headers.get("content-security-policy");
  const inline = [...html.matchAll(/<script>(.*?)<\/script>/gs)].map(([, script = ""]) => script);
  expect(inline).toHaveLength(1);
  const hash = new Bun.CryptoHasher("sha256").update(inline[0] ?? "").digest("base64");
  expect(policy).toContain(`script-src 'self' 'sha256-${hash}';`);
  expect(policy).toContain("require-trusted-types-for 'script'; trusted-types licmond");
  expect(policy).not.toMatch(/unsafe|data:|\*/);
  expect(headers.get("cache-control")).toBe("no-cache");
  expect(html).not.toMatch(/\sstyle="|\son\w+="/);
  expect(links.length).toBeGreaterThanOrEqual(4);
  for (const link of links.filter((link) => link !== "./swagger")) {
    expect(link).toStartWith("./");
    const file = await get(link.slice(1));
    expect([link, file.status]).toEqual([link, 200]);
    const isHashed = link.startsWith("./assets/");
    expect(file.headers.get("cache-control")).toContain(isHashed ? "immutable" : "no-cache");
  }
  expect((await get("/assets/nothing.js")).status).toBe(404);
});

test.each([
  ["br, gzip", "br"],
  ["gzip, deflate", "gzip"],
  ["identity", null],
  ["", null],
])("Accept-Encoding %p gives %p, with its own tag", async (accept, encoding) => {
  const plain = await (await get("/stream-worker.js")).bytes();
  const answer = await get("/stream-worker.js", { "accept-encoding": accept });
  const { headers } = answer;
  expect(headers.get("content-encoding")).toBe(encoding);
  expect(headers.get("vary")).toBe("Accept-Encoding");
  const bytes = await answer.bytes();
  const open = { br: brotliDecompressSync, gzip: gunzipSync }[encoding ?? ""] ?? Buffer.from;
  expect(Buffer.from(open(bytes)).equals(plain)).toBe(true);
  const etag = headers.get("etag") ?? "";
  const again = await get("/stream-worker.js", { "accept-encoding": accept, "if-none-match": etag });
  expect([again.status, again.headers.get("etag"), (await again.bytes()).length]).toEqual([304, etag, 0]);
  // A 304 must repeat these headers, because a browser replaces the stored ones.
  expect(again.headers.get("content-security-policy")).toBe(headers.get("content-security-policy"));
});

test("is small, and contacts no other host", async () => {
  let bytes = 0;
  for (const { name, forms } of await pageFiles()) {
    bytes += forms.br.size;
    const other = /sinclair|data:image|https?:\/\/(?!www\.w3\.org|\$\{).{0,40}/.exec(
      new TextDecoder().decode(Bun.gunzipSync(await forms.gzip.bytes())),
    );
    expect([name, other?.[0]]).toEqual([name, undefined]);
  }
  expect(bytes).toBeLessThanOrEqual(110 * 1024);
});

test("loads little before its first paint", async () => {
  let bytes = 0;
  for (const link of ["./", ...links.filter((link) => link !== "./swagger")])
    bytes += (await (await get(link.slice(1), { "accept-encoding": "br" })).bytes()).length;
  expect(bytes).toBeLessThanOrEqual(40 * 1024);
});
