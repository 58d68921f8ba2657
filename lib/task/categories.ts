/** Which categories a task may have here: those that every project has, and the project's own. Pure. */
import type { Settings } from "../settings.ts";
import { CATEGORIES } from "./model.ts";

export function categoriesOf(settings: Pick<Settings, "task">): readonly string[] {
  return [...new Set<string>([...CATEGORIES, ...settings.task.categories])];
}
