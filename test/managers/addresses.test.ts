import { describe, expect, test } from "bun:test";
import { managerOf } from "../../src/managers/registry.ts";

const parse = (manager: "flexnet" | "rlm", address: string) => {
  const parsed = managerOf(manager).parseAddress(address);
  if ("problem" in parsed) return parsed.problem;
  return parsed.members.map(({ host, port }) => `${host} ${port}`).join(", ");
};

describe("addresses", () => {
  test.each([
    ["flexnet", "27000@lic1", "lic1 27000"],
    ["flexnet", "@lic1.example.com", "lic1.example.com null"],
    ["flexnet", "1@10.0.0.1", "10.0.0.1 1"],
    ["flexnet", "65535@[2001:db8::1]", "2001:db8::1 65535"],
    ["flexnet", "27000@a,@b,28000@c_d", "a 27000, b null, c_d 28000"],
    ["flexnet", "/opt/flex/license.lic", ""],
    ["flexnet", "C:\\Flex Net\\license.lic", ""],
    ["flexnet", "\\\\share\\license.lic", ""],
    ["rlm", "5053@lic1", "lic1 5053"],
    ["rlm", "@lic1", "lic1 5053"],
    ["rlm", "lic1.example.org", "lic1.example.org 5053"],
    ["rlm", "27007@a:27008@b", "a 27007, b 27008"],
    ["rlm", "27007@a;27007@b", "a 27007, b 27007"],
    ["rlm", "5053@[::1]:5053@b", "[::1] 5053, b 5053"],
    ["rlm", "/opt/rlm/licenses/5053@odd.lic", ""],
    ["rlm", "C:\\rlm\\site.lic", ""],
    ["rlm", "site.lic", ""],
  ] as const)("%s %s", (manager, address, members) => {
    expect(parse(manager, address)).toBe(members);
  });

  test.each<["flexnet" | "rlm", string, RegExp]>([
    ["flexnet", "", /empty/],
    ["flexnet", "-a@lic", /option/],
    ["flexnet", "27000@-lic", /not port@host/],
    ["flexnet", "27000@lic\n", /control/],
    ["flexnet", "27000@lic\u0000", /control/],
    ["flexnet", "27000@lic;rm", /not port@host/],
    ["flexnet", "27000@lic $(id)", /blanks/],
    ["flexnet", "27000@a:27000@b", /list of servers/],
    ["flexnet", "27000@a;27000@b", /list of servers/],
    ["flexnet", "/opt/a.lic:/opt/b.lic", /list of files/],
    ["flexnet", "27000@a,27000@b", /got 2/],
    ["flexnet", "1@a,2@b,3@c,4@d", /got 4/],
    ["flexnet", "27000@a,,27000@b", /empty/],
    ["flexnet", "lic1", /no @/],
    ["flexnet", "license.lic", /no @/],
    ["flexnet", "licenses/license.lic", /absolute/],
    ["flexnet", "27000@2001:db8::1", /brackets/],
    ["flexnet", "0@lic", /between 1 and 65535/],
    ["flexnet", "65536@lic", /between 1 and 65535/],
    ["flexnet", "x@lic", /not port@host/],
    ["flexnet", "27000@", /not port@host/],
    ["rlm", "", /empty/],
    ["rlm", " 5053@a", /blank/],
    ["rlm", "5053@a\n", /blank/],
    ["rlm", "5053@a\0b", /control/],
    ["rlm", "-z", /option/],
    ["rlm", "5053", /port without a host/],
    ["rlm", "5053@", /invalid host name/],
    ["rlm", "5053@a b", /invalid host name/],
    ["rlm", "5053@a$(id)", /invalid host name/],
    ["rlm", "99999@a", /invalid port "99999".*expected 1 to 65535/],
    ["rlm", "0@a", /invalid port/],
    ["rlm", "x@a", /invalid port/],
    ["rlm", "5053@a,5053@b,5053@c", /comma/],
    ["rlm", "5053@a:", /empty server/],
    ["rlm", "5053@a:5053@A", /duplicate/],
  ])("%s %j is refused with a reason", (manager, address, reason) => {
    const problem = parse(manager, address);
    expect(problem).toMatch(reason);
    expect(problem).not.toMatch(/[\u0000-\u001f]/);
    if (manager === "flexnet") expect(problem).toContain("27000@lic1");
  });
});

test.each([
  ["flexnet", ["lmutil"], "lmutil lmstat -a -i -c @lic"],
  ["flexnet", ["/opt/flex/lmutil"], "/opt/flex/lmutil lmstat -a -i -c @lic"],
  ["flexnet", ["/opt/flex/lmstat"], "/opt/flex/lmstat -a -i -c @lic"],
  ["flexnet", ["C:\\Flex\\LMSTAT.EXE"], "C:\\Flex\\LMSTAT.EXE -a -i -c @lic"],
  ["flexnet", ["ssh", "gate", "lmutil"], "ssh gate lmutil lmstat -a -i -c @lic"],
  ["rlm", ["rlmutil"], "rlmutil rlmstat -a -c @lic"],
  ["rlm", ["/opt/rlm/rlmstat"], "/opt/rlm/rlmstat -a -c @lic"],
  ["rlm", ["C:\\rlm\\RLMSTAT.EXE"], "C:\\rlm\\RLMSTAT.EXE -a -c @lic"],
  ["rlm", ["ssh", "gate", "rlmutil"], "ssh gate rlmutil rlmstat -a -c @lic"],
] as const)("the command of %s's %j", (manager, tool, argv) => {
  const [step, ...more] = managerOf(manager).steps(tool, "@lic");
  expect(step).toMatchObject({ argv: argv.split(" "), env: {} });
  expect(more).toEqual([]);
});
