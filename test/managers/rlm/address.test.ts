import { describe, expect, test } from "bun:test";
import { rlm } from "../../../src/managers/rlm/index.ts";

const membersOf = ({ members }: { readonly members: readonly { host: string; port: number | null }[] }) =>
  members.map(({ host, port }) => `${host} ${port}`).join(", ");

describe("parseAddress", () => {
  test.each([
    ["5053@lic1", "lic1 5053"],
    ["@lic1", "lic1 5053"],
    ["lic1.example.org", "lic1.example.org 5053"],
    ["27007@a:27008@b", "a 27007, b 27008"],
    ["27007@a;27007@b", "a 27007, b 27007"],
    ["5053@[::1]:5053@b", "[::1] 5053, b 5053"],
    ["/opt/rlm/licenses/5053@odd.lic", ""],
    ["C:\\rlm\\site.lic", ""],
    ["site.lic", ""],
  ])("%s", (address, members) => {
    const parsed = rlm.parseAddress(address);
    expect("problem" in parsed ? parsed.problem : membersOf(parsed)).toBe(members);
  });

  test.each([
    ["", /empty/],
    [" 5053@a", /blank/],
    ["5053@a\n", /blank/],
    ["5053@a\0b", /control/],
    ["-z", /option/],
    ["5053", /port without a host/],
    ["5053@", /not a host name/],
    ["5053@a b", /not a host name/],
    ["5053@a$(id)", /not a host name/],
    ["99999@a", /not a port; expected 1 to 65535/],
    ["0@a", /not a port/],
    ["x@a", /not a port/],
    ["5053@a,5053@b,5053@c", /comma/],
    ["5053@a:", /missing/],
    ["5053@a:5053@A", /twice/],
  ])("%j is refused", (address, problem) => {
    const parsed = rlm.parseAddress(address);
    expect("problem" in parsed ? parsed.problem : "accepted").toMatch(problem);
  });
});

describe("command", () => {
  test.each([
    [["rlmutil"], "rlmutil rlmstat -a -c 5053@a"],
    [["/opt/rlm/rlmstat"], "/opt/rlm/rlmstat -a -c 5053@a"],
    [["C:\\rlm\\RLMSTAT.EXE"], "C:\\rlm\\RLMSTAT.EXE -a -c 5053@a"],
    [["ssh", "gate", "rlmutil"], "ssh gate rlmutil rlmstat -a -c 5053@a"],
  ])("%j", (tool, argv) => {
    expect(rlm.command(tool, "5053@a")).toEqual({ argv: argv.split(" "), env: {} });
  });
});
