/**
 * Tasks as dependencies name them, found one by one in the ledger: most picks look at a few tasks of thousands. After many
 * look-ups everything is read once instead. Holds for one snapshot or transaction. The rules are DependencyIndex's.
 */
import type { Ledger, TaskRow } from "./ledger.ts";
import { type ById, DependencyIndex, type Finder } from "./pick.ts";

/** From about here on reading everything is cheaper. */
const LOOK_UPS = 500;

export class Lookup implements Finder, ById {
  private readonly words = new Map<string, readonly TaskRow[]>();
  private readonly ids = new Map<string, TaskRow | undefined>();
  private whole: { readonly index: DependencyIndex; readonly byId: ReadonlyMap<string, TaskRow> } | undefined;
  private readonly ledger: Ledger;

  constructor(ledger: Ledger) {
    this.ledger = ledger;
  }

  find(word: string): readonly TaskRow[] {
    if (this.enough()) return this.everything().index.find(word);
    let found = this.words.get(word);
    if (found === undefined) {
      found = this.lookUp(word);
      this.words.set(word, found);
    }
    return found;
  }

  get(id: string): TaskRow | undefined {
    if (this.enough()) return this.everything().byId.get(id);
    if (!this.ids.has(id)) this.ids.set(id, this.ledger.called("id", id)[0]);
    return this.ids.get(id);
  }

  private lookUp(word: string): readonly TaskRow[] {
    for (const by of ["id", "file", "slug", "name"] as const) {
      for (const text of [word, word.toLowerCase()]) {
        const found = this.ledger.called(by, text);
        if (found.length > 0) return found;
      }
    }
    return [];
  }

  private enough(): boolean {
    return this.words.size + this.ids.size >= LOOK_UPS;
  }

  private everything(): { readonly index: DependencyIndex; readonly byId: ReadonlyMap<string, TaskRow> } {
    if (this.whole === undefined) {
      const rows = this.ledger.tasks("place <> 'removed'");
      this.whole = { index: new DependencyIndex(rows), byId: new Map(rows.map((row) => [row.id, row])) };
    }
    return this.whole;
  }
}
