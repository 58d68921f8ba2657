/** Answering what a task asks; after the last answer it goes on. */
import * as v from "valibot";

import type { Prompter } from "../../ctx.ts";
import { DotbotError } from "../../error.ts";
import type { JsonObject } from "../../json.ts";
import { operation, type Call } from "../../op.ts";
import { quote } from "../../text.ts";
import type { TaskRow } from "../ledger.ts";
import { isObject, pendingQuestions, type Status } from "../model.ts";
import { manyLines, type Provenance } from "../provenance.ts";
import { claimShape, exampleFor, field, namedTask, withQueue } from "./common.ts";
import { moveFields, moveFlags, moveOutput, moveTask, moveText } from "./move.ts";
import { keepQuestions, optionsOf, questionsText, resolvedQuestions } from "./questions.ts";

export const answer = operation({
  name: "task answer",
  tool: "task_answer_question",
  summary: "Answer what a task asks",
  details:
    "A letter A to E picks that option, anything else is a free text. After the last answer the task goes on: to analysed if it has an analysis, to analysing if it was asked there, otherwise to todo. Its worktree stays.",
  examples: [
    {
      given: [
        "task add 'Add a login page'",
        "task start 'Add a login page'",
        "task ask 'Add a login page' --question 'Which store?' --option 'A=SQLite' --option 'B=files'",
      ],
      run: "task answer 'Add a login page' A",
      does: "choose the first option",
    },
  ],
  effect: "write",
  target: { rule: "queue" },
  positional: [{ field: "task_id" }, { field: "answer", optional: true }],
  complete: { task_id: "task" },
  asks: ["answer"],
  input: v.strictObject({
    ...moveFields,
    answer: v.optional(v.pipe(v.string(), v.description("A letter A to E for that option, or the answer in words."))),
    question_id: v.optional(
      v.pipe(v.string(), v.description("Which question, where several wait; the oldest by default.")),
    ),
  }),
  flags: { ...moveFlags, question_id: { name: "question", value: "id" } },
  output: v.object({
    ...moveOutput,
    claim: v.optional(claimShape),
    question: v.string(),
    answer: v.string(),
    answerType: v.picklist(["option", "custom"]),
    stillPending: v.number(),
  }),
  async run(call, input) {
    return await withQueue(call, async (desk) => {
      const row = await namedTask(call, desk.queue, input.task_id, "answer");
      const { text: given, questionId } =
        input.answer === undefined
          ? await askPerson(call, desk.queue.document(row), input.question_id)
          : { text: input.answer, questionId: input.question_id };
      if (given === undefined) {
        throw new DotbotError("NEEDS_ANSWER", `no answer is given to ${quote(row.name)}`, {
          hint: "a letter picks an option, anything else is a free text",
          example: exampleFor("answer", row.id8, " A"),
          details: { missing: ["answer"], questions: pendingQuestions(desk.queue.document(row)) },
        });
      }
      const told = { question: "", answer: "", answerType: "custom" as "option" | "custom", stillPending: 0 };
      const moved = await moveTask(call, desk, row, input, {
        verb: "answer",
        to: (_, doc) => statusAfterAnswer(doc, questionId),
        also: () => false,
        data: (doc, now, who) => {
          if (now.status !== "needs-input") throw notAsking(now);
          const { next, ...rest } = withAnswer(doc, now, given, questionId, who);
          Object.assign(told, rest);
          return next;
        },
      });
      return { ...moved, ...told };
    });
  },
  text: (result, style) =>
    `${moveText(result, style)}  ${result.question}\n  → ${result.answer}\n${questionsText(result.task, style)}`,
});

function notAsking(row: TaskRow): DotbotError {
  return new DotbotError("ILLEGAL_TRANSITION", `"${row.name}" (${row.id8}) asks nothing: it is ${row.status}`, {
    hint: "tasks that wait for an answer are in needs-input",
    example: "dotbot task list --status needs-input",
  });
}

/** Where the task goes when this answer is given: it stays while other questions wait. */
function statusAfterAnswer(doc: JsonObject, questionId: string | undefined): Status {
  const pending = pendingQuestions(doc);
  const rest = pending.filter((question) => question !== theQuestion(pending, questionId));
  if (rest.length > 0) return "needs-input";
  if (isObject(doc["analysis"]) && Object.keys(doc["analysis"]).length > 0) return "analysed";
  return pending.some((question) => question["asked_from"] === "analysing") ? "analysing" : "todo";
}

