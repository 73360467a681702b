import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { confinementOf } from "../../../src/system/unit/confinement.ts";
import { parseUnit } from "../../../src/system/unit/unit-file.ts";

describe("the text of a unit", () => {
  test.each([
    ["[Service]\nA=1\nA=2", ["1", "2"]],
    ["[Service]\nA=1\nA=\nA=2", ["2"]],
    ["[Service]\nA=1\nA=", []],
    ["[Service]\nA=one 'two words' \"three more words\"", ["one", "two words", "three more words"]],
    ["[Service]\nA=one \\\n  two", ["one", "two"]],
    ["[Service]\nA=one \\\n# said between\n; and this\n  two", ["one", "two"]],
    ["[Service]\n#A=1\n;A=2\n A = 3 ", ["3"]],
    ["[Unit]\nA=1\n[Service]\nB=2", []],
    // A drop-in behind the unit, as `systemctl cat` prints them.
    [
      "# /etc/x.service\n[Service]\nA=1\n\n[Install]\nA=9\n# /etc/x.service.d/o.conf\n[Service]\nA=2",
      ["1", "2"],
    ],
    ["no unit at all\0", []],
  ])("%j assigns %j", (text, words) => expect([...parseUnit(text).words("A")]).toEqual(words));

  test.each([
    ["yes", true],
    ["TRUE", true],
    ["on", true],
    ["1", true],
    ["no", false],
    ["", false],
    ["read-only", false],
  ])("%s is %p", (word, on) => expect(parseUnit(`[Service]\nA=no\nA=${word}`).isOn("A")).toBe(on));
});

test("the unit that is shipped", async () => {
  const text = await Bun.file(join(import.meta.dir, "../../../systemd/licmond.service")).text();
  expect(confinementOf(text)).toMatchObject({
    ...{ user: "licmond", group: "licmond", supplementaryGroups: [], dynamicUser: false },
    ...{ protectHome: "yes", protectSystem: "strict", privateTmp: true, privateDevices: true },
    ...{
      writable: ["/var/lib/licmond"],
      architectures: ["native", "x86"],
      credentials: [],
      configFile: null,
    },
    ...{ memoryDenyWriteExecute: false, procSubset: null, privateNetwork: false, mayBindLowPorts: false },
  });
});

test("a drop-in changes it", () => {
  const text = `[Service]
ProtectHome=yes
LoadCredential=a:/etc/a
ExecStart=/usr/bin/licmond serve --config /etc/a.toml
[Service]
ProtectHome=tmpfs
BindReadOnlyPaths=/home/lic /srv/x:/opt/y:norbind
BindReadOnlyPaths=-/opt/maybe/
ReadWritePaths=-/srv/one +/srv/two/
InaccessiblePaths=/
LoadCredential=b:/etc/b
SetCredential="c:some words"
SupplementaryGroups=flexlm 1005
Environment="PATH=/opt/bin:/bin" A=b
TemporaryFileSystem=/var:ro
StateDirectory=licmond extra:other
AmbientCapabilities=CAP_NET_BIND_SERVICE
User=lic`;
  expect(confinementOf(text)).toMatchObject({
    ...{ protectHome: "tmpfs", binds: ["/home/lic", "/opt/y", "/opt/maybe"], inaccessible: ["/"] },
    ...{ writable: ["/srv/one", "/srv/two", "/var/lib/licmond", "/var/lib/extra"], emptied: ["/var"] },
    credentials: [
      { name: "a", source: "/etc/a" },
      { name: "b", source: "/etc/b" },
      { name: "c", source: null },
    ],
    ...{ supplementaryGroups: ["flexlm", "1005"], path: "/opt/bin:/bin", configFile: "/etc/a.toml" },
    ...{ user: "lic", mayBindLowPorts: true },
  });
});

test("DynamicUser= brings its own confinement", () => {
  expect(confinementOf("[Service]\nDynamicUser=yes")).toMatchObject({
    ...{ dynamicUser: true, protectHome: "read-only", protectSystem: "strict", privateTmp: true },
  });
});
