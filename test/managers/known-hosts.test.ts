import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { createKnownHosts, MAX_HOSTS } from "../../src/managers/known-hosts.ts";

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

test("a host does not keep the output alive that it was cut from", () => {
  const hosts = createKnownHosts();
  for (let index = 0; index < 100; index++) {
    const output = `${"x".repeat(999)} `.repeat(1000) + `host${index} `;
    hosts.add(output.slice(output.lastIndexOf("host"), -1));
  }
  Bun.gc(true);
  // The outputs were 100 MB.
  expect(heapStats().heapSize).toBeLessThan(50_000_000);
  expect(hosts.has("host99")).toBe(true);
});
