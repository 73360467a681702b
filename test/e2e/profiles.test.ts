import { expect, test } from "bun:test";
import type { ServerRecord } from "../../src/domain/records.ts";
import { until } from "./harness.ts";
import { createSite, NO_LIMITS } from "./site.ts";

const ask = "/api/licenses";

test("profiles of the config are polled, one that hangs is reported, and a reload changes them", async () => {
  await using site = await createSite();
  const good = await site.tool("good");
  const evil = await site.tool("evil");
  await good.says("solver 1/2\n user ada\n");
  await evil.says(`${"a".repeat(60)}!\n`.repeat(10));
  const profile = (name: string, more: string, feature = "(?<name>\\w+)") => `[[managers]]
name = "${name}"
argv = ["${name === "good" ? good.path : evil.path}", "{host}"]
format = "lines"
[managers.match]
feature = '^${feature} (?<used>\\d+)/(?<total>\\d+)$'
${more}
[[servers]]
id = "at-${name}"
manager = "${name}"
address = "127.0.0.1"
interval = "5s"
`;
  const hangs = profile("evil", "ignore = '^(a|aa)*(\\1)+$'");
  await site.configure(`${NO_LIMITS}${profile("good", "checkout = '^ user (?<user>.+)$'")}${hangs}`);
  const key = await site.key("admin");
  await using daemon = await site.serve();

  const server = async (id: string) => {
    const { servers } = await daemon.json<{ servers: readonly ServerRecord[] }>(`${ask}/servers`, key);
    return servers.find((each) => each.id === id);
  };
  await until("the good one is read", async () => (await server("at-good"))?.state === "ok" || undefined);
  expect(await daemon.json<object>(`${ask}/users`, key)).toMatchObject({
    users: [{ server: "at-good", feature: "solver", user: "ada" }],
  });
  const hung = await until("the other one fails", async () => (await server("at-evil"))?.error ?? undefined);
  expect(hung.code).toBe("LICENSE_PARSE_ERROR");
  expect(hung.message).toMatch(
    /^The expression match\.ignore of the manager evil, on line \d+, did not finish/,
  );
  const before = (await server("at-good"))?.lastPollAt;
  await until("the good one is read again", async () => {
    const { state, lastPollAt } = (await server("at-good")) ?? {};
    return (state === "ok" && lastPollAt !== before) || undefined;
  });

  expect(await daemon.json<object>(`${ask}/servers?manager=good`, key)).toMatchObject({
    servers: [{ id: "at-good", manager: "good" }],
  });
  const none = await daemon.get(`${ask}/servers?manager=godo`, key);
  expect([none.status, await none.text()]).toEqual([400, expect.stringContaining("good, evil")]);

  await site.configure(`${NO_LIMITS}${profile("good", "ignore = '^ user'", "(?<name>solve)r")}`);
  expect((await daemon.post("/api/reload", key)).status).toBe(200);
  await until("the new expression is used", async () => {
    const { features } = await daemon.json<{ features: { name: string }[] }>(`${ask}/features`, key);
    return features.some(({ name }) => name === "solve") || undefined;
  });
  expect(await daemon.stop()).toBe(0);
});
