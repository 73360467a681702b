import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { appendFile, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileFollower } from "../../../src/collector/log-tail/follow-file.ts";

type FileFollower = ReturnType<typeof createFileFollower>;

let folder = "";
let log = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "licmond-tail-"));
  log = join(folder, "acmed.log");
  await writeFile(log, "old 1\nold 2\n");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Reads everything. `lost` tells whether lines are missing. */
async function read(follower: FileFollower, limit = 1024): Promise<{ text: string; lost: boolean }> {
  let [text, lost] = ["", false];
  for (;;) {
    const piece = await follower.next(limit, Date.now());
    text += new TextDecoder().decode(piece.bytes);
    lost ||= piece.lost;
    if (piece.atEnd) return { text, lost };
  }
}

async function begun(): Promise<FileFollower> {
  const follower = createFileFollower(log, null);
  expect(await read(follower)).toEqual({ text: "", lost: false });
  return follower;
}

describe("a log", () => {
  test("is read from its end, in complete lines", async () => {
    const follower = await begun();
    await appendFile(log, "a\nb");
    expect(await read(follower)).toEqual({ text: "a\n", lost: false });
    await appendFile(log, "c\n");
    expect(await read(follower)).toEqual({ text: "bc\n", lost: false });
    expect(await read(follower)).toEqual({ text: "", lost: false });
  });

  test("is read completely in pieces of any size", async () => {
    const follower = await begun();
    const lines = Array.from({ length: 200 }, (_, index) => `line ${index}\n`).join("");
    await appendFile(log, lines);
    expect((await read(follower, 50)).text).toBe(lines);
  });

  test.each<[string, () => Promise<void>, string, boolean]>([
    [
      "emptied under a writer that keeps its place: behind the hole",
      () => writeFile(log, Buffer.concat([Buffer.alloc(14), Buffer.from("c\n")])),
      "c\n",
      false,
    ],
    [
      "removed: the lost text is said to be lost",
      async () => {
        await rm(log);
        await writeFile(log, "c\n");
      },
      "c\n",
      true,
    ],
  ])("%s", async (_, change, text, lost) => {
    const follower = await begun();
    await appendFile(log, "a\n");
    await read(follower);
    await change();
    expect(await read(follower)).toEqual({ text, lost });
    await appendFile(log, "d\n");
    expect(await read(follower)).toEqual({ text: "d\n", lost: false });
  });

  test("is read over a restart during the rest of a renamed file", async () => {
    const first = await begun();
    await appendFile(log, "a\nb\nc\n");
    await rename(log, join(folder, "acmed.log.1"));
    await writeFile(log, "d\n");
    expect(new TextDecoder().decode((await first.next(3, Date.now())).bytes)).toBe("a\n");
    const place = JSON.parse(JSON.stringify(first.place));
    expect(await read(createFileFollower(log, place))).toEqual({ text: "b\nc\nd\n", lost: false });
  });

  test("that is missing is an error until it is back", async () => {
    const follower = await begun();
    await rename(log, `${log}.away`);
    expect(follower.next(100, Date.now())).rejects.toMatchObject({ code: "ENOENT" });
    await rename(`${log}.away`, log);
    await appendFile(log, "a\n");
    expect(await read(follower)).toEqual({ text: "a\n", lost: false });
  });

  test("that is new is read from its start; one that returns is not", async () => {
    const later = join(folder, "later.log");
    const follower = createFileFollower(later, null);
    expect(follower.next(100, Date.now())).rejects.toMatchObject({ code: "ENOENT" });
    await writeFile(later, "a\nb\n");
    expect(await read(follower)).toEqual({ text: "a\nb\n", lost: false });

    const away = join(folder, "away.log");
    await writeFile(join(folder, "elsewhere"), "old\n");
    const other = createFileFollower(away, null);
    const tomorrow = Date.now() + 86_400_000;
    expect(other.next(100, tomorrow)).rejects.toMatchObject({ code: "ENOENT" });
    await rename(join(folder, "elsewhere"), away);
    expect(await read(other)).toEqual({ text: "", lost: false });
    await appendFile(away, "c\n");
    expect(await read(other)).toEqual({ text: "c\n", lost: false });
  });

  test("splits a line that never ends", async () => {
    const follower = await begun();
    await appendFile(log, "x".repeat(200_000));
    expect((await read(follower, 1 << 17)).text.length).toBeGreaterThan(100_000);
  });
});
