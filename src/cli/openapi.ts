import type { Command } from "commander";
import { withConfigOption } from "./config-option.ts";
import type { CommandIo } from "./io.ts";

/** `licmond openapi`: the API's document, without a daemon. */
export function registerOpenapi(program: Command, io: CommandIo): void {
  withConfigOption(program.command("openapi"))
    .description("Prints the OpenAPI document that a daemon serves at /swagger/json.")
    .addHelpText("after", "\nExample:\n  licmond openapi > licmond.json")
    .action(async () => {
      const { printOpenapi } = await import("./openapi-document.ts");
      io.out(await printOpenapi(io.build));
    });
}
