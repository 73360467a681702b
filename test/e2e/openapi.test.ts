import { expect, test } from "bun:test";
import { createSite } from "./site.ts";

test("`licmond openapi` prints the document that the daemon serves", async () => {
  await using site = await createSite();
  await using daemon = await site.serve();
  const served = await (await daemon.get("/swagger/json")).json();
  const printed = await site.run(["openapi"]);
  expect(printed.stderr).toBe("");
  expect(JSON.parse(printed.stdout)).toEqual(served);
});
