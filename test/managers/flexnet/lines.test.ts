import { describe, expect, test } from "bun:test";
import { parseHeader, parseOddHeader } from "../../../src/managers/flexnet/block.ts";
import { parseKind, parsePool, parseReservation } from "../../../src/managers/flexnet/block-lines.ts";
import { readIdentity } from "../../../src/managers/flexnet/identity.ts";
import { createStartTimes } from "../../../src/managers/flexnet/start-time.ts";
import { parseToolError } from "../../../src/managers/flexnet/status-lines.ts";
import { parseTableHeader, parseTableRow, type TableOrder } from "../../../src/managers/flexnet/table.ts";
import { createKnownHosts } from "../../../src/managers/manager.ts";

type Split = [user: string, host: string | null, display: string | null, qualifier: string | null];

function split(text: string, known: string[] = []): { parts: Split; guessed: boolean; learnt: string[] } {
  const hosts = createKnownHosts(known);
  const { user, host, display, qualifier, guessed } = readIdentity(text, 0, text.length, hosts);
  return { parts: [user, host, display, qualifier], guessed, learnt: hosts.list() };
}

describe("an identity is split by its evidence", () => {
  const rows: [string, Split, string[]][] = [
    ["amira", ["amira", null, null, null], []],
    ["amira pc-1", ["amira", "pc-1", null, null], []],
    ["amira /dev/pts/1", ["amira", null, "/dev/pts/1", null], []],
    ["amira :0.0", ["amira", null, ":0.0", null], []],
    ["amira pc-1:0", ["amira", null, "pc-1:0", null], []],
    ["1 pc-1 pc-1", ["1", "pc-1", "pc-1", null], []],
    ["DOM\\amira$ pc-1 display", ["DOM\\amira$", "pc-1", "display", null], []],
    ["amira /dev/tty batch", ["amira", null, "/dev/tty", "batch"], []],
    // The word after the host equals the host or extends it.
    ["Jane Doe Jr. pc-1 pc-1", ["Jane Doe Jr.", "pc-1", "pc-1", null], []],
    ["amira PC-1 pc-1.0 VLS_GXL", ["amira", "PC-1", "pc-1.0", "VLS_GXL"], []],
    ["amira pc-1 pc-1:0.0 Single Core Engine", ["amira", "pc-1", "pc-1:0.0", "Single Core Engine"], []],
    // The host is known from other lines.
    ["Jane  Doe pc-1 xyz", ["Jane  Doe", "pc-1", "xyz", null], ["PC-1"]],
    ["Jane Doe pc-1 xyz tool", ["Jane Doe", "pc-1", "xyz", "tool"], ["pc-1"]],
    // The word before a display is the host.
    ["Jane Doe pc-1 /dev/pts/2", ["Jane Doe", "pc-1", "/dev/pts/2", null], []],
    ["amira pc-1 NoXDisplay 88123", ["amira", "pc-1", "NoXDisplay", "88123"], []],
    ["amira pc-1 local feature=x", ["amira", "pc-1", "local", "feature=x"], []],
    ["amira pc-1 :0 ab abc", ["amira", "pc-1", ":0", "ab abc"], []],
    ["Jane doe pc-1 :0 tool", ["Jane doe", "pc-1", ":0", "tool"], ["doe", "pc-1"]],
    ["Jane Doe Jr. jane", ["Jane Doe Jr.", "jane", null, null], ["jane"]],
    // A known host before an encrypted display, which contains blanks.
    ["amira pc-1 ab c&d", ["amira", "pc-1", "ab c&d", null], ["pc-1"]],
    ["John Doe pc-1 a%b c", ["John Doe", "pc-1", "a%b", "c"], ["doe", "pc-1"]],
    ["Jane Doe pc-1 gate:10.0 la8c_1", ["Jane Doe", "pc-1", "gate:10.0", "la8c_1"], []],
  ];
  test.each(rows)("%j", (text, parts, known) => {
    expect(split(text, known)).toMatchObject({ parts, guessed: false });
  });

  const guesses: [string, Split][] = [
    ["amira pc-1 x11 MSCONE:ADAMS_View", ["amira", "pc-1", "x11", "MSCONE:ADAMS_View"]],
    ["emil pc-1 fj209 2017.06", ["emil", "pc-1", "fj209", "2017.06"]],
    ["root pc-1 |)8<f Z)=Y[", ["root", "pc-1", "|)8<f Z)=Y[", null]],
    ["amira pc-1 x11 feature=x", ["amira", "pc-1", "x11 feature=x", null]],
    // The word before an encrypted display is the host.
    ['John Roe John_R "U,K$`Ct\'"C iQwgGsne<&!', ["John Roe", "John_R", '"U,K$`Ct\'"C iQwgGsne<&!', null]],
    ["Jane Roe Jr. jane icc&f3rU7|<7R/oW/r`?Fj", ["Jane Roe Jr.", "jane", "icc&f3rU7|<7R/oW/r`?Fj", null]],
    ["Sean O'Neil, Dr. pc-1 k|b", ["Sean O'Neil, Dr.", "pc-1", "k|b", null]],
  ];
  test.each(guesses)("%j has none", (text, parts) => {
    expect(split(text)).toMatchObject({ parts, guessed: true });
  });

  test("three words teach the host, others do not", () => {
    expect(split("amira PC-1 x").learnt).toEqual(["pc-1"]);
    expect(split("amira PC-1").learnt).toEqual([]);
    expect(split("amira PC-1 x y").learnt).toEqual([]);
    expect(split("amira /dev/tty x").learnt).toEqual([]);
  });

  test("only blanks divide words", () => {
    expect(split("a\u00a0b c\u2003d e\u3000f").parts).toEqual(["a\u00a0b", "c\u2003d", "e\u3000f", null]);
  });
});

