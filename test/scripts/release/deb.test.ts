import { describe, expect, test } from "bun:test";
import { debianVersion, packagedUnit } from "../../../scripts/lib/release/deb.ts";
import { elfNeeds, libcDependency } from "../../../scripts/lib/release/elf-needs.ts";

const unitText = (name: string) => Bun.file(new URL(`../../../systemd/${name}`, import.meta.url)).text();

describe("debianVersion", () => {
  test.each([
    ["0.1.0", "0.1.0-1"],
    ["12.3.4", "12.3.4-1"],
    ["1.3.0-rc.1", "1.3.0~rc.1-1"],
    ["1.3.0-beta-2", "1.3.0~beta.2-1"],
  ])("%s → %s", (version, debian) => {
    expect(debianVersion(version)).toBe(debian);
  });

  test.each(["1.2", "v1.2.3", "1.2.3+build", "1.2.3\nDepends: x", ""])("rejects %j", (version) => {
    expect(() => debianVersion(version)).toThrow("is not a version of the form");
  });
});

describe("packagedUnit", () => {
  test.each([
    ["licmond.service", "serve"],
    ["licmond-hub.service", "hub --config /etc/licmond/hub.toml"],
  ])("%s differs only in the path of the binary", async (name, command) => {
    const unit = await unitText(name);
    const packaged = packagedUnit(unit);
    expect(packaged).toContain(`\nExecStart=/usr/bin/licmond ${command}\n`);
    expect(packaged).not.toContain("/usr/local");
    expect(packaged.replaceAll("/usr/bin/licmond", "/usr/local/bin/licmond")).toBe(unit);
  });

  test("rejects a unit that starts something else", () => {
    expect(() => packagedUnit("[Service]\nExecStart=/opt/licmond serve\n")).toThrow("does not start");
  });
});

describe("elfNeeds", () => {
  test.skipIf(Bun.which("readelf") === null)("agrees with readelf about the running Bun", async () => {
    const needs = elfNeeds(await Bun.file(process.execPath).bytes());
    const printed = Bun.spawnSync(["readelf", "-d", "-V", "-W", process.execPath]).stdout.toString();
    const libraries = [...printed.matchAll(/\(NEEDED\).*\[(.*)\]/g)].map(([, name]) => name);
    expect(libraries.length).toBeGreaterThan(0);
    expect([...needs.libraries]).toEqual(libraries as string[]);
    const section = printed.slice(printed.indexOf(".gnu.version_r"));
    const versions = [...section.matchAll(/Name: (\S+)\s+Flags/g)].map(([, name]) => name as string);
    expect(versions.length).toBeGreaterThan(0);
    expect([...needs.versions.values()].flat().sort()).toEqual(versions.sort());
  });

  test.each([
    ["a script", new TextEncoder().encode(`#!/bin/sh\n${"#".repeat(80)}`)],
    ["nothing", new Uint8Array()],
    ["a 32-bit file", Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 1, 1, ...new Array<number>(64).fill(0)])],
  ])("rejects %s", (_, bytes) => {
    expect(() => elfNeeds(bytes)).toThrow("not a 64-bit");
  });
});

test.each([
  [
    "the newest version by its numbers",
    ["libc.so.6"],
    ["GLIBC_2.9", "GLIBC_2.17", "GLIBC_2.2.5"],
    "libc6 (>= 2.17)",
  ],
  ["versions without numbers are ignored", ["libc.so.6", "libm.so.6"], ["GLIBC_PRIVATE"], "libc6"],
])("libcDependency: %s", (_, libraries, versions, depends) => {
  expect(libcDependency({ machine: 62, libraries, versions: new Map([["libc.so.6", versions]]) })).toBe(
    depends,
  );
});

test("libcDependency: a library of another package is an error", () => {
  const needs = { machine: 62, libraries: ["libc.so.6", "libssl.so.3"], versions: new Map() };
  expect(() => libcDependency(needs)).toThrow("libssl.so.3");
});
