import { afterEach, expect, test } from "bun:test";
import { type Listening, listen } from "../../src/http/listen.ts";
import { bench } from "./make.ts";

/** What only a test can bring about; the rest of the catalogue is provoked from the built binary, in e2e/errors.test.ts. */

const open: Listening[] = [];
afterEach(async () => {
  for (const door of open.splice(0)) await door.stop(0);
});

test.each(["throws", "rejects"])("INTERNAL_ERROR: a route that %s, over a real port", async (how) => {
  const secret = "an inner word, with lmk_aaaaaaaaaaaa_secret and SELECT * FROM keys";
  const failing = () => {
    throw new TypeError(secret);
  };
  const at = bench(
    how === "throws"
      ? { live: { snapshot: failing } }
      : { health: () => Promise.reject(new TypeError(secret)) },
  );
  const door = listen(at.app, { host: "127.0.0.1", port: 0 });
  open.push(door);
  const path = how === "throws" ? "/api/licenses/summary" : "/api/health";
  const response = await fetch(`http://127.0.0.1:${door.port}${path}`, {
    headers: { "x-api-key": at.keys.viewer, "x-request-id": "real-7" },
  });
  const text = await response.text();
  expect(response.status).toBe(500);
  expect(JSON.parse(text)).toEqual({
    error: "Internal Server Error",
    code: "INTERNAL_ERROR",
    message: expect.stringContaining("request id"),
    requestId: "real-7",
    timestamp: expect.any(String),
  });
  expect(text).not.toMatch(/inner word|SELECT|lmk_|TypeError|\.ts/);
  expect(at.logged).toContainEqual({
    level: "error",
    source: "http",
    message: "Request failed",
    fields: expect.objectContaining({ requestId: "real-7", code: "INTERNAL_ERROR" }),
  });
  // The next request is served.
  expect((await fetch(`http://127.0.0.1:${door.port}/api/ping`)).status).toBe(200);
});
