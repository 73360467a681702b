import { expect, test } from "bun:test";
import { join } from "node:path";
import { createKnownHosts, MAX_HOSTS } from "../../src/managers/manager.ts";

test("hosts are known whatever their case", () => {
  const hosts = createKnownHosts(["Lic1"]);
  hosts.add("PC0001.example.com");
  expect(hosts.has("pc0001.EXAMPLE.com")).toBe(true);
  expect(hosts.has("LIC1")).toBe(true);
  expect(hosts.has("pc0002")).toBe(false);
  expect(hosts.list()).toEqual(["lic1", "pc0001.example.com"]);
});

test("there are never more than the bound, and those seen lately stay", () => {
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

test("a list taken out can be put in again", () => {
  const hosts = createKnownHosts(["b", "a", "Ü-host"]);
  expect(createKnownHosts(hosts.list()).list()).toEqual(hosts.list());
});

// Runs in a separate process, so that the heap contains only this test.
test("neither a host nor a session keeps the output alive that it was cut from", () => {
  const ended = Bun.spawnSync([process.execPath, join(import.meta.dir, "hosts-of-large-outputs.ts")]);
  const { kept, bytes } = JSON.parse(ended.stdout.toString());
  expect(kept).toBe(true);
  // The outputs were 100 MB.
  expect(bytes).toBeLessThan(10_000_000);
});