/** The one with this id; the oldest where none is named. */
function theQuestion(pending: readonly JsonObject[], id: string | undefined): JsonObject | undefined {
  return id === undefined ? pending[0] : pending.find((question) => question["id"] === id);
}

/** The document with this answer given, and what to tell of it. Errors: ILLEGAL_TRANSITION, NOT_FOUND, INVALID_INPUT. */
function withAnswer(
  doc: JsonObject,
  row: TaskRow,
  given: string,
  questionId: string | undefined,
  who: Provenance,
): { next: JsonObject; question: string; answer: string; answerType: "option" | "custom"; stillPending: number } {
  const pending = pendingQuestions(doc);
  if (pending.length === 0) {
    throw new DotbotError(
      "ILLEGAL_TRANSITION",
      `"${row.name}" (${row.id8}) waits for a decision on its split proposal, not for an answer`,
      {
        example: exampleFor("split", row.id8, " --approve"),
      },
    );
  }
  const question = theQuestion(pending, questionId);
  if (question === undefined) {
    throw new DotbotError(
      "NOT_FOUND",
      `"${row.name}" (${row.id8}) has no question ${quote(questionId ?? "")}; it has ${pending.map((one) => field(one, "id")).join(", ")}`,
      {
        example: exampleFor("answer", row.id8, ` A --question ${field(pending[0] ?? {}, "id")}`),
      },
    );
  }
  const text = manyLines(given).trim();
  if (text === "")
    throw new DotbotError("INVALID_INPUT", "the answer is empty", {
      example: exampleFor("answer", row.id8, " A"),
    });
  const options = optionsOf(question);
  const letter = /^[A-Ea-e]$/.test(text) && options.length > 0 ? text.toUpperCase() : undefined;
  const option = letter === undefined ? undefined : options.find((candidate) => candidate["key"] === letter);
  if (letter !== undefined && option === undefined) {
    throw new DotbotError(
      "INVALID_INPUT",
      `${quote(field(question, "question"))} has no option ${letter}; it has ${options.map((one) => field(one, "key")).join(", ")}`,
      {
        hint: "anything longer than a letter is taken as a free text",
        example: exampleFor("answer", row.id8, ` ${field(options[0] ?? {}, "key")}`),
      },
    );
  }
  const resolvedText = option === undefined ? text : `${letter ?? ""} - ${field(option, "label")}`;
  const answerType = option === undefined ? "custom" : "option";
  const entry: JsonObject = {
    ...question,
    answer: resolvedText,
    answer_type: answerType,
    answered_at: who.at,
    answered_by: who.by,
  };
  const rest = pending.filter((one) => one !== question);
  const next = { ...keepQuestions(doc, rest), questions_resolved: [...resolvedQuestions(doc), entry] };
  return { next, question: field(question, "question"), answer: resolvedText, answerType, stillPending: rest.length };
}

/**
 * At a terminal, shows the question and its options; elsewhere there is no text. What comes back names the question that was
 * shown: somebody else may answer it while this person thinks, and the words aren't meant for the next one.
 */
async function askPerson(
  call: Call,
  doc: JsonObject,
  questionId: string | undefined,
): Promise<{ text: string | undefined; questionId: string | undefined }> {
  const question = theQuestion(pendingQuestions(doc), questionId);
  if (call.prompt === undefined || question === undefined) return { text: undefined, questionId };
  const id = field(question, "id");
  return { text: await answerFrom(call.prompt, question), questionId: id === "" ? questionId : id };
}

async function answerFrom(prompt: Prompter, question: JsonObject): Promise<string> {
  const options = optionsOf(question);
  const message = [field(question, "question"), field(question, "context")].filter((line) => line !== "").join("\n");
  const check = (text: string): string | undefined =>
    manyLines(text).trim() === "" ? "an answer isn't empty" : undefined;
  if (options.length === 0) return await prompt.text({ message, check });
  const own = "another answer";
  const chosen = await prompt.select({
    message,
    options: [
      ...options.map((option) => ({
        value: field(option, "key"),
        label: `${field(option, "key")}  ${field(option, "label")}`,
        ...(option["key"] === question["recommendation"] ? { hint: "recommended" } : {}),
      })),
      { value: own, label: own },
    ],
  });
  return chosen === own ? await prompt.text({ message: "Your answer", check }) : chosen;
}
