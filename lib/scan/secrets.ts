/**
 * Pure: whether a value that stands where a secret would stand is one. Names, placeholders and references to a secret stand in
 * the same places, and far more often.
 */

/** Words that nobody has in a real secret, and everybody in a made-up one. */
const PLACEHOLDER =
  /example|sample|change.?me|placeholder|dummy|redacted|replace|insert|your[-_ ]?|x{4,}|\*{3,}|\.{3}|<[^>]*>|\$\{|\{\{|\$\(|%\(|%[a-z_]+%|env[.[(]|todo|lorem|1234567|abcdefg|qwerty|not.?(?:a.?)?real|fake|mock|test.?(?:key|token|secret|pass)/i;

/** Passwords of documentation and of throw-away databases: they protect nothing. */
const COMMON = new Set(
  "pass passwd password password1 password123 pwd secret admin root user username guest test testing postgres mysql mongo redis rabbitmq localhost none null undefined true false string letmein hunter2 foobar foo bar baz token apikey key credentials".split(
    " ",
  ),
);

export function isPlaceholder(value: string): boolean {
  return PLACEHOLDER.test(value) || COMMON.has(value.toLowerCase()) || /^(.)\1*$/s.test(value) || value.startsWith("$");
}

/** Shannon entropy of the characters, in bits each. */
export function entropy(value: string): number {
  const counts = new Map<string, number>();
  for (const char of value) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const n of counts.values()) bits -= (n / value.length) * Math.log2(n / value.length);
  return bits;
}

/** How many of: lower case, upper case, digits, other printable characters. */
function classes(value: string): number {
  return [/[a-z]/, /[A-Z]/, /[0-9]/, /[^A-Za-z0-9\s]/].filter((kind) => kind.test(value)).length;
}

/** A machine-made token: long, with digits, and no words in sight. */
export function looksRandom(value: string, bits = 3.2): boolean {
  if (isPlaceholder(value) || !/[0-9]/.test(value) || !/[A-Za-z]/.test(value)) return false;
  if (isName(value)) return false;
  return entropy(value) >= bits;
}

/** A password that somebody chose, or a token: mixed, and neither a name nor a path nor code. */
export function looksChosen(value: string): boolean {
  if (isPlaceholder(value) || isName(value) || value.length < 8) return false;
  // Code and text: a call, a path, an address, a sentence's end.
  if (/^[./~@#]|[()[\]{};,<>]|:\/\/|\\[nrtux]/.test(value)) return false;
  return classes(value) >= 3 && /[0-9]/.test(value) && entropy(value) >= 2.75;
}

/** An identifier, a dotted or dashed name, a version, a file's name: words, with at most one short number among them. */
function isName(value: string): boolean {
  const parts = value.match(/[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^A-Za-z0-9]/g) ?? [];
  const words = parts.filter((part) => /[A-Za-z]/.test(part));
  const numbers = parts.filter((part) => /[0-9]/.test(part));
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  return (
    parts.every((part) => /^[A-Za-z0-9]|^[-_.:/ ]$/.test(part)) &&
    numbers.length <= 1 &&
    numbers.every((number) => number.length <= 4) &&
    // Random letters change their case at every second place.
    letters >= 3 * words.length
  );
}
