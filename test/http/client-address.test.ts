import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createClientAddress, NO_ADDRESS } from "../../src/http/client-address.ts";

function keyOf(
  peer: string | null,
  forwarded: string | null = null,
  trusted: readonly string[] = [],
): string {
  const headers = new Headers(forwarded === null ? {} : { "x-forwarded-for": forwarded });
  return createClientAddress(
    () => peer,
    () => trusted,
  ).of(new Request("http://lic/", { headers }));
}

describe("one client", () => {
  test.each<[string | null, string]>([
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["::ffff:c000:201", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["64:ff9b::192.0.2.1", "64:ff9b:0:0::/64"],
    [null, NO_ADDRESS],
    ["", NO_ADDRESS],
    ["nonsense", NO_ADDRESS],
  ])("%p is %s", (peer, key) => expect(keyOf(peer)).toBe(key));

  test("has all of its /64, and no more", () => {
    const group = fc.integer({ min: 0, max: 0xffff });
    fc.assert(
      fc.property(
        fc.array(group, { minLength: 8, maxLength: 8 }),
        fc.nat({ max: 7 }),
        group,
        (groups, at, other) => {
          fc.pre(groups.slice(0, 5).some((part) => part !== 0) && groups[at] !== other);
          const text = (parts: readonly number[]) => parts.map((part) => part.toString(16)).join(":");
          const same = keyOf(text(groups)) === keyOf(text(groups.with(at, other)));
          expect(same).toBe(at >= 4);
        },
      ),
    );
  });

  test("has one text form, whatever a header contains", () => {
    // A slice of a header would keep the whole header in memory.
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (header) => {
        let forwarded: string;
        try {
          forwarded = new Headers({ "x-forwarded-for": header }).get("x-forwarded-for") ?? "";
        } catch {
          return;
        }
        expect(keyOf("10.0.0.1", forwarded, ["10.0.0.0/8"]).length).toBeLessThan(25);
      }),
    );
  });
});

describe("X-Forwarded-For", () => {
  const TRUSTED = ["10.0.0.0/8", "fd00::/8", "192.0.2.7"];
  test.each<[string, string | null, string | null, string]>([
    ["of a stranger counts for nothing", "198.51.100.1", "203.0.113.9", "198.51.100.1"],
    ["of a trusted proxy names the client", "10.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["is not needed", "10.0.0.1", null, "10.0.0.1"],
    ["may be empty", "10.0.0.1", "", "10.0.0.1"],
    ["is read from its end over trusted hops", "10.0.0.1", "203.0.113.9, 192.0.2.7, 10.9.9.9", "203.0.113.9"],
    [
      "is believed no further than the first stranger",
      "10.0.0.1",
      "1.1.1.1, 203.0.113.9, 10.2.2.2",
      "203.0.113.9",
    ],
    ["of trusted hops alone names the first", "10.0.0.1", "10.5.5.5, 10.6.6.6", "10.5.5.5"],
    [
      "that is no address ends at the hop that wrote it",
      "10.0.0.1",
      "203.0.113.9, unknown, 10.3.3.3",
      "10.3.3.3",
    ],
    ["that is nonsense ends at the proxy", "10.0.0.1", "203.0.113.9,,", "10.0.0.1"],
    ["may hold ports", "10.0.0.1", "203.0.113.9:4711", "203.0.113.9"],
    ["may hold IPv6 with a port", "10.0.0.1", "[2001:db8::1]:4711", "2001:db8:0:0::/64"],
    ["may hold IPv6 in brackets", "10.0.0.1", "[2001:db8::1]", "2001:db8:0:0::/64"],
    ["over an IPv6 proxy", "fd00::1", "203.0.113.9", "203.0.113.9"],
    ["over a mapped IPv4 proxy", "::ffff:10.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["with mapped IPv4 hops", "10.0.0.1", "203.0.113.9, ::ffff:10.0.0.2", "203.0.113.9"],
    ["without an address of the other end", null, "203.0.113.9", NO_ADDRESS],
  ])("%s", (_, peer, forwarded, key) => expect(keyOf(peer, forwarded, TRUSTED)).toBe(key));

  test("follows a changed list", () => {
    let trusted: readonly string[] = [];
    const address = createClientAddress(
      () => "10.0.0.1",
      () => trusted,
    );
    const request = new Request("http://lic/", { headers: { "x-forwarded-for": "203.0.113.9" } });
    expect([address.of(request), address.behindProxy(request)]).toEqual(["10.0.0.1", false]);
    trusted = ["10.0.0.0/8"];
    expect([address.of(request), address.behindProxy(request)]).toEqual(["203.0.113.9", true]);
  });
});

describe("a network", () => {
  test.each<[string, string, boolean]>([
    ["10.0.0.0/8", "10.255.255.255", true],
    ["10.0.0.0/8", "11.0.0.0", false],
    ["192.0.2.128/25", "192.0.2.127", false],
    ["192.0.2.128/25", "192.0.2.200", true],
    ["192.0.2.1", "192.0.2.1", true],
    ["192.0.2.1", "192.0.2.2", false],
    ["0.0.0.0/0", "203.0.113.1", true],
    ["0.0.0.0/0", "2001:db8::1", false],
    ["::/0", "2001:db8::1", true],
    ["2001:db8::/33", "2001:db8:7fff::", true],
    ["2001:db8::/33", "2001:db8:8000::", false],
    ["::1", "::1", true],
  ])("%s and %s: %p", (network, address, inside) => {
    const proxies = createClientAddress(
      () => address,
      () => [network],
    );
    expect(proxies.behindProxy(new Request("http://lic/"))).toBe(inside);
  });
});
