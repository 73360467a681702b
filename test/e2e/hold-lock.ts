/** Takes the write lock of a database, says so, and holds it until its input ends. */
const HOLDER = `
  const sqlite = new (require("bun:sqlite").Database)(process.argv[1]);
  sqlite.run("PRAGMA busy_timeout = 30000");
  sqlite.run("BEGIN IMMEDIATE");
  console.log("held");
  await Bun.stdin.text();
  sqlite.run("ROLLBACK");`;

/** Another program has the write lock of a database until the answer is called. */
export async function holdLock(database: string): Promise<() => Promise<void>> {
  const holder = Bun.spawn([process.execPath, "-e", HOLDER, database], { stdin: "pipe", stdout: "pipe" });
  const { value: said } = await holder.stdout.getReader().read();
  if (new TextDecoder().decode(said) !== "held\n") throw new Error("the lock could not be taken");
  return async () => {
    holder.stdin.end();
    await holder.exited;
  };
}
