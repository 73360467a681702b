import { expect, test } from "bun:test";
import { bench } from "./make.ts";

test("x", async () => {
  const at = bench();
  for (const p of ["/", "/features", "/theme.js", "/stream-worker.js", "/assets/nope.js"]) {
    const r = await at.get(p, { key: null, headers: { "accept-encoding": "br" } } as never);
    console.log(p, r.status, [...r.headers].flat().join(" "), (await r.bytes()).length);
    expect(r.status).toBe(200);
  }
});
