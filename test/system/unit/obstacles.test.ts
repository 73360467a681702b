import { describe, expect, test } from "bun:test";
import { confinementOf } from "../../../src/system/unit/confinement.ts";
import { mannersOf } from "../../../src/system/unit/manners.ts";
import { type Need, obstaclesOf } from "../../../src/system/unit/obstacles.ts";

const unit = (...lines: string[]) => confinementOf(["[Service]", ...lines].join("\n"));

function need(path: string, more: Partial<Need> = {}): Need {
  return { what: "eda: tool", path, realPath: path, access: "run", mayShow: true, ...more };
}

interface Case {
  readonly unit: readonly string[];
  readonly need: Need;
  /** Null = nothing is in the way. */
  readonly message: string | null;
  readonly dropIn?: readonly string[];
}

const log = (path: string) => need(path, { access: "read" });
const store = (path: string) => need(path, { access: "write" });

const CASES: Case[] = [
  {
    unit: ["ProtectHome=yes"],
    need: need("/home/lic/lmutil"),
    message: "/home/lic/lmutil lies under /home, which ProtectHome=yes hides from the service",
    dropIn: ["ProtectHome=read-only"],
  },
  { unit: ["ProtectHome=read-only"], need: need("/home/lic/lmutil"), message: null },
  { unit: ["ProtectHome=yes"], need: need("/homes/lic/lmutil"), message: null },
  {
    unit: ["ProtectHome=yes"],
    need: need("/opt/lmutil", { realPath: "/root/tools/lmutil" }),
    message:
      "/opt/lmutil, which leads to /root/tools/lmutil, lies under /root, which ProtectHome=yes hides from the service",
    dropIn: ["ProtectHome=read-only"],
  },
  {
    unit: ["ProtectHome=tmpfs"],
    need: need("/home/lic/lmutil"),
    message: "/home/lic/lmutil lies under /home, which ProtectHome=tmpfs hides from the service",
    dropIn: ["BindReadOnlyPaths=/home/lic/lmutil"],
  },
  {
    unit: ["ProtectHome=tmpfs", "BindReadOnlyPaths=/home/lic"],
    need: need("/home/lic/lmutil"),
    message: null,
  },
  {
    // What is inaccessible stays so: systemd drops what is bound below it.
    unit: ["ProtectHome=yes", "BindReadOnlyPaths=/home/lic"],
    need: need("/home/lic/lmutil"),
    message: "/home/lic/lmutil lies under /home, which ProtectHome=yes hides from the service",
    dropIn: ["ProtectHome=read-only"],
  },
  {
    unit: ["ProtectHome=yes", "ProtectSystem=strict"],
    need: store("/home/lic/data"),
    message: "/home/lic/data lies under /home, which ProtectHome=yes hides from the service",
    dropIn: ["ProtectHome=read-only", "ReadWritePaths=/home/lic/data"],
  },
  {
    unit: ["PrivateTmp=yes"],
    need: log("/tmp/lmgrd.log"),
    message: "/tmp/lmgrd.log lies under /tmp, of which the service has one of its own (PrivateTmp=yes)",
    dropIn: ["PrivateTmp=no"],
  },
  {
    unit: ["PrivateTmp=yes"],
    need: log("/usr/tmp/lmgrd.log"),
    message: null,
  },
  {
    unit: ["PrivateTmp=yes"],
    need: { ...log("/usr/tmp/lmgrd.log"), realPath: "/var/tmp/lmgrd.log" },
    message:
      "/usr/tmp/lmgrd.log, which leads to /var/tmp/lmgrd.log, lies under /var/tmp, of which the service has one of its own (PrivateTmp=yes)",
    dropIn: ["PrivateTmp=no"],
  },
  { unit: ["PrivateTmp=yes", "BindPaths=/tmp/logs"], need: log("/tmp/logs/lmgrd.log"), message: null },
  {
    unit: ["PrivateDevices=yes"],
    need: log("/dev/sdb1"),
    message: "/dev/sdb1 is a device, which PrivateDevices=yes hides from the service",
    dropIn: ["PrivateDevices=no", "DeviceAllow=/dev/sdb1"],
  },
  { unit: ["PrivateDevices=yes"], need: log("/dev/null"), message: null },
  { unit: ["PrivateDevices=yes"], need: log("/dev/shm/lmgrd.log"), message: null },
  {
    unit: ["InaccessiblePaths=/srv", "InaccessiblePaths=/mnt"],
    need: log("/srv/log"),
    message: "/srv/log lies under /srv, which InaccessiblePaths=/srv hides from the service",
    dropIn: ["InaccessiblePaths=", "InaccessiblePaths=/mnt"],
  },
  {
    unit: ["TemporaryFileSystem=/srv:ro"],
    need: log("/srv/log"),
    message: "/srv/log lies under /srv, which TemporaryFileSystem=/srv hides from the service",
    dropIn: ["BindReadOnlyPaths=/srv/log"],
  },
  {
    unit: ["ProtectSystem=strict", "StateDirectory=licmond"],
    need: store("/srv/licmond"),
    message: "/srv/licmond cannot be written by the service: ProtectSystem=strict makes it read-only",
    dropIn: ["ReadWritePaths=/srv/licmond"],
  },
  {
    unit: ["ProtectSystem=strict", "StateDirectory=licmond"],
    need: store("/var/lib/licmond"),
    message: null,
  },
  { unit: ["ProtectSystem=strict", "ReadWritePaths=/srv"], need: store("/srv/licmond"), message: null },
  { unit: ["ProtectSystem=full"], need: store("/srv/licmond"), message: null },
  {
    unit: ["ProtectSystem=full"],
    need: store("/etc/licmond/data"),
    message: "/etc/licmond/data cannot be written by the service: ProtectSystem=full makes it read-only",
    dropIn: ["ReadWritePaths=/etc/licmond/data"],
  },
  {
    unit: ["ReadWritePaths=/srv", "ReadOnlyPaths=/srv/licmond"],
    need: store("/srv/licmond"),
    message: "/srv/licmond cannot be written by the service: ReadOnlyPaths=/srv/licmond makes it read-only",
    dropIn: ["ReadOnlyPaths="],
  },
  {
    unit: ["ReadWritePaths=/srv", "ReadOnlyPaths=/srv", "ReadOnlyPaths=/opt"],
    need: store("/srv/licmond"),
    message: "/srv/licmond cannot be written by the service: ReadOnlyPaths=/srv makes it read-only",
    dropIn: ["ReadOnlyPaths=", "ReadOnlyPaths=/opt"],
  },
  { unit: ["ReadWritePaths=/srv/licmond", "ReadOnlyPaths=/srv"], need: store("/srv/licmond"), message: null },
  { unit: ["ProtectSystem=strict"], need: log("/etc/lic.dat"), message: null },
  {
    unit: ["NoExecPaths=/", "ExecPaths=/usr"],
    need: need("/opt/lmutil"),
    message: "/opt/lmutil cannot be run by the service: NoExecPaths=/ forbids it",
    dropIn: ["ExecPaths=/opt/lmutil"],
  },
  { unit: ["NoExecPaths=/", "ExecPaths=/usr /opt"], need: need("/opt/lmutil"), message: null },
  {
    unit: ["SystemCallArchitectures=native"],
    need: need("/opt/lmutil", { is32Bit: true }),
    message: "/opt/lmutil is a 32-bit program, and SystemCallArchitectures=native kills those",
    dropIn: ["SystemCallArchitectures=x86"],
  },
  { unit: ["SystemCallArchitectures=native x86"], need: need("/opt/l", { is32Bit: true }), message: null },
  { unit: [], need: need("/opt/l", { is32Bit: true }), message: null },
  {
    unit: ["ProtectHome=yes"],
    need: { ...log("/home/lic/secret"), mayShow: false },
    message: "the file lies under /home, which ProtectHome=yes hides from the service",
    dropIn: ["ProtectHome=read-only"],
  },
];

