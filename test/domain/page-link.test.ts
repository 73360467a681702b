import { expect, test } from "bun:test";
import { placeLink } from "../../src/domain/service/page-link.ts";

const of = (server: string | null, daemon: string | null, feature: string | null) => ({
  server,
  daemon,
  feature,
});

test.each([
  [null, of("eda", "d", "f"), null],
  ["https://lic.example", of(null, null, null), "https://lic.example/"],
  ["https://lic.example/eda/", of(null, null, null), "https://lic.example/eda/"],
  ["http://lic:8080/a/b?x#y", of("eda", "d", null), "http://lic:8080/a/b/server?id=eda"],
  [
    "https://lic.example/eda",
    of("eda", "d", "ARC/INFO \r\n<b>&x=1"),
    "https://lic.example/eda/feature?server=eda&daemon=d&name=ARC%2FINFO+%0D%0A%3Cb%3E%26x%3D1",
  ],
  ["https://lic.example", of("eda", "d", "x".repeat(4096)), null],
])("%p: %j links to %p", (base, place, link) => expect(placeLink(base, place)).toBe(link));
