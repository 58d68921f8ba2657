/**
 * Made-up secrets in the published formats of those who issue them. Drawn from a seeded source, so the same every time, and put
 * together at run time, so that no scanner takes this file for a leak.
 */
const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();
const DIGITS = "0123456789";
const ALNUM = LOWER + UPPER + DIGITS;
const HEX = `${DIGITS}abcdef`;
const B64URL = `${ALNUM}-_`;
const B64 = `${ALNUM}+/`;
const B32 = `${UPPER}234567`;
const BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L";

/** Draws characters; the same seed gives the same ones. */
export class Source {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** An integer from 0 up to, but not including, `below`. */
  below(below: number): number {
    // mulberry32
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  }

  of(alphabet: string, length: number): string {
    return Array.from({ length }, () => alphabet.charAt(this.below(alphabet.length))).join("");
  }

  pick<T>(items: readonly [T, ...T[]]): T {
    return items[this.below(items.length)] ?? items[0];
  }
}

/** A line with a secret in it, and the file that it stands in. */
export interface Sample {
  readonly line: string;
  readonly file?: string;
}

/** By pattern: how a line with such a secret is made. */
export const MAKERS: Readonly<Record<string, (from: Source) => Sample>> = {
  "private-key": (from) => {
    const kind = from.pick([
      "RSA PRIVATE KEY",
      "PRIVATE KEY",
      "EC PRIVATE KEY",
      "OPENSSH PRIVATE KEY",
      "ENCRYPTED PRIVATE KEY",
      "DSA PRIVATE KEY",
      "PGP PRIVATE KEY BLOCK",
    ]);
    const body = `${from.of(B64, 64)}\n${from.of(B64, 64)}`;
    const head = `-----BEGIN ${kind}-----`;
    return {
      line: from.pick([
        `${head}\n${kind.startsWith("PGP") ? "Version: GnuPG v2\n\n" : ""}${body}\n`,
        `  key: |\n    ${head}\n    ${body.replace("\n", "\n    ")}\n`,
        `const key = "${head}\\n${body.replace("\n", "\\n")}";`,
        `AGE-SECRET-KEY-1${from.of(BECH32, 58)}`,
      ]),
    };
  },
  "aws-key": (from) => ({
    line: from.pick([
      `aws_access_key_id = ${from.pick(["AKIA", "ASIA"])}${from.of(B32, 16)}`,
      `aws_secret_access_key = "${from.of(B64, 39)}A"`,
      `  secretAccessKey: '${from.of(B64, 39)}q',`,
    ]),
    file: "src/aws.ts",
  }),
  "azure-key": (from) => ({
    line: `clientSecret = "${from.of(ALNUM, 3)}${from.of(DIGITS, 1)}Q~${from.of(`${ALNUM}_~.-`, 33)}a"`,
  }),
  "google-key": (from) => ({
    line: from.pick([
      `key=AIza${from.of(B64URL, 34)}x`,
      `secret: GOCSPX-${from.of(B64URL, 28)}`,
      `access ya29.${from.of(B64URL, 120)}`,
    ]),
  }),
  "github-token": (from) => ({
    line: from.pick([
      `export GH_TOKEN=${from.pick(["ghp", "gho", "ghu", "ghs", "ghr"])}_${from.of(ALNUM, 36)}`,
      `token: "github_pat_${from.of(ALNUM, 22)}_${from.of(ALNUM, 59)}"`,
      `https://ghp_${from.of(ALNUM, 36)}@github.com/o/r.git`,
    ]),
  }),
  "gitlab-token": (from) => ({
    line: `GITLAB=${from.pick(["glpat", "gldt", "glrt", "glptt", "glcbt"])}-${from.of(B64URL, 20)}`,
  }),
  "slack-token": (from) => ({
    line: from.pick([
      `slack("xoxb-${from.of(DIGITS, 12)}-${from.of(DIGITS, 13)}-${from.of(ALNUM, 24)}")`,
      `xoxp-${from.of(DIGITS, 12)}-${from.of(DIGITS, 12)}-${from.of(DIGITS, 12)}-${from.of(HEX, 32)}`,
      `url: https://hooks.slack.com/services/T${from.of(UPPER + DIGITS, 9)}/B${from.of(UPPER + DIGITS, 9)}/${from.of(ALNUM, 24)}`,
    ]),
  }),
  "npm-token": (from) => ({
    line: from.pick([
      `NPM=npm_${from.of(ALNUM, 36)}`,
      `//npm.example.com/:_authToken=${from.of(HEX, 8)}-${from.of(HEX, 4)}-${from.of(HEX, 4)}-${from.of(HEX, 4)}-${from.of(HEX, 12)}`,
    ]),
  }),
  "pypi-token": (from) => ({ line: `password = pypi-AgEIcHlwaS5vcmc${from.of(B64URL, 120)}` }),
  "stripe-key": (from) => ({
    line: from.pick([
      `stripe("${from.pick(["sk", "rk"])}_live_${from.of(ALNUM, 24)}")`,
      `sk_test_${from.of(ALNUM, 99)}`,
      `whsec_${from.of(ALNUM, 32)}`,
    ]),
  }),
  "anthropic-key": (from) => ({ line: `ANTHROPIC=sk-ant-api03-${from.of(B64URL, 93)}AA` }),
  "openai-key": (from) => ({
    line: from.pick([
      `openai: sk-${from.of(ALNUM, 20)}T3BlbkFJ${from.of(ALNUM, 20)}`,
      `"sk-proj-${from.of(B64URL, 155)}A"`,
      `sk-${from.of(ALNUM, 48)}`,
    ]),
  }),
  jwt: (from) => ({ line: `cookie = eyJ${from.of(B64URL, 33)}.eyJ${from.of(B64URL, 90)}.${from.of(B64URL, 43)}` }),
  "sendgrid-key": (from) => ({ line: `SG.${from.of(B64URL, 22)}.${from.of(B64URL, 43)}` }),
  "huggingface-token": (from) => ({ line: `login(hf_${from.of(LOWER + UPPER, 34)})` }),
  "digitalocean-token": (from) => ({ line: `DO=dop_v1_${from.of(HEX, 64)}` }),
  "shopify-token": (from) => ({ line: `"shpat_${from.of(HEX, 32)}"` }),
  "docker-token": (from) => ({ line: `docker login -p dckr_pat_${from.of(B64URL, 27)}` }),
  "databricks-token": (from) => ({ line: `DATABRICKS=dapi${from.of(HEX, 32)}` }),
  "linear-key": (from) => ({ line: `lin_api_${from.of(ALNUM, 40)}` }),
  "atlassian-token": (from) => ({ line: `jira ATATT3${from.of(B64URL, 185)}` }),
  "vault-token": (from) => ({ line: `VAULT=hvs.${from.of(B64URL, 95)}` }),
  "telegram-token": (from) => ({ line: `bot ${1 + from.below(9)}${from.of(DIGITS, 9)}:AA${from.of(B64URL, 33)}` }),
  "bearer-token": (from) => ({
    line: from.pick([
      `curl -H "Authorization: Bearer ${from.of(ALNUM, 40)}"`,
      `authorization: Basic ${from.of(B64, 30)}1=`,
    ]),
  }),
  "connection-string": (from) => ({
    line: from.pick([
      `postgres://app:${from.of(ALNUM, 11)}7@db.internal:5432/prod`,
      `mongodb+srv://svc:${from.of(ALNUM, 15)}4@cluster0.mongodb.net/x`,
      `redis://:${from.of(ALNUM, 19)}2@cache:6379/0`,
      `Server=tcp:db,1433;Database=prod;User Id=app;Password=${from.of(ALNUM, 13)}3;Encrypt=true`,
      `AccountName=x;AccountKey=${from.of(B64, 86)}==;`,
    ]),
  }),
  "generic-secret": (from) => ({
    ...from.pick([
      { line: `const apiKey = "${from.of(ALNUM, 31)}5";` },
      { line: `client_secret: '${from.of(HEX, 40)}',` },
      { line: `"auth_token": "${from.of(B64URL, 31)}8"` },
      { line: `DB_PASSWORD=${from.of(LOWER, 5)}${from.of(UPPER, 3)}${from.of(DIGITS, 3)}!`, file: ".env" },
      { line: `password: "${from.of(LOWER, 5)}${from.of(UPPER, 3)}${from.of(DIGITS, 3)}#"` },
      { line: `  encryption_key: ${from.of(ALNUM, 31)}6`, file: "config.yml" },
    ]),
  }),
  "home-path": (from) => {
    const who = from.pick(["ada", "grace", "linus", "margaret", "Edsger", "barbara.liskov", "j_smith"]);
    return {
      line: from.pick([
        `cd /home/${who}/work`,
        `"/Users/${who}/Projects/app"`,
        `C:\\Users\\${who}\\AppData`,
        `"C:\\\\Users\\\\${who}\\\\AppData"`,
        `file:///home/${who}/x.txt`,
        `C:/Users/${who}/x`,
        `(at /Users/${who}/a.js:1:1)`,
      ]),
    };
  },
};

/** A secret of a pattern, alone. */
export function githubToken(seed = 1): string {
  return `ghp_${new Source(seed).of(ALNUM, 36)}`;
}