describe("feature headers", () => {
  test.each([
    ["F:  (Total of 1 license issued;  Total of 0 licenses in use)", "F", 1, 0],
    ["F:  (Total of 5 licenses issued;  Total of 1 licenses in use)", "F", 5, 1],
    ["F: (Total of 5 licences issued; Total of 1 licence in use) ", "F", 5, 1],
    ["ARC/INFO:  (Total of 9999 licenses issued;  Total of 12 licenses in use)", "ARC/INFO", 9999, 12],
    ["111:  (Total of 2 licenses issued;  Total of 3 licenses in use)", "111", 2, 3],
    ["a:b: (x):  (Total of 2 licenses issued;  Total of 3 licenses in use)", "a:b: (x)", 2, 3],
  ])("Users of %s", (line, name, total, used) => {
    expect(parseHeader(`Users of ${line}`)).toEqual({ name, total, used, unlimited: false, error: null });
  });

  test.each([
    "Users of",
    "Users of F",
    "Users of F:  (Total of 1",
    "Users of F:  (Total of x licenses issued;  Total of 0 licenses in use)",
  ])("%j is none", (line) => expect(parseHeader(line)).toBeNull());

  test.each<[string, string, number | null, number | null]>([
    ["F: None", "F", null, 0],
    ["F:  (Total of 50 licenses issued;  Total of 2 licenses in use;  10 borrowable ones)", "F", 50, 2],
    ["a:b:  (Total of 1 license issued; 10 borrowable ones; Total of 1 license in use)", "a:b", 1, 1],
    ["F:  (Total of x licenses issued;  Total of 0 licenses in use)", "F", null, 0],
    ["F:  (Total of 5 licenses issued)", "F", 5, null],
    ["F: nobody knows", "F", null, null],
  ])("Users of %s is not wholly known", (line, name, total, used) => {
    expect(parseHeader(`Users of ${line}`)).toBeNull();
    expect(parseOddHeader(`Users of ${line}`)).toEqual({ name, total, used, unlimited: false, error: null });
  });

  test.each(["Users of F", "Users of : None", "Users ofF: None"])("%j has no name", (line) => {
    expect(parseOddHeader(line)).toBeNull();
  });
});

test.each<["unreachable" | "query", string, number | null, number | null, number | null]>([
  ["unreachable", 'Cannot connect. (-15,570:115 "Operation now in progress")', -15, 570, 115],
  ["unreachable", 'Cannot connect (-15,10:10061 "WinSock: Connection refused")', -15, 10, 10061],
  ["unreachable", "Server node is down or not responding (-96,7)", -96, 7, null],
  ["unreachable", "The desired vendor daemon is down. (-97,121)", -97, 121, null],
  ["unreachable", "lmgrd is not running", null, null, null],
  ["query", "Cannot read data from license server system. (-16,287)", -16, 287, null],
  ["query", "No such feature exists. (-5,222)", -5, 222, null],
  ["query", 'No file. (-1,359:2 "No (-7,8) file")', -1, 359, 2],
  ["query", "something else", null, null, null],
])("an error, %s: %s", (kind, message, major, minor, system) => {
  expect(parseToolError(message)).toEqual({ message, major, minor, system, kind });
});

