/** Asking a person, or proposing to split the task: it waits in needs-input until somebody decides. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import type { JsonObject } from "../../json.ts";
import { operation, type Assemble, type Call } from "../../op.ts";
import { quote } from "../../text.ts";
import type { TaskRow } from "../ledger.ts";
import { isObject, pendingQuestions } from "../model.ts";
import { manyLines, requiredLine, type Provenance } from "../provenance.ts";
import { claimShape, field } from "./common.ts";
import { moveFields, moveFlags, moveOutput, moveText, runMove } from "./move.ts";
import { keepQuestions, questionsText, resolvedQuestions } from "./questions.ts";

const KEYS = ["A", "B", "C", "D", "E"] as const;

const optionShape = v.strictObject({
  key: v.pipe(v.picklist(KEYS), v.description("A letter that an answer may be.")),
  label: v.pipe(v.string(), v.description("The option in a few words.")),
  rationale: v.optional(v.pipe(v.string(), v.description("What speaks for it."))),
});

const questionShape = v.strictObject({
  question: v.pipe(v.string(), v.description("The question, in one sentence.")),
  context: v.optional(v.pipe(v.string(), v.description("What somebody needs to know to answer."))),
  options: v.optional(
    v.pipe(
      v.array(optionShape),
      v.minLength(2),
      v.maxLength(5),
      v.description("Two to five answers to choose from; any other text may be answered as well."),
    ),
  ),
  recommendation: v.optional(v.pipe(v.picklist(KEYS), v.description("The option that the asker would take."))),
  multi_select: v.optional(v.pipe(v.boolean(), v.description("Whether several options may be chosen."))),
});
type Question = v.InferOutput<typeof questionShape>;

const splitShape = v.strictObject({
  reason: v.pipe(v.string(), v.description("Why the task should be split.")),
  sub_tasks: v.pipe(
    v.array(
      v.looseObject({
        name: v.pipe(v.string(), v.description("The part's name.")),
        description: v.optional(v.string()),
        effort: v.optional(v.string()),
        dependencies: v.optional(v.array(v.string())),
      }),
    ),
    v.minLength(1),
    v.description(
      "The parts, each becoming a task when the split is approved; a part may depend on earlier ones by name.",
    ),
  ),
});

/** Reads `--question … --option A=… --recommend A --context …`, repeated: each `--question` begins the next one. */
const assembleQuestions: Assemble = {
  flags: {
    question: { value: "text", description: "The question; repeat it, with its options behind it, for several." },
    option: {
      value: "A=label",
      description: "An answer to choose from: a letter A to E and its label; two to five of them.",
    },
    rationale: { value: "A=text", description: "What speaks for an option." },
    recommend: { value: "A", description: "The option that you would take." },
    context: { value: "text", description: "What somebody needs to know to answer." },
  },
  build(typed) {
    const questions: {
      question: string;
      context?: string;
      options?: { key: string; label: string; rationale?: string }[];
      recommendation?: string;
    }[] = [];
    for (const { flag, value } of typed) {
      if (flag === "question") {
        questions.push({ question: value });
        continue;
      }
      const current = questions.at(-1);
      if (current === undefined) {
        throw new DotbotError("USAGE", `--${flag} ${quote(value)} belongs to a question, and none stands before it`, {
          example:
            "dotbot task ask <task> --question 'Which store?' --option 'A=SQLite' --option 'B=files' --recommend A",
        });
      }
      if (flag === "context") current.context = value;
      else if (flag === "recommend") current.recommendation = value.toUpperCase();
      else {
        const match = /^([A-Ea-e])\s*[=:]\s*(.+)$/s.exec(value);
        const key = match?.[1]?.toUpperCase();
        const label = match?.[2];
        if (key === undefined || label === undefined) {
          throw new DotbotError("INVALID_INPUT", `--${flag} ${quote(value)} must be a letter A to E, =, and a text`, {
            example: `--${flag} 'A=SQLite'`,
          });
        }
        if (flag === "option") current.options = [...(current.options ?? []), { key, label }];
        else {
          const option = current.options?.find((candidate) => candidate.key === key);
          if (option === undefined)
            throw new DotbotError(
              "INVALID_INPUT",
              `--rationale ${quote(value)}: the question has no option ${key} before it`,
              {},
            );
          option.rationale = label;
        }
      }
    }
    return questions.length === 0 ? {} : { questions };
  },
};

