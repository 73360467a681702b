import { describe, expect, test } from "bun:test";
import type { ManagerName } from "../../src/domain/words.ts";
import { managerOf } from "../../src/managers/registry.ts";

const parse = (manager: ManagerName, address: string) => {
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
    ["dsls", "4084@lic1", "lic1 4084"],
    ["dsls", "lic1.example.com", "lic1.example.com 4084"],
    ["dsls", "14084@10.0.0.1", "10.0.0.1 14084"],
    ["dsls", "[2001:db8::1]", "2001:db8::1 4084"],
    ["dsls", "lic1,4085@lic2,lic3", "lic1 4084, lic2 4085, lic3 4084"],
    ["lmx", "6200@lic1", "lic1 6200"],
    ["lmx", "lic1.example.org", "lic1.example.org 6200"],
    ["lmx", "6300@[2001:db8::1]", "2001:db8::1 6300"],
    ["lmx", "6200@a,6201@b,6200@c", "a 6200, b 6201, c 6200"],
    ["lmx", "6200@a:b;c", "a 6200, b 6200, c 6200"],
    ["rms", "lic1.example.org", "lic1.example.org null"],
    ["rms", "10.0.0.7", "10.0.0.7 null"],
    ["rms", "2001:db8::1", "2001:db8::1 null"],
  ])("%s accepts %s", (manager, address, members) => {
    expect(parse(manager, address)).toBe(members);
  });

  test.each<[ManagerName, string, RegExp]>([
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
    ["dsls", "", /empty/],
    ["dsls", "lic1,", /not a host name/],
    ["dsls", "lic1,lic2", /got 2/],
    ["dsls", "lic1,LIC1,lic3", /twice/],
    ["dsls", "0@lic1", /not a port/],
    ["dsls", "x@lic1", /not a port/],
    ["dsls", "lic1; quit", /blanks/],
    ["dsls", "lic1\nquit", /control/],
    ["dsls", "lic1;quit", /not a host name/],
    ["dsls", "-run", /not a host name/],
    ["dsls", "4084@", /not a host name/],
    ["dsls", "lic1:4084", /not a host name/],
    ["lmx", "", /empty/],
    ["lmx", "6200@a b", /blanks/],
    ["lmx", "6200@a\0", /control/],
    ["lmx", "-licstat", /not a host name/],
    ["lmx", "6200@-host", /not a host name/],
    ["lmx", "6200@a$(id)", /not a host name/],
    ["lmx", "0@a", /not a port/],
    ["lmx", "99999@a", /not a port/],
    ["lmx", "@a", /not a port/],
    ["lmx", "6200@a,6200@b", /got 2/],
    ["lmx", "a,b,A", /twice/],
    ["lmx", "a,b,", /not a host name/],
    ["lmx", "/opt/site.lic", /not a host name/],
    ["rms", "", /empty/],
    ["rms", "60", /interval/],
    ["rms", "5093@lic1", /no port/],
    ["rms", "lic 1", /blanks/],
    ["rms", "lic\0", /control/],
    ["rms", "-v", /not a host name/],
    ["rms", "a$(id)", /not a host name/],
    ["rms", "lic1,lic2", /not a host name/],
  ])("%s rejects %j with a reason", (manager, address, reason) => {
    const problem = parse(manager, address);
    expect(problem).toMatch(reason);
    expect(problem).not.toMatch(/[\u0000-\u001f]/);
    if (manager !== "rlm") expect(problem).toMatch(/Expected .*lic1/);
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
  ["rms", ["/opt/rms/lsmon"], "/opt/rms/lsmon @lic"],
])("%s runs %j with the address", (manager, tool, argv) => {
  const [step, ...more] = managerOf(manager).steps(tool, "@lic");
  expect(step).toMatchObject({ argv: argv.split(" "), env: {} });
  expect(more).toEqual([]);
});
