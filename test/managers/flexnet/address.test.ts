import { describe, expect, test } from "bun:test";
import { flexnet } from "../../../src/managers/flexnet/index.ts";

describe("addresses", () => {
  test.each([
    ["27000@lic1", "lic1 27000"],
    ["@lic1.example.com", "lic1.example.com null"],
    ["1@10.0.0.1", "10.0.0.1 1"],
    ["65535@[2001:db8::1]", "2001:db8::1 65535"],
    ["27000@a,@b,28000@c_d", "a 27000, b null, c_d 28000"],
    ["/opt/flex/license.lic", ""],
    ["C:\\Flex Net\\license.lic", ""],
    ["\\\\share\\license.lic", ""],
  ])("%s", (address, expected) => {
    const parsed = flexnet.parseAddress(address);
    if ("problem" in parsed) throw new Error(parsed.problem);
    expect(parsed.members.map(({ host, port }) => `${host} ${port}`).join(", ")).toBe(expected);
  });

  const bad: [string, RegExp][] = [
    ["", /empty/],
    ["-a@lic", /option/],
    ["27000@-lic", /not port@host/],
    ["27000@lic\n", /control/],
    ["27000@lic\u0000", /control/],
    ["27000@lic;rm", /not port@host/],
    ["27000@lic $(id)", /blanks/],
    ["27000@a:27000@b", /list of servers/],
    ["27000@a;27000@b", /list of servers/],
    ["/opt/a.lic:/opt/b.lic", /list of files/],
    ["27000@a,27000@b", /2 members/],
    ["1@a,2@b,3@c,4@d", /4 members/],
    ["27000@a,,27000@b", /empty/],
    ["lic1", /no @/],
    ["license.lic", /no @/],
    ["licenses/license.lic", /absolute/],
    ["27000@2001:db8::1", /brackets/],
    ["0@lic", /between 1 and 65535/],
    ["65536@lic", /between 1 and 65535/],
    ["x@lic", /not port@host/],
    ["27000@", /not port@host/],
  ];
  test.each(bad)("%j is refused with a reason and the right form", (address, reason) => {
    const parsed = flexnet.parseAddress(address);
    if (!("problem" in parsed)) throw new Error("not refused");
    expect(parsed.problem).toMatch(reason);
    expect(parsed.problem).toContain("27000@lic1");
    expect(parsed.problem).not.toMatch(/[\u0000-\u001f]/);
  });
});

describe("the command", () => {
  test.each([
    [["lmutil"], "lmutil lmstat -a -i -c @lic"],
    [["/opt/flex/lmutil"], "/opt/flex/lmutil lmstat -a -i -c @lic"],
    [["/opt/flex/lmstat"], "/opt/flex/lmstat -a -i -c @lic"],
    [["C:\\Flex\\LMSTAT.EXE"], "C:\\Flex\\LMSTAT.EXE -a -i -c @lic"],
    [["ssh", "gate", "lmutil"], "ssh gate lmutil lmstat -a -i -c @lic"],
  ])("of %j", (tool, argv) => {
    expect(flexnet.command(tool, "@lic")).toEqual({ argv: argv.split(" "), env: {} });
  });
});
