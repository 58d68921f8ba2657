/**
 * Which old element becomes which new one. Pure decisions: nothing here knows about text.
 * Steps come in document order: every old element is in exactly one step, and so is every new value.
 */
import { valueOf, type ArrayNode, type Element, type ObjectNode } from "./scan.ts";
import { equalJson, member, type JsonObject, type JsonValue } from "./value.ts";

/** Old alone: it goes. Next alone: it is new. Both: the old one's value is edited into the new one. */
export type Step =
  | { readonly old: Element; readonly next: JsonValue | undefined }
  | { readonly old: undefined; readonly key?: string; readonly next: JsonValue };

/** Members keep their places, new keys follow at the end. */
export function objectSteps(node: ObjectNode, next: JsonObject): Step[] {
  const counting = new Map(node.elements.map((old) => [old.key, old]));
  const steps = node.elements.map((old): Step => {
    const value = member(next, old.key);
    // Of a key that is written twice only the last value counts. The others stay, or all go.
    return { old, next: value === undefined || counting.get(old.key) === old ? value : valueOf(old.value) };
  });
  for (const key of Object.keys(next)) {
    const value = next[key];
    if (value !== undefined && !counting.has(key)) steps.push({ old: undefined, key, next: value });
  }
  return steps;
}

/** Above this many comparisons the middle of an array is paired off in order instead of being matched. */
const MAX_COMPARISONS = 10_000;

/** Equal items at both ends stay, and as many as possible in between; what is left between those is paired off in order. */
export function arraySteps({ elements }: ArrayNode, next: readonly JsonValue[]): Step[] {
  const values = elements.map((element) => valueOf(element.value));
  const same = (i: number, j: number): boolean => equalJson(values[i], next[j]);

  let start = 0;
  let end = elements.length;
  let nextEnd = next.length;
  while (start < end && start < nextEnd && same(start, start)) start++;
  while (end > start && nextEnd > start && same(end - 1, nextEnd - 1)) {
    end--;
    nextEnd--;
  }

  const steps: Step[] = [];
  let i = 0;
  let j = 0;
  const pairOff = (untilOld: number, untilNext: number): void => {
    while (i < untilOld || j < untilNext) {
      const old = i < untilOld ? elements[i++] : undefined;
      const value = j < untilNext ? next[j++] : undefined;
      if (old !== undefined) steps.push({ old, next: value });
      else if (value !== undefined) steps.push({ old, next: value });
    }
  };
  pairOff(start, start);
  if ((end - start) * (nextEnd - start) <= MAX_COMPARISONS) {
    for (const [oldAt, nextAt] of longestCommon(start, end, nextEnd, same)) {
      pairOff(oldAt, nextAt);
      pairOff(oldAt + 1, nextAt + 1);
    }
  }
  pairOff(end, nextEnd);
  pairOff(elements.length, next.length);
  return steps;
}

/** Index pairs of a longest common subsequence of old `start…end` and new `start…nextEnd`, in order. */
function longestCommon(
  start: number,
  end: number,
  nextEnd: number,
  same: (i: number, j: number) => boolean,
): [number, number][] {
  const rows = end - start;
  const columns = nextEnd - start;
  const width = columns + 1;
  // lengths[i * width + j]: of the longest common subsequence of what follows old i and new j.
  const lengths = new Uint16Array((rows + 1) * width);
  const lengthAt = (i: number, j: number): number => lengths[i * width + j] ?? 0;
  const matches = new Uint8Array(rows * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      const match = same(start + i, start + j);
      matches[i * width + j] = match ? 1 : 0;
      lengths[i * width + j] = match ? lengthAt(i + 1, j + 1) + 1 : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < rows && j < columns;) {
    if (matches[i * width + j] === 1) pairs.push([start + i++, start + j++]);
    else if (lengthAt(i + 1, j) >= lengthAt(i, j + 1)) i++;
    else j++;
  }
  return pairs;
}
