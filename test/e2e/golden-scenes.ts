/**
 * For golden.test.ts: the world and the call of operations whose first example shows too little of their answer, or can't be
 * run, or is another operation's. To add one: its name, the commands before (`given`, a shell script in the sandbox), the call.
 */
import { githubToken } from "../kit/secrets.ts";

export interface Scene {
  readonly given: string;
  /** A command line without the leading `dotbot`. */
  readonly run?: string;
  /** A tool's arguments, for operations that aren't on the command line. */
  readonly call?: Readonly<Record<string, unknown>>;
}

const TASK = "dotbot init --quiet\ndotbot task add 'Add a login page'\n";
const WORKTREE = `${TASK}dotbot wt create 'Add a login page'\ncd "$(dotbot wt path 'Add a login page')"\n`;
const WORK = "echo '<form>' > login.html\ngit add login.html\ngit commit -qm 'The form'\n";
const DONE = `${WORKTREE}${WORK}dotbot task done 'Add a login page'\ncd - >/dev/null\n`;

export const SCENES: Readonly<Record<string, Scene>> = {
  "task list": {
    given: `${TASK}dotbot task add 'Add a logout button' --priority 60 --depends-on 'Add a login page'\ndotbot task claim 'Add a login page' --owner ada\n`,
    run: "task list",
  },
  "task import": {
    given:
      "dotbot init --quiet\nmkdir .beads\n" +
      `echo '{"id":"bd-1","title":"Add a login page","description":"One form.","status":"open","priority":1,"issue_type":"feature"}' > .beads/issues.jsonl\n`,
    run: "task import . --format beads",
  },
  "task resolve": {
    given:
      `${TASK}file=$(ls .bot/workspace/tasks/todo/*.json)\ncp "$file" ../before.json\ndotbot task edit 'Add a login page' --priority 10\n` +
      `sed -e 's/"name": "[^"]*"/"name": "Add a sign-in page"/' -e 's/"updated_at": "[^"]*"/"updated_at": "2099-01-01T00:00:00Z"/' ../before.json > "$file"\ndotbot task list\n`,
    run: "task resolve",
  },
  "wt adopt": {
    given: `${TASK}git worktree add -q -b side ../side\n`,
    run: "wt adopt ../side --task 'Add a login page'",
  },
  "wt status": { given: `${WORKTREE}${WORK}echo more > notes.txt\n`, run: "wt status 'Add a login page'" },
  "wt diff": { given: `${WORKTREE}${WORK}`, run: "wt diff 'Add a login page'" },
  "wt log": { given: `${WORKTREE}${WORK}`, run: "wt log 'Add a login page'" },
  "wt sync": {
    given: `${WORKTREE}${WORK}cd - >/dev/null\necho more > notes.txt\ngit add notes.txt\ngit commit -qm Notes\n`,
    run: "wt sync 'Add a login page'",
  },
  "wt complete": { given: DONE, run: "wt complete 'Add a login page'" },
  "wt undo": { given: `${DONE}dotbot wt complete 'Add a login page'\n`, run: "wt undo 'Add a login page'" },
  "wt prune": { given: `${WORKTREE}cd - >/dev/null\nrm -rf "$OLDPWD"\n`, run: "wt prune" },
  "wt hook remove": {
    given: `${WORKTREE}echo "{\\"worktree_path\\": \\"$PWD\\"}" > ../hook.json\nmv ../hook.json "$OLDPWD/.git/"\n`,
    run: "wt hook remove < .git/hook.json",
  },
  "guard add": { given: "dotbot init --quiet\necho one > page.txt\n", run: "guard add page.txt" },
  "guard commit": { given: "dotbot init --quiet\necho one > page.txt\n", run: "guard commit -m 'Add a page' page.txt" },
  "guard push": { given: "dotbot init --quiet\n", run: "guard push" },
  "guard pull": {
    given:
      "dotbot init --quiet\ngit push -q origin main\ngit clone -q ../origin.git ../other -b main\ngit -C ../other commit -q --allow-empty -m Elsewhere\ngit -C ../other push -q origin main\n",
    run: "guard pull main",
  },
  "guard finish": { given: `dotbot init --quiet\ngit switch -qc fix\n${WORK}`, run: "guard finish --merge" },
  "guard scan": {
    given: `dotbot init --quiet\necho 'token = "${githubToken()}"' > settings.txt\n`,
    run: "guard scan",
  },
  doctor: { given: `${TASK}echo '{' > .bot/workspace/tasks/todo/half-11111111.json\n`, run: "doctor" },
  "doctor fix": { given: TASK, call: {} },
};