describe("pool lines", () => {
  const rows: [string, string | null, string, string][] = [
    ['"F" v61.9, vendor: VEND', "v61.9", "VEND", "unknown"],
    ['"F" v37, vendor: V, expiry: 1-jan-0', "v37", "V", "permanent"],
    ['"F" v6.3, vendor: V, expiry: permanent(no expiration date)', "v6.3", "V", "permanent"],
    ['"F" v2015.0325, vendor: V, expiry: 30-dec-2025', "v2015.0325", "V", "2025-12-30"],
    ['"F" v1, vendor: V, expiry: 31-dec-99', "v1", "V", "1999-12-31"],
    ['"a", vendor: x" v1, vendor: V, expiry: 01-jan-0000', "v1", "V", "permanent"],
  ];
  test.each(rows)("%s", (line, version, vendor, expiry) => {
    const pool = parsePool(line, "UTC");
    expect(pool).toMatchObject({ version, vendor, understood: true });
    const { expiresOn, permanent } = pool?.expiry ?? { expiresOn: null, permanent: false };
    expect(permanent ? "permanent" : (expiresOn ?? "unknown")).toBe(expiry);
  });

  test("an unreadable expiry is unknown", () => {
    expect(parsePool('"F" v1, vendor: V, expiry: when pigs fly', "UTC")).toMatchObject({
      expiry: { expiresOn: null, permanent: false },
      understood: false,
    });
  });

  test("kinds", () => {
    expect(parseKind("floating license")).toBe("floating");
    expect(parseKind('nodelocked license, locked to "ID=1"')).toBe("nodelocked");
    expect(parseKind("uncounted nodelocked license locked to NOTHING (hostid=ANY)")).toBe("uncounted");
    expect(parseKind("floating lic")).toBeNull();
  });
});

describe("reservations", () => {
  const rows: [string, number, string, string][] = [
    ["1 RESERVATION for HOST pc-1 (lic/27000)", 1, "host", "pc-1"],
    ["48 RESERVATIONs for GROUP night-shift.2 (lic/27000)", 48, "group", "night-shift.2"],
    ["2 RESERVATIONs for HOST_GROUP a b (c) (lic/27000)", 2, "host_group", "a b (c)"],
    ["2 RESERVATIONs for USER Jane Doe (lic/27000)", 2, "user", "Jane Doe"],
    ["2 RESERVATIONs for INTERNET 10.*.*.* (lic/27000)", 2, "internet", "10.*.*.*"],
    ["2 RESERVATIONs for DISPLAY :0 (lic/27000)", 2, "display", ":0"],
    ["2 RESERVATIONs for PROJECT p (lic/27000)", 2, "project", "p"],
    ["1 RESERVATION for DAEMON on lic (lic/27000)", 1, "other", "DAEMON on lic"],
    ["2 RESERVATIONs for PROJECT_GROUP p q (lic/27000)", 2, "other", "PROJECT_GROUP p q"],
    ["2 RESERVATIONs for moon (lic/27000)", 2, "other", "moon"],
  ];
  test.each(rows)("%s", (line, count, type, name) => {
    expect(parseReservation(line, 3)).toEqual({ count, type, name, pool: 3 } as never);
  });
  test.each(["0 RESERVATIONs for HOST x (l/1)", "RESERVATION for HOST x", "2 RESERVATIONs"])(
    "%j is none",
    (line) => expect(parseReservation(line, null)).toBeNull(),
  );
});

