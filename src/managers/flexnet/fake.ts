import { type Dialect, fakeTool } from "../fake-tool.ts";
import { render } from "./render.ts";

const USAGE = `usage: lmstat [-a] [-A] [-c license_file_list] [-f [feature]] [-i [feature]]
              [-s [server]] [-S [vendor]] [-t timeout_value] [-v]
`;
const BANNER = `lmutil - Copyright (c) 1989-2023 Flexera. All Rights Reserved.
lmstat v11.19.5.0 build 291047 x64_lsb
`;

/** lmstat of FlexNet Publisher 11.x ("License Administration Guide", lmstat). */
export const fakeLmstat = (parseAddress: Dialect["parseAddress"]) =>
  fakeTool({
    names: ["lmutil", "lmstat"],
    usage: USAGE,
    banner: () => BANNER,
    // lmutil exits with the lowest byte of its error number.
    exitCode: ({ errors: [error] }) => (error === undefined ? 0 : (256 + (error.major ?? -1)) & 0xff),
    daemonOption: "-S",
    featureOption: "-f",
    allOptions: ["-a", "-f", "-i", "-S"],
    parseAddress,
    render,
  });
