/**
 * The list of tools of a server that nobody has configured, which is what nearly every client reads first. Called while the
 * program is bundled (or, run from source, while its caller is read): what is left of it in the binary is the text.
 */
import { allOperations } from "../../lib/ops.ts";
import { settingsWith } from "../../lib/settings/table.ts";
import { isOffered, listKey, type Offer } from "./offer.ts";
import { catalogue, definitions } from "./tools.ts";

/** JSON of the list, by `listKey`. */
export async function listsOfDotbot(): Promise<Record<string, string>> {
  const { mcp, provenance } = settingsWith([]);
  const offer: Offer = {
    toolsets: mcp.toolsets,
    readOnly: mcp.read_only,
    requireSession: provenance.require_session,
  };
  const operations = await allOperations();
  const tools = [...catalogue(operations, offer.requireSession).values()].filter((tool) => isOffered(tool.op, offer));
  return { [listKey(offer)]: JSON.stringify(definitions(tools, operations)) };
}
