/** A dotbot of dummy operations, as a process of its own. */
import { realHost } from "../../../cmd/host.ts";
import { main } from "../../../cmd/main.ts";
import { DUMMIES, NO_TARGET } from "./operations.ts";

const status = await main(realHost(), { version: "1.2.3", nouns: DUMMIES, surfaces: {}, resolve: NO_TARGET });
process.exitCode = status;
if (status > 128) process.exit();
