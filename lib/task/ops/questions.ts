/** A task that waits for a person: asking, answering, and proposing to split. */
import * as v from "valibot";

import { DotbotError } from "../../error.ts";
import type { JsonObject, JsonValue } from "../../json.ts";
import { operation, type Assemble, type Call } from "../../op.ts";
import { paint, quote, type Style } from "../../text.ts";
import { isObject, pendingQuestions, stringList, type Status } from "../model.ts";
import type { TaskRow } from "../ledger.ts";
import { manyLines, requiredLine, type Provenance } from "../provenance.ts";
import type { Tx } from "../queue.ts";
import { claimShape, exampleFor, field, namedTask, taskDocument, withQueue } from "./common.ts";
import { newDocument } from "./draft.ts";
import { entryOf } from "../provenance.ts";
import { moveFields, moveFlags, moveOutput, moveTask, moveText, reasonLine, runMove } from "./move.ts";

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

const given = ["task add 'Add a login page'", "task start 'Add a login page'"] as const;
const asked = [
  ...given,
  "task ask 'Add a login page' --question 'Which store?' --option 'A=SQLite' --option 'B=files'",
] as const;

export const ask = operation({
  name: "task ask",
  tool: "task_mark_needs_input",
  summary: "Ask a person something, or propose to split the task",
  details:
    "Moves the task to needs-input. Give one to four questions, or a split_proposal; a task that already waits gets the further questions too. The claim is given back: after the answer anybody may go on.",
  examples: [
    {
      given,
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

function withQuestions(doc: JsonObject, row: TaskRow, questions: readonly Question[], who: Provenance): JsonObject {
  const pending = pendingQuestions(doc);
  const resolved = Array.isArray(doc["questions_resolved"]) ? doc["questions_resolved"].length : 0;
  const fresh = questions.filter((question) => !pending.some((other) => other["question"] === question.question));
  if (fresh.length === 0) return doc;
  const used = new Set(
    [...pending, ...(Array.isArray(doc["questions_resolved"]) ? doc["questions_resolved"].filter(isObject) : [])].map(
      (question) => question["id"],
    ),
  );
  let n = resolved + pending.length;
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

/** One question stands in `pending_question`, where dotbot 3 looks; several in `pending_questions`, the first in both. */
function keepQuestions(doc: JsonObject, pending: readonly JsonObject[]): JsonObject {
  const [first] = pending;
  const next: JsonObject = { ...doc, pending_question: first ?? null };
  if (pending.length > 1 || "pending_questions" in doc) next["pending_questions"] = [...pending];
  return next;
}

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

function questionsText(task: Record<string, unknown>, style: Style): string {
  return pendingQuestions(task as JsonObject)
    .map((question) => {
      const options = Array.isArray(question["options"]) ? question["options"].filter(isObject) : [];
      const lines = options.map((option) => {
        const mark = option["key"] === question["recommendation"] ? paint(style, "green", "  (recommended)") : "";
        return `      ${paint(style, "bold", field(option, "key"))}  ${field(option, "label")}${mark}\n`;
      });
      return `  ${field(question, "id")}  ${field(question, "question")}\n${lines.join("")}`;
    })
    .join("");
}

export const answer = operation({
  name: "task answer",
  tool: "task_answer_question",
  summary: "Answer what a task asks",
  details:
    "A letter A to E picks that option, anything else is a free text. After the last answer the task goes on: to analysed if it has an analysis, to analysing if it was asked there, otherwise to todo. Its worktree stays.",
  examples: [{ given: asked, run: "task answer 'Add a login page' A", does: "choose the first option" }],
  effect: "write",
  target: { rule: "queue" },
  positional: [{ field: "task_id" }, { field: "answer", optional: true }],
  complete: { task_id: "task" },
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
      const given = input.answer ?? (await askPerson(call, desk.queue.document(row), input.question_id));
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
        to: (_, doc) => statusAfterAnswer(doc, input.question_id),
        also: () => false,
        data: (doc, now, who) => {
          if (now.status !== "needs-input") throw notAsking(now);
          const { next, ...rest } = withAnswer(doc, now, given, input.question_id, who);
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

function theQuestion(pending: readonly JsonObject[], id: string | undefined): JsonObject | undefined {
  return id === undefined ? pending[0] : pending.find((question) => question["id"] === id);
}

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
  const options = Array.isArray(question["options"]) ? question["options"].filter(isObject) : [];
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
  const resolved: JsonValue[] = Array.isArray(doc["questions_resolved"]) ? doc["questions_resolved"] : [];
  const rest = pending.filter((one) => one !== question);
  const next = { ...keepQuestions(doc, rest), questions_resolved: [...resolved, entry] };
  return { next, question: field(question, "question"), answer: resolvedText, answerType, stillPending: rest.length };
}

/** At a terminal, shows the question and its options; elsewhere undefined. */
async function askPerson(call: Call, doc: JsonObject, questionId: string | undefined): Promise<string | undefined> {
  const question = theQuestion(pendingQuestions(doc), questionId);
  if (call.prompt === undefined || question === undefined) return undefined;
  const options = Array.isArray(question["options"]) ? question["options"].filter(isObject) : [];
  const message = [field(question, "question"), field(question, "context")].filter((line) => line !== "").join("\n");
  if (options.length === 0) return await call.prompt.text({ message });
  const own = "another answer";
  const chosen = await call.prompt.select({
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
  return chosen === own ? await call.prompt.text({ message: "Your answer" }) : chosen;
}

export const split = operation({
  name: "task split",
  tool: "task_approve_split",
  summary: "Approve or reject a proposal to split a task",
  details:
    "Approved: the parts become tasks and the task moves to split, in one step; what depends on it then waits for all of them. Rejected: the task goes on as after an answer.",
  examples: [
    {
      given: [
        "task add 'Add a login page'",
        "task analysing 'Add a login page'",
        `task ask 'Add a login page' --split '{"reason":"two parts","sub_tasks":[{"name":"The form"},{"name":"The route"}]}'`,
      ],
      run: "task split 'Add a login page' --approve",
      does: "make two tasks of it",
    },
  ],
  effect: "write",
  target: { rule: "queue" },
  toolset: "all",
  positional: [{ field: "task_id" }],
  complete: { task_id: "task" },
  input: v.strictObject({
    ...moveFields,
    approved: v.optional(
      v.pipe(v.boolean(), v.description("true makes tasks of the parts, false rejects the proposal.")),
    ),
    approve: v.optional(v.pipe(v.boolean(), v.description("Make tasks of the parts."))),
    reject: v.optional(v.pipe(v.boolean(), v.description("Reject the proposal."))),
    reason: v.optional(v.pipe(v.string(), v.description("Why, for history."))),
  }),
  flags: { ...moveFlags, approved: { hidden: true }, approve: { cliOnly: true }, reject: { cliOnly: true } },
  output: v.object({ ...moveOutput, claim: v.optional(claimShape), children: v.array(taskDocument) }),
  async run(call, input) {
    const approved = input.approved ?? (input.approve === true ? true : input.reject === true ? false : undefined);
    if (approved === undefined || (input.approve === true && input.reject === true)) {
      throw new DotbotError("USAGE", "approve the proposal, or reject it?", {
        example: exampleFor("split", input.task_id ?? "<task>", " --approve"),
        details: { missing: ["approved"] },
      });
    }
    return await withQueue(call, async (desk) => {
      const row = await namedTask(call, desk.queue, input.task_id, "split");
      const children: string[] = [];
      const moved = await moveTask(call, desk, row, input, {
        verb: "split",
        reason: reasonLine(call, input.reason, "reason"),
        to: (_, doc) =>
          approved
            ? "split"
            : isObject(doc["analysis"]) && Object.keys(doc["analysis"]).length > 0
              ? "analysed"
              : "analysing",
        data: (doc, now, who, tx) => {
          const proposal = doc["split_proposal"];
          if (now.status === "split" && approved) return doc;
          if (now.status !== "needs-input" || !isObject(proposal) || proposal["status"] !== undefined) {
            throw new DotbotError(
              "ILLEGAL_TRANSITION",
              `"${now.name}" (${now.id8}) has no split proposal to decide on`,
              {
                hint: "a proposal comes with `dotbot task ask <task> --split <file>`",
              },
            );
          }
          if (!approved) return { ...doc, split_proposal: { ...proposal, status: "rejected", rejected_at: who.at } };
          children.splice(0, children.length, ...makeChildren(call, tx, doc, now, proposal, who));
          return {
            ...doc,
            child_tasks: children,
            split_at: who.at,
            split_reason: proposal["reason"] ?? null,
            split_proposal: { ...proposal, status: "approved", approved_at: who.at },
          };
        },
      });
      return { ...moved, children: children.map((id) => desk.queue.document({ id })) };
    });
  },
  text: (result, style) =>
    moveText(result, style) +
    result.children.map((child) => `  + ${field(child, "id").slice(0, 8)}  ${field(child, "name")}\n`).join(""),
});

/** Makes the parts' tasks. A part that names another part as dependency means that part; otherwise it inherits the task's. */
function makeChildren(
  call: Call,
  tx: Tx,
  doc: JsonObject,
  parent: TaskRow,
  proposal: JsonObject,
  who: Provenance,
): string[] {
  const parts = Array.isArray(proposal["sub_tasks"]) ? proposal["sub_tasks"].filter(isObject) : [];
  const ids = new Map<string, string>();
  for (const part of parts) ids.set(field(part, "name"), tx.freshId());
  const made: string[] = [];
  for (const part of parts) {
    const { name, ...rest } = part;
    const id = ids.get(field(part, "name")) ?? tx.freshId();
    const own = stringList(part["dependencies"]).map((dependency) => ids.get(dependency) ?? dependency);
    const child = newDocument(
      call,
      {
        description: `Part of: ${parent.name}`,
        ...(parent.category === null ? {} : { category: parent.category }),
        priority: doc["priority"] ?? 50,
        ...rest,
        name: name ?? "",
        dependencies: [...new Set([...stringList(doc["dependencies"]), ...own])],
        parent_task_id: parent.id,
      },
      { id, status: "todo", who },
    );
    tx.create(child, {
      at: who.at,
      by: who.by,
      status: "todo",
      entry: entryOf(who, null, "todo", `split from ${parent.id8}`),
    });
    made.push(id);
  }
  return made;
}