describe("the table of -i", () => {
  const orders: [string, TableOrder | null][] = [
    ["Feature   Version   #licenses    Expires      Vendor", "expires-vendor"],
    ["Feature   Version   #licenses    Vendor       Expires", "vendor-expires"],
    ["Feature   Version", null],
  ];
  test.each(orders)("%s", (line, order) => expect(parseTableHeader(line)).toBe(order));

  test.each<[TableOrder, string, string]>([
    ["expires-vendor", "f 2018.12 600 31-dec-2018 vend", "f|2018.12|600|vend|2018-12-31"],
    ["expires-vendor", "f 0.1 1 01-jan-0000 vend", "f|0.1|1|vend|permanent"],
    ["expires-vendor", "f 1.0 1 permanent(no expiration date) vend", "f|1.0|1|vend|permanent"],
    ["vendor-expires", "f 15.0 2 vend permanent(no expiration date)", "f|15.0|2|vend|permanent"],
    ["vendor-expires", "f 15.0 uncounted vend permanent", "f|15.0||vend|permanent"],
    ["vendor-expires", "f 15.0 0 vend 1-jan-0", "f|15.0||vend|permanent"],
    ["vendor-expires", "111 1.0 3 vend 30-Apr-20202", "111|1.0|3|vend|2020-04-30 and more"],
    ["vendor-expires", "f 1.0 3 vend never", "f|1.0|3|vend|unknown and more"],
    ["expires-vendor", "f 1.0 3 never vend", "f|1.0|3|vend|unknown and more"],
    ["vendor-expires", "a b 1.0 3 vend 30-apr-2020", "a b|1.0|3|vend|2020-04-30"],
  ])("%s: %s", (order, line, expected) => {
    const row = parseTableRow(line, order, "UTC");
    const { expiresOn, permanent } = row?.expiry ?? { expiresOn: null, permanent: false };
    const expiry = permanent ? "permanent" : (expiresOn ?? "unknown");
    const printed = [row?.feature, row?.version, row?.count, row?.vendor, expiry].join("|");
    expect(printed + (row?.understood === true ? "" : " and more")).toBe(expected);
  });
  test.each(["f 1.0 many vend permanent", "f 1.0 3", "1.0 3 vend permanent", ""])("%j is no row", (line) => {
    expect(parseTableRow(line, "vendor-expires", "UTC")).toBeNull();
  });
});

describe("start times", () => {
  const at = (iso: string) => Date.parse(iso);
  const rows: [string, string, string, string | null][] = [
    ["the report's year", "2017-10-20T17:02Z", "Fri 10/20 16:44", "2017-10-20T16:44Z"],
    ["the year before, by the weekday", "2020-01-03T07:10Z", "Tue 12/31 23:50", "2019-12-31T23:50Z"],
    ["two years before", "2020-01-03T07:10Z", "Mon 12/31 23:50", "2018-12-31T23:50Z"],
    ["a day ahead across the turn of the year", "2019-12-31T23:30Z", "Wed 1/1 5:00", "2020-01-01T05:00Z"],
    ["not two days ahead", "2019-12-30T23:30Z", "Wed 1/1 5:00", null],
    ["no year near with that weekday", "2017-10-20T17:02Z", "Mon 6/11 11:01", null],
    ["29 February", "2025-01-01T00:00Z", "Thu 2/29 12:00", "2024-02-29T12:00Z"],
    ["29 February of no near year", "2023-01-01T00:00Z", "Thu 2/29 12:00", null],
    ["a written year", "2020-01-03T07:10Z", "Fri 10/20/17 16:44", "2017-10-20T16:44Z"],
    ["a written year and a wrong weekday", "2020-01-03T07:10Z", "Mon 10/20/2017 16:44", null],
    ["no date of any calendar", "2020-01-03T07:10Z", "Mon 13/45 16:44", null],
    ["no time of any day", "2017-10-20T17:02Z", "Fri 10/20 24:00", null],
  ];
  test.each(rows)("%s", (_, reference, text, expected) => {
    const times = createStartTimes("UTC", at(reference));
    expect(times.read(`x${text}, 2 licenses`, 1)).toBe(expected === null ? null : at(expected));
    expect(times.end).toBe(1 + text.length);
  });

  const none = "Fri 10/20 16:4|Fri 10/20|10/20 16:44|Fry 10/20 16:44|Fri 10-20 16:44|Fri 10/20/ 16:44|";
  test.each(none.split("|"))("%j is none", (text) =>
    expect(createStartTimes("UTC", 0).read(text, 0)).toBeUndefined(),
  );

  test("a zone, and the hour that occurs twice", () => {
    const times = createStartTimes("Europe/Berlin", at("2026-10-26T12:00Z"));
    expect(times.read("Sun 10/25 2:30", 0)).toBe(at("2026-10-25T00:30Z"));
    expect(times.read("Sun 10/25 3:30", 0)).toBe(at("2026-10-25T02:30Z"));
    expect(times.read("Sat 10/24 23:59", 0)).toBe(at("2026-10-24T21:59Z"));
    expect(times.read("Mon 10/26 0:00", 0)).toBe(at("2026-10-25T23:00Z"));
  });

  test("a new reference clears the cache", () => {
    const times = createStartTimes("UTC", at("2026-10-26T12:00Z"));
    expect(times.read("Fri 10/20 16:44", 0)).toBeNull();
    times.setReference(at("2017-10-20T17:02Z"));
    expect(times.read("Fri 10/20 16:44", 0)).toBe(at("2017-10-20T16:44Z"));
  });
});
