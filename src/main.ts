import { buildInfo, versionLine } from "./system/build-info.ts";

const args = process.argv.slice(2);
const [first] = args;

if (first === "--version" || first === "-V") {
  // Print the version before anything else is loaded.
  console.log(versionLine(buildInfo()));
} else {
  const { runProgram } = await import("./cli/program.ts");
  const { processIo } = await import("./cli/io.ts");
  const io = processIo();
  await runProgram(args, io);
  await io.end();
}
