import { afterEach, describe, expect, test } from "bun:test";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import {
  hostInfo,
  isClockSynchronised,
  networkInterfaces,
  osName,
  parseNetDev,
} from "../../src/system/host-info.ts";
import { cleanUp, temporaryDirectory } from "../store/place.ts";

afterEach(cleanUp);

const NET_DEV = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 100 2    0    0    0     0          0         0      100 2    0    0    0     0       0          0
  eth0:735269626   16839    0    0    0     0          0         0   914704    8041    0    0    0     0       0          0
 wg0: 7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0
`;

test("the host", () => {
  const info = hostInfo();
  expect(info.hostname).not.toBe("");
  expect(info.kernel).not.toBe("");
  expect(info.arch).toBe(process.arch);
  expect(info.cpuCount).toBeGreaterThanOrEqual(1);
  expect(info.memoryBytes).toBeGreaterThan(1024 * 1024);
});

describe("the system's name", () => {
  test.each([
    ['NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n', "Debian GNU/Linux 12 (bookworm)"],
    ["PRETTY_NAME='Alpine Linux v3.20'\n", "Alpine Linux v3.20"],
    ["PRETTY_NAME=Void\n", "Void"],
    ['PRETTY_NAME="a \\"b\\" \\$c"\n', 'a "b" $c'],
    ['PRETTY_NAME=""\n', null],
    ["NAME=x\n", null],
    [null, null],
  ])("%j", (text, name) => {
    expect(osName(text)).toBe(name);
  });

  test("without os-release it is the kernel's name", () => {
    expect(hostInfo(() => null).os).toContain(hostInfo().kernel);
  });
});

describe("interfaces", () => {
  test("counters of /proc/net/dev, with and without a blank after the colon", () => {
    expect([...parseNetDev(NET_DEV)]).toEqual([
      ["lo", { received: 100, sent: 100 }],
      ["eth0", { received: 735269626, sent: 914704 }],
      ["wg0", { received: 7, sent: 9 }],
    ]);
  });

  test("have addresses and counters; unknown ones are null or empty", () => {
    const addresses = () => ({
      eth0: [
        { address: "192.0.2.7", family: "IPv4", cidr: "192.0.2.7/24" },
        { address: "2001:db8::7", family: "IPv6", cidr: null },
      ],
      tap9: [{ address: "198.51.100.1", family: "IPv4", cidr: "198.51.100.1/32" }],
    });
    const found = networkInterfaces((path) => (path === "/proc/net/dev" ? NET_DEV : null), addresses);
    const none = { addresses: [], receivedBytes: null, sentBytes: null };
    expect(found).toEqual([
      {
        name: "eth0",
        addresses: [
          { address: "192.0.2.7", family: "IPv4", prefixLength: 24 },
          { address: "2001:db8::7", family: "IPv6", prefixLength: null },
        ],
        receivedBytes: 735269626,
        sentBytes: 914704,
      },
      { ...none, name: "lo", receivedBytes: 100, sentBytes: 100 },
      {
        ...none,
        name: "tap9",
        addresses: [{ address: "198.51.100.1", family: "IPv4", prefixLength: 32 }],
      },
      { ...none, name: "wg0", receivedBytes: 7, sentBytes: 9 },
    ]);
  });

  test("in a sandbox have only counters", () => {
    const forbidden = () => {
      throw new Error("EAFNOSUPPORT");
    };
    const found = networkInterfaces(() => NET_DEV, forbidden);
    expect(found.map(({ addresses }) => addresses.length)).toEqual([0, 0, 0]);
  });

  test("this host has a loopback interface", () => {
    const all = networkInterfaces().flatMap(({ addresses }) => addresses.map(({ address }) => address));
    expect(all.some((address) => address === "127.0.0.1" || address === "::1")).toBe(true);
  });
});

test.each([
  ["synchronised", '[ "$*" = "show --property=NTPSynchronized --value" ] && echo yes', true],
  ["not synchronised", "echo no", false],
  ["no systemd to ask", "echo 'Failed to connect to bus' >&2; exit 1", false],
  ["no timedatectl", null, false],
])("the clock: %s", async (_, script, expected) => {
  const folder = temporaryDirectory();
  const program = join(folder, "timedatectl");
  if (script !== null) await Bun.write(program, `#!/bin/sh\n${script}\n`);
  if (script !== null) chmodSync(program, 0o755);
  expect(await isClockSynchronised(folder)).toBe(expected);
});
