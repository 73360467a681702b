import { expect, test } from "bun:test";
import { type Account, type Place, type Refusal, refusalOf } from "../../../src/system/unit/access.ts";

const licmond: Account = { uid: 990, groups: [990, 1005] };

/** `/opt/lic root:flexlm 0750` */
function places(...lines: string[]): Place[] {
  const ids: Record<string, number> = { root: 0, licmond: 990, flexlm: 1005, anna: 1000, staff: 50 };
  return lines.map((line) => {
    const [path = "", owner = "", mode = ""] = line.split(" ");
    const [user = "", group = ""] = owner.split(":");
    return { path, uid: ids[user] ?? -1, gid: ids[group] ?? -1, mode: Number.parseInt(mode, 8) };
  });
}

const ROOT = "/ root:root 0755";

test.each<
  [
    string,
    string[],
    "read" | "run" | "write",
    { at: string; lacking: Refusal["lacking"]; group: boolean } | null,
  ]
>([
  ["open to all", [ROOT, "/f root:root 0644"], "read", null],
  ["a program of all", [ROOT, "/f root:root 0755"], "run", null],
  [
    "a program that only its owner runs",
    [ROOT, "/f anna:staff 0744"],
    "run",
    { at: "/f", lacking: "run", group: false },
  ],
  ["a log of a group it is in", [ROOT, "/f anna:flexlm 0640"], "read", null],
  [
    "a log of another group",
    [ROOT, "/f anna:staff 0640"],
    "read",
    { at: "/f", lacking: "read", group: true },
  ],
  [
    "a log of its owner alone",
    [ROOT, "/f anna:staff 0600"],
    "read",
    { at: "/f", lacking: "read", group: false },
  ],
  [
    "a closed directory above",
    [ROOT, "/d anna:staff 0700", "/d/f anna:staff 0644"],
    "read",
    { at: "/d", lacking: "search", group: false },
  ],
  [
    "a directory of a group above",
    [ROOT, "/d anna:staff 0750", "/d/f anna:staff 0644"],
    "read",
    { at: "/d", lacking: "search", group: true },
  ],
  [
    "a directory that can be gone through, not listed",
    [ROOT, "/d root:root 0711", "/d/f root:root 0644"],
    "read",
    null,
  ],
  // The group's bits hold for its members, also where others may more.
  [
    "its group may less than others",
    [ROOT, "/f anna:flexlm 0604"],
    "read",
    { at: "/f", lacking: "read", group: false },
  ],
  [
    "the owner may less than the group",
    [ROOT, "/f licmond:flexlm 0040"],
    "read",
    { at: "/f", lacking: "read", group: false },
  ],
  ["its own directory", [ROOT, "/d licmond:licmond 0700"], "write", null],
  ["another's directory", [ROOT, "/d root:root 0755"], "write", { at: "/d", lacking: "write", group: false }],
])("%s", (_what, lines, access, expected) => {
  const refusal = refusalOf(licmond, places(...lines), access);
  expect(
    refusal === null ? null : { at: refusal.place.path, lacking: refusal.lacking, group: refusal.groupHelps },
  ).toEqual(expected);
});

test("root is refused nothing", () => {
  expect(refusalOf({ uid: 0, groups: [0] }, places("/ anna:staff 0000"), "write")).toBeNull();
});
