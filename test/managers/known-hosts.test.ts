import { expect, test } from "bun:test";
import { createKnownHosts } from "../../src/managers/known-hosts.ts";

test("hosts are known whatever their case", () => {
  const hosts = createKnownHosts(["Lic1"]);
  hosts.add("PC0001.example.com");
  expect(hosts.has("pc0001.EXAMPLE.com")).toBe(true);
  expect(hosts.has("LIC1")).toBe(true);
  expect(hosts.has("pc0002")).toBe(false);
  expect(hosts.list()).toEqual(["lic1", "pc0001.example.com"]);
});

test("the oldest is forgotten first, and a host seen again is new", () => {
  const hosts = createKnownHosts(Array.from({ length: 50_000 }, (_, index) => `h${index}`));
  hosts.add("h0");
  hosts.add("another");
  expect(hosts.list()).toHaveLength(50_000);
  expect(hosts.has("h0")).toBe(true);
  expect(hosts.has("h1")).toBe(false);
  expect(hosts.has("another")).toBe(true);
});

test("a list taken out can be put in again", () => {
  const hosts = createKnownHosts(["b", "a", "Ü-host"]);
  expect(createKnownHosts(hosts.list()).list()).toEqual(hosts.list());
});
