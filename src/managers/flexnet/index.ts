import type { Manager } from "../manager.ts";
import { parseAddress } from "./address.ts";
import { command } from "./command.ts";
import { commands, utility } from "./commands.ts";
import { createFlexnetParser } from "./parser.ts";
import { render } from "./render.ts";

/** FlexNet Publisher (FlexLM), asked through its own lmstat. */
export const flexnet: Manager = {
  name: "flexnet",
  title: "FlexNet",
  tools: ["lmutil", "lmstat"],
  parseAddress,
  command,
  commands,
  utility,
  createParser: createFlexnetParser,
  render,
};
