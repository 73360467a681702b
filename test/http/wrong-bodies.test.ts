import { expect, test } from "bun:test";
import type { ApiDocument } from "./document.ts";
import { bench, executor } from "./make.ts";
import { expectRefused, wrongBodies } from "./wrong-bodies.ts";

test("every route with a body reports the first of a million wrong elements", async () => {
  const { deps } = bench();
  const settings = () => ({ ...deps.settings(), maxBodyBytes: 16_777_216 });
  const at = bench({ settings, execute: executor([]) });
  const bodies = wrongBodies((await (await at.get("/swagger/json", { key: null })).json()) as ApiDocument);
  expect(new Set(bodies.map(({ path }) => path)).size).toBeGreaterThan(6);
  const headers = { "content-type": "application/json" };
  for (const body of bodies)
    await expectRefused(body, (path, json) =>
      at.get(path, { key: at.keys.admin, method: "POST", body: json, headers }),
    );
});
