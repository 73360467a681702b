import { describe, expect, test } from "bun:test";
import { readIdentity } from "../../../src/managers/flexnet/identity.ts";
import { createKnownHosts } from "../../../src/managers/known-hosts.ts";

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
    // The successor equals or extends the host.
    ["Jane Doe Jr. pc-1 pc-1", ["Jane Doe Jr.", "pc-1", "pc-1", null], []],
    ["amira PC-1 pc-1.0 VLS_GXL", ["amira", "PC-1", "pc-1.0", "VLS_GXL"], []],
    [
      "amira pc-1 pc-1:0.0 Xcelium Single Core Engine",
      ["amira", "pc-1", "pc-1:0.0", "Xcelium Single Core Engine"],
      [],
    ],
    // A known host.
    ["Jane  Doe pc-1 xyz", ["Jane  Doe", "pc-1", "xyz", null], ["PC-1"]],
    ["Jane Doe pc-1 xyz tool", ["Jane Doe", "pc-1", "xyz", "tool"], ["pc-1"]],
    // The word before a display.
    ["Jane Doe pc-1 /dev/pts/2", ["Jane Doe", "pc-1", "/dev/pts/2", null], []],
    ["amira pc-1 NoXDisplay 88123", ["amira", "pc-1", "NoXDisplay", "88123"], []],
    ["amira pc-1 local feature=x", ["amira", "pc-1", "local", "feature=x"], []],
    ["amira pc-1 :0 ab abc", ["amira", "pc-1", ":0", "ab abc"], []],
    ["Jane doe pc-1 :0 tool", ["Jane doe", "pc-1", ":0", "tool"], ["doe", "pc-1"]],
    ["Jane Doe Jr. jane", ["Jane Doe Jr.", "jane", null, null], ["jane"]],
    // A known host before an encrypted display, which holds blanks.
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
    // An encrypted display tells the host before it.
    [
      'John Roe John_R "U,K$`Ct`0\'"C iQwgGsne<&!',
      ["John Roe", "John_R", '"U,K$`Ct`0\'"C iQwgGsne<&!', null],
    ],
    [
      "Jane Roe Jr. jane icc&f3rU7|<7R/oW/r`?Fj_K5",
      ["Jane Roe Jr.", "jane", "icc&f3rU7|<7R/oW/r`?Fj_K5", null],
    ],
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
