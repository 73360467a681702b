import { expect, test } from "bun:test";
import { join } from "node:path";
import { createPlace, run } from "../rig.ts";

test.each([
  [204, "ok       export.remote_write: HOST takes metrics\n", 0],
  [503, "warning  export.remote_write: nothing can be written to HOST now. It answered 503\n", 0],
  [
    401,
    "PROBLEM  export.remote_write: HOST refuses to be written to. It answered 401\n         fix: correct token_file",
    1,
  ],
  [404, "--web.enable-remote-write-receiver\n", 1],
])("check tells of a receiver that answers %d", async (status, told, exits) => {
  await using place = await createPlace();
  const bodies: Uint8Array[] = [];
  using receiver = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    async fetch(request) {
      expect(request.headers.get("authorization")).toBe("Bearer token-HUSH");
      bodies.push(await request.bytes());
      return new Response(null, { status });
    },
  });
  const token = join(place.folder, "token");
  await Bun.write(token, "token-HUSH\n");
  await place.write(
    `[export.remote_write]\nurl = "http://127.0.0.1:${receiver.port}/write"\ntoken_file = "${token}"`,
  );
  const { exitCode, out } = await run(["check", "--config", place.config]);
  expect(out).toContain(told.replace("HOST", `127.0.0.1:${receiver.port}`));
  expect(out).not.toContain("HUSH");
  expect(exitCode).toBe(exits);
  // Snappy's way to write nothing.
  expect(bodies.map((body) => [...body])).toEqual([[0]]);
});

test("check tells that nobody answers", async () => {
  await using place = await createPlace();
  await place.write('[export.remote_write]\nurl = "http://127.0.0.1:1/write"');
  const { exitCode, out } = await run(["check", "--config", place.config]);
  expect(out).toContain(
    "warning  export.remote_write: nothing can be written to 127.0.0.1:1 now. It cannot be reached",
  );
  expect(exitCode).toBe(0);
});
