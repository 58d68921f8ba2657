/** Commands that serve the shell one works in: completion, and a wrapper that can change its folder. Each loads when it is called. */
import type { Surface } from "./route.ts";

const SHELL_NAMES = ["bash", "zsh", "fish", "powershell"] as const;

export function shellSurfaces(): Readonly<Record<string, Surface>> {
  return {
    completion: {
      summary: "Complete dotbot's commands with Tab",
      usage: "completion bash|zsh|fish|powershell [--install]",
      details:
        "Prints the script for a shell; --install puts it where that shell looks, and says how to undo it. Nouns, verbs, flags and their values are completed, and tasks by id: only those for which the verb makes sense.",
      examples: [
        { run: "completion bash", does: "print the script" },
        { run: "completion fish --install", does: "for every new shell" },
      ],
      complete: [...SHELL_NAMES, "--install"],
      run: async (args, host) => await (await import("./completion.ts")).completionCommand(args, host),
    },
    "shell-init": {
      summary: "Let `dotbot wt switch` change your shell's folder",
      usage: "shell-init bash|zsh|fish|powershell",
      details:
        'Prints a function around dotbot, and the completion. Put eval "$(dotbot shell-init bash)" into ~/.bashrc, the same with zsh into ~/.zshrc, and `dotbot shell-init fish | source` into config.fish.',
      examples: [{ run: "shell-init zsh", does: "print it" }],
      complete: SHELL_NAMES,
      run: async (args, host) => await (await import("./completion.ts")).shellInitCommand(args, host),
    },
    __complete: {
      summary: "Answer a shell's Tab",
      usage: "__complete <shell> -- <word>…",
      details: "",
      examples: [],
      hidden: true,
      run: async (args, host) => await (await import("./tab.ts")).tabCommand(args, host),
    },
  };
}
