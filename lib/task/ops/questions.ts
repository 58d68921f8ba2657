/** How questions stand in a task's document, and how a person reads them: what asking and answering share. */
import type { JsonObject, JsonValue } from "../../json.ts";
import { paint, type Style } from "../../text.ts";
import { isObject, pendingQuestions } from "../model.ts";
import { field } from "./common.ts";

/** One question stands in `pending_question`, where dotbot 3 looks; several in `pending_questions`, the first in both. */
export function keepQuestions(doc: JsonObject, pending: readonly JsonObject[]): JsonObject {
  const [first] = pending;
  const next: JsonObject = { ...doc, pending_question: first ?? null };
  if (pending.length > 1 || "pending_questions" in doc) next["pending_questions"] = [...pending];
  return next;
}

/** Questions that were answered, oldest first. */
export function resolvedQuestions(doc: JsonObject): JsonValue[] {
  return Array.isArray(doc["questions_resolved"]) ? doc["questions_resolved"] : [];
}

/** The answers that a question offers; often none. */
export function optionsOf(question: JsonObject): JsonObject[] {
  return Array.isArray(question["options"]) ? question["options"].filter(isObject) : [];
}

/** Every pending question with its options, the recommended one marked. */
export function questionsText(task: Record<string, unknown>, style: Style): string {
  return pendingQuestions(task as JsonObject)
    .map((question) => {
      const lines = optionsOf(question).map((option) => {
        const mark = option["key"] === question["recommendation"] ? paint(style, "green", "  (recommended)") : "";
        return `      ${paint(style, "bold", field(option, "key"))}  ${field(option, "label")}${mark}\n`;
      });
      return `  ${field(question, "id")}  ${field(question, "question")}\n${lines.join("")}`;
    })
    .join("");
}