export const ask = operation({
  name: "task ask",
  tool: "task_mark_needs_input",
  summary: "Ask a person something, or propose to split the task",
  details:
    "Moves the task to needs-input. Give one to four questions, or a split_proposal; a task that already waits gets the further questions too. The claim is given back: after the answer anybody may go on.",
  examples: [
    {
      given: ["task add 'Add a login page'", "task start 'Add a login page'"],
      run: "task ask 'Add a login page' --question 'Which store?' --option 'A=SQLite' --option 'B=files' --recommend A",
      does: "ask, with two answers to choose from",
    },
  ],
  effect: "write",
  target: { rule: "queue" },
  positional: [{ field: "task_id", optional: true }],
  complete: { task_id: "task" },
  assemble: assembleQuestions,
  input: v.strictObject({
    ...moveFields,
    questions: v.optional(
      v.pipe(v.array(questionShape), v.minLength(1), v.maxLength(4), v.description("One to four questions.")),
    ),
    question: v.optional(
      v.pipe(questionShape, v.description("A single question; the same as questions with one item.")),
    ),
    split_proposal: v.optional(
      v.pipe(
        splitShape,
        v.description("The parts into which the task should be split; a person approves or rejects it."),
      ),
    ),
  }),
  flags: {
    ...moveFlags,
    questions: { hidden: true },
    question: { hidden: true },
    split_proposal: { name: "split", json: true, value: "file|-" },
  },
  output: v.object({ ...moveOutput, claim: v.optional(claimShape) }),
  async run(call, input) {
    const questions = [...(input.questions ?? []), ...(input.question === undefined ? [] : [input.question])];
    const { split_proposal: split } = input;
    if (questions.length === 0 && split === undefined) {
      throw new DotbotError("INVALID_INPUT", "nothing is asked: give a question, or a split proposal", {
        example:
          call.surface === "cli"
            ? "dotbot task ask <task> --question 'Which store?' --option 'A=SQLite' --option 'B=files'"
            : JSON.stringify({ task_id: input.task_id ?? "", questions: [{ question: "Which store?" }] }),
        details: { missing: ["questions"] },
      });
    }
    if (questions.length > 0 && split !== undefined) {
      throw new DotbotError(
        "INVALID_INPUT",
        "give questions or a split proposal, not both: they are answered in different ways",
        {},
      );
    }
    for (const question of questions) checkQuestion(call, question);
    return await runMove(call, input, {
      verb: "ask",
      to: "needs-input",
      data: (doc, row, who) =>
        split === undefined
          ? withQuestions(doc, row, questions, who)
          : withProposal(doc, split as unknown as JsonObject, who),
    });
  },
  text: (result, style) => moveText(result, style) + questionsText(result.task, style),
});

function checkQuestion(call: Call, question: Question): void {
  requiredLine(call, question.question, "question", '{"question": "Which store?"}');
  const keys = (question.options ?? []).map((option) => option.key);
  const twice = keys.find((key, i) => keys.indexOf(key) !== i);
  if (twice !== undefined)
    throw new DotbotError("INVALID_INPUT", `option ${twice} of ${quote(question.question)} is given twice`, {});
  if (question.recommendation !== undefined && !keys.includes(question.recommendation)) {
    throw new DotbotError(
      "INVALID_INPUT",
      `the recommended option ${question.recommendation} isn't among ${keys.length === 0 ? "the options: there are none" : keys.join(", ")}`,
      {},
    );
  }
}

/** The document with these questions pending as well, each under an id of its own; those that wait already are left out. */
function withQuestions(doc: JsonObject, row: TaskRow, questions: readonly Question[], who: Provenance): JsonObject {
  const pending = pendingQuestions(doc);
  const resolved = resolvedQuestions(doc);
  const fresh = questions.filter((question) => !pending.some((other) => other["question"] === question.question));
  if (fresh.length === 0) return doc;
  const used = new Set([...pending, ...resolved.filter(isObject)].map((question) => question["id"]));
  let n = resolved.length + pending.length;
  const added = fresh.map((question): JsonObject => {
    do n += 1;
    while (used.has(`q${n}`));
    return {
      id: `q${n}`,
      question: manyLines(question.question),
      ...(question.context === undefined ? {} : { context: manyLines(question.context) }),
      options: (question.options ?? []).map((option): JsonObject => ({
        key: option.key,
        label: option.label,
        ...(option.rationale === undefined ? {} : { rationale: option.rationale }),
      })),
      ...(question.recommendation === undefined ? {} : { recommendation: question.recommendation }),
      ...(question.multi_select === undefined ? {} : { multi_select: question.multi_select }),
      asked_at: who.at,
      asked_from: row.status === "needs-input" ? field(pending[0] ?? {}, "asked_from") || "todo" : row.status,
    };
  });
  return keepQuestions(doc, [...pending, ...added]);
}

/** The document with this proposal; unchanged where the same one waits already. */
function withProposal(doc: JsonObject, proposal: JsonObject, who: Provenance): JsonObject {
  const before = doc["split_proposal"];
  if (
    isObject(before) &&
    before["reason"] === proposal["reason"] &&
    JSON.stringify(before["sub_tasks"]) === JSON.stringify(proposal["sub_tasks"]) &&
    before["status"] === undefined
  )
    return doc;
  return { ...doc, split_proposal: { ...proposal, proposed_at: who.at } };
}