describe("what is in the way", () => {
  test.each(CASES)(
    "$unit, $need.access $need.path: $message",
    ({ unit: lines, need: asked, message, dropIn }) => {
      expect(obstaclesOf(unit(...lines), [asked])).toEqual(
        message === null ? [] : [{ need: asked, message, dropIn: dropIn ?? [] }],
      );
    },
  );

  test("the lines told take it out of the way", () => {
    for (const { unit: lines, need: asked, dropIn = [] } of CASES) {
      expect({ lines, left: obstaclesOf(unit(...lines, ...dropIn), [asked]) }).toEqual({ lines, left: [] });
    }
  });
});

test("no line helps a set-user-ID program: it may do without its rights, and one that runs another does not", () => {
  const sudo = { setsId: true, runsAnother: true };
  const found = (more: Partial<Need>, ...lines: string[]) =>
    obstaclesOf(unit(...lines), [need("/opt/x", more)]);
  const message =
    "/opt/x is a set-user-ID or set-group-ID program, to which NoNewPrivileges=yes gives no more rights than the service has";
  const asLicmond = ["NoNewPrivileges=yes", "User=licmond"];
  expect(found({ setsId: true }, ...asLicmond)).toMatchObject([
    { message, dropIn: [], isBearable: true, fix: "give what it reads to licmond" },
  ]);
  expect(found(sudo, ...asLicmond)).toMatchObject([
    { message, isBearable: false, fix: expect.stringContaining("name the program that it runs alone") },
  ]);
  expect(found(sudo, "User=licmond")).toEqual([]);
  expect(found({ runsAnother: true }, ...asLicmond)).toEqual([]);
});

test.each([
  [["MemoryDenyWriteExecute=yes"], 8080, ["MemoryDenyWriteExecute=no"], true],
  [["ProcSubset=pid"], 8080, ["ProcSubset=all"], true],
  [["PrivateNetwork=yes"], 8080, ["PrivateNetwork=no"], false],
  [["IPAddressDeny=any"], 8080, [], false],
  [
    ["User=licmond"],
    443,
    ["AmbientCapabilities=CAP_NET_BIND_SERVICE", "CapabilityBoundingSet=CAP_NET_BIND_SERVICE"],
    false,
  ],
])("%j harms a daemon on port %d", (lines, port, dropIn, isBearable) => {
  expect(mannersOf(unit(...lines), port)).toMatchObject([{ dropIn, isBearable }]);
  if (dropIn.length > 0) expect(mannersOf(unit(...lines, ...dropIn), port)).toEqual([]);
});

test("what harms nobody", () => {
  const lines = ["IPAddressDeny=any", "IPAddressAllow=10.0.0.0/8", "User=licmond"];
  expect(mannersOf(unit(...lines), 8080)).toEqual([]);
  expect(mannersOf(unit(...lines), 0)).toEqual([]);
  expect(mannersOf(unit("User=root"), 443)).toEqual([]);
});
