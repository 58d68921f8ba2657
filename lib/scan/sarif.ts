/** A scan's answer as SARIF 2.1.0, the format that code hosts and editors read. Pure. */
import type { ScanResult } from "./scan.ts";

interface Message {
  readonly text: string;
}

/** The part of the format that is used here. */
export interface SarifLog {
  readonly $schema: string;
  readonly version: "2.1.0";
  readonly runs: readonly {
    readonly tool: {
      readonly driver: {
        readonly name: string;
        readonly rules: readonly {
          readonly id: string;
          readonly shortDescription: Message;
          readonly help: Message;
          readonly defaultConfiguration: { readonly level: "error" };
        }[];
      };
    };
    readonly columnKind: "unicodeCodePoints";
    readonly originalUriBaseIds: { readonly ROOT: { readonly description: Message } };
    readonly invocations: readonly {
      readonly executionSuccessful: boolean;
      readonly toolExecutionNotifications: readonly { readonly level: "note"; readonly message: Message }[];
    }[];
    readonly results: readonly {
      readonly ruleId: string;
      readonly level: "error" | "warning";
      readonly message: Message;
      readonly locations: readonly {
        readonly physicalLocation: {
          readonly artifactLocation: { readonly uri: string; readonly uriBaseId: "ROOT" };
          readonly region: { readonly startLine: number };
        };
      }[];
      readonly properties: { readonly scope: string; readonly commit?: string };
    }[];
  }[];
}

/** `titles`: what each pattern finds, by its name; a pattern of the settings has none. */
export function toSarif(result: ScanResult, titles: ReadonlyMap<string, string>): SarifLog {
  const names = [...new Set([...titles.keys(), ...result.violations.flatMap(({ patterns }) => patterns)])];
  return {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "dotbot",
            rules: names.map((id) => ({
              id,
              shortDescription: { text: titles.get(id) ?? `a match of the project's own pattern ${id}` },
              help: {
                text: `Take it out, and if it was ever shared, revoke it. If it is none: dotbot:allow ${id} -- why`,
              },
              defaultConfiguration: { level: "error" },
            })),
          },
        },
        columnKind: "unicodeCodePoints",
        originalUriBaseIds: { ROOT: { description: { text: "the root of the checkout" } } },
        invocations: [
          {
            executionSuccessful: true,
            toolExecutionNotifications: result.skipped.map(({ file, reason }) => ({
              level: "note",
              message: { text: `not scanned (${reason}): ${file}` },
            })),
          },
        ],
        results: result.violations.flatMap(({ file, line, patterns, found, scope, commit }) =>
          patterns.map((pattern, index) => ({
            ruleId: pattern,
            level: scope === "project" ? "error" : "warning",
            message: { text: `${titles.get(pattern) ?? pattern}: ${found[index] ?? ""}` },
            locations: [
              {
                physicalLocation: {
                  artifactLocation: { uri: uriOf(file), uriBaseId: "ROOT" },
                  region: { startLine: line },
                },
              },
            ],
            properties: { scope, ...(commit === undefined ? {} : { commit }) },
          })),
        ),
      },
    ],
  };
}

/** A path as a relative reference: each segment escaped. */
function uriOf(file: string): string {
  return file
    .split("/")
    .map((segment) => encodeURIComponent(segment))
    .join("/");
}
