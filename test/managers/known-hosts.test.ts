import { expect, test } from "bun:test";
import { join } from "node:path";
import { createKnownHosts, MAX_HOSTS } from "../../src/managers/manager.ts";

test("compares hosts case-insensitively", () => {
  const hosts = createKnownHosts(["Lic1"]);
  hosts.add("PC0001.example.com");
  expect(hosts.has("pc0001.EXAMPLE.com")).toBe(true);
  expect(hosts.has("LIC1")).toBe(true);
  expect(hosts.has("pc0002")).toBe(false);
  expect(hosts.list()).toEqual(["lic1", "pc0001.example.com"]);
});

test("keeps the newest hosts up to the bound", () => {
  const hosts = createKnownHosts();
  for (let index = 0; index < 5 * MAX_HOSTS; index++) {
    hosts.add(`h${index}`);
    hosts.add("seen-again-and-again");
  }
  expect(hosts.list().length).toBeLessThanOrEqual(MAX_HOSTS);
  expect(hosts.has("seen-again-and-again")).toBe(true);
  expect(hosts.has("h0")).toBe(false);
  for (let back = 1; back <= MAX_HOSTS / 4; back++) expect(hosts.has(`h${5 * MAX_HOSTS - back}`)).toBe(true);
});

test("restores a list", () => {
  const hosts = createKnownHosts(["b", "a", "Ü-host"]);
  expect(createKnownHosts(hosts.list()).list()).toEqual(hosts.list());
});

// Runs in a separate process, so that the heap contains only this test.
test("hosts and sessions do not keep outputs in memory", () => {
  const ended = Bun.spawnSync([process.execPath, join(import.meta.dir, "hosts-of-large-outputs.ts")]);
  const { kept, bytes } = JSON.parse(ended.stdout.toString());
  expect(kept).toBe(true);
  // The outputs had 100 MB in total.
  expect(bytes).toBeLessThan(10_000_000);
});
