/**
 * What the privacy scan looks for, as data. Pure.
 *
 * Every rule names byte strings of which one stands in each match (`literals`, at least three bytes): the engine looks for
 * those first and tries the expression only there. An expression is sticky: it is tried where the literal begins, and looks
 * back with a lookbehind. Quantifiers are bounded, and so is the text that an expression is shown.
 */
import { entropy, isPlaceholder, looksChosen, looksRandom } from "./secrets.ts";

/** What a rule is asked about: the match, and as much of the line as the engine shows. */
export interface Candidate {
  /** The first group of the match that has something in it, or all of the match. */
  readonly secret: string;
  readonly match: string;
  /** The window: at most `back` bytes before the literal, and what follows up to the rule's bound. */
  readonly window: string;
  /** Path from the repository's root, as text. */
  readonly file: string;
}

export interface Rule {
  readonly literals: readonly string[];
  /** The literals are found whatever their case; they are written in lower case. */
  readonly anyCase?: boolean;
  /** No letter, digit or underscore may stand before the literal. */
  readonly boundary?: boolean;
  /** Something must be assigned behind the literal: `name = `, `"name": `. Looked at before the expression is tried. */
  readonly assigned?: boolean;
  /** The window goes beyond the line's end, for what is spread over several lines. */
  readonly lines?: boolean;
  /** Bytes of the window behind the literal's beginning. Default 400. */
  readonly ahead?: number;
  readonly regex: RegExp;
  /** What is shown (redacted) and remembered is all of the match: its group alone would tell too much of it. */
  readonly whole?: boolean;
  readonly accept?: (candidate: Candidate) => boolean;
}

export interface Pattern {
  /** As violations, exemptions and the baseline name it. */
  readonly name: string;
  /** What was found, for people. */
  readonly title: string;
  readonly rules: readonly Rule[];
}

/** A token with a prefix of its own: what follows it is nearly certain. */
function token(name: string, title: string, literals: readonly string[], regex: RegExp, bits = 3): Pattern {
  const accept = ({ secret }: Candidate): boolean => !isPlaceholder(secret) && entropy(secret) >= bits;
  return { name, title, rules: [{ literals, boundary: true, regex, accept }] };
}

/** Accounts that images, runners and documentation use: no person is behind them. */
const NOBODY =
  /^(?:users?|username|user[-_]?name|your.*|me|name|someone|somebody|person|you|home|runner|runneradmin|vsts|vagrant|ubuntu|debian|admin|administrator|root|node|app|appuser|dev|developer|vscode|codespace|gitpod|coder|circleci|travis|jenkins|builder?|git|www|www-data|linuxbrew|ec2-user|azureuser|pi|nonroot|default|public|shared|guest|test|tester|foo|bar|baz|example|xxx+|john\.?doe|jane\.?doe|all users)$/i;

function isPerson({ secret }: Candidate): boolean {
  return !NOBODY.test(secret) && !isPlaceholder(secret);
}

/** Where an absolute path may begin: not within a longer one, an address, a template or a name. */
const PATH_START = String.raw`(?<![\w.~}\])*@%?&+\x80-\xff-])(?<!(?<!file:/)/)`;
const UNIX_HOME = String.raw`([A-Za-z_\x80-\xff][\w.\x80-\xff-]{0,31})/(?=[\w.~\x80-\xff-])`;
const WINDOWS_USER = String.raw`([A-Za-z_\x80-\xff][\w.\x80-\xff~-]{0,31}(?: [A-Z][\w.-]{0,20})?)`;

const homePath: Pattern = {
  name: "home-path",
  title: "a path into somebody's home folder",
  rules: [
    { literals: ["/home/"], regex: new RegExp(`${PATH_START}/home/${UNIX_HOME}`, "y"), whole: true, accept: isPerson },
    {
      literals: ["/Users/"],
      regex: new RegExp(String.raw`(?:${PATH_START}|(?<=(?<!\w)[A-Za-z]:))/Users/${UNIX_HOME}`, "y"),
      whole: true,
      accept: isPerson,
    },
    {
      literals: [":\\users\\", ":\\\\users\\\\"],
      anyCase: true,
      regex: new RegExp(String.raw`(?<=(?<!\w)[A-Za-z]):(\\{1,2})users\1${WINDOWS_USER}(?=\\|["'\s]|$)`, "iy"),
      whole: true,
      accept: (candidate) => isPerson({ ...candidate, secret: candidate.match.replace(/^.*\\/s, "") }),
    },
  ],
};

const privateKey: Pattern = {
  name: "private-key",
  title: "a private key",
  rules: [
    {
      literals: ["-----BEGIN ", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY"],
      lines: true,
      ahead: 512,
      // The header alone is what code compares with; a key has a body.
      regex:
        /-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}(?:(?:\\{1,2}[nr]|[\s"'`+,>|*#;/])|(?:[A-Z][A-Za-z0-9-]{2,20}: [^\n\\]{0,100})){0,60}[A-Za-z0-9+/=]{16}/y,
    },
    {
      literals: ["PuTTY-User-Key-File-"],
      lines: true,
      regex: /PuTTY-User-Key-File-[23]: \S{3,40}\s{1,4}Encryption: /y,
    },
    {
      literals: ["AGE-SECRET-KEY-1"],
      boundary: true,
      regex: /AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}/y,
    },
  ],
};

const B64URL = "[A-Za-z0-9_-]";

const CONFIG_FILE =
  /(?:^|\/)(?:\.env(?:\.[\w.-]+)?|\.npmrc|\.pypirc|\.netrc|\.pgpass|Dockerfile[\w.-]*|credentials?|config)$|\.(?:env|ini|conf|cfg|cnf|properties|toml|ya?ml|tfvars|sh|bash|zsh|fish|envrc)$/i;

const SECRET_WORDS = [
  "password",
  "passwd",
  "passphrase",
  "pwd",
  "secret",
  "token",
  "api_key",
  "apikey",
  "api-key",
  "access_key",
  "accesskey",
  "access-key",
  "private_key",
  "privatekey",
  "auth_key",
  "authkey",
  "encryption_key",
  "signing_key",
  "credential",
];

/** Behind the word: the rest of the name, what closes it, a type, and an assignment. */
const ASSIGN = String.raw`[A-Za-z][\w.-]{2,48}["'\x60]?\]?[ \t]{0,8}(?::[ \t]{0,4}[A-Za-z][\w<>| ]{0,24}=|=>|:=|[:=]{1,3})[ \t]{0,8}`;
const CHOSEN = /pass|pwd/i;

function genericSecret({ secret, match, file }: Candidate): boolean {
  // Without quotes it is a value only where values have none; elsewhere it is code.
  const quoted = /["'`]$/.test(match);
  if (!quoted && !CONFIG_FILE.test(file)) return false;
  const name = match.slice(0, match.lastIndexOf(secret));
  if (CHOSEN.test(name)) return looksChosen(secret);
  return secret.length >= 16 && !/[\s()[\]{};,<>]|:\/\/|^[./]/.test(secret) && looksRandom(secret, 3.3);
}

const generic: Pattern = {
  name: "generic-secret",
  title: "a value that is called a secret and looks like one",
  rules: [
    {
      literals: SECRET_WORDS,
      anyCase: true,
      assigned: true,
      regex: new RegExp(
        String.raw`${ASSIGN}(?:[@fbr]{0,2}["'\x60]([^"'\x60\s\\]{8,200})["'\x60]|([^"'\x60\s#;\\$]{8,200})(?=\s|$))`,
        "y",
      ),
      accept: genericSecret,
    },
  ],
};

const connectionString: Pattern = {
  name: "connection-string",
  title: "a connection string with its password",
  rules: [
    {
      literals: ["://"],
      regex:
        /(?<=(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}):\/\/[^\s:@/?#"'`<>{}()|\\]{0,64}:([^\s@/"'`<>|\\]{3,128})@(?=[A-Za-z0-9[])/iy,
      accept: ({ secret }) => !isPlaceholder(secret) && !/[{}()$*]/.test(secret) && /[^A-Za-z_-]/.test(secret),
    },
    {
      literals: ["password", "pwd"],
      anyCase: true,
      boundary: true,
      ahead: 200,
      regex: /(?:password|pwd) {0,2}= {0,2}([^;"'`\s{}<>$]{4,128})(?=[;"'`\s]|$)/iy,
      accept: ({ secret, window }) =>
        /(?:^|[;"'`\s])(?:server|data source|host|hostname|address|user id|uid|user|username|database|initial catalog|dsn|driver) {0,2}= {0,2}[^;]{1,80};/i.test(
          window,
        ) &&
        !isPlaceholder(secret) &&
        /[^A-Za-z_-]/.test(secret),
    },
    {
      literals: ["AccountKey=", "SharedAccessKey="],
      regex: /(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{42,88}={0,2})/y,
      accept: ({ secret }) => looksRandom(secret, 3.5),
    },
  ],
};

const bearer: Pattern = {
  name: "bearer-token",
  title: "a bearer token or basic credentials",
  rules: [
    {
      literals: ["bearer "],
      anyCase: true,
      boundary: true,
      regex: /bearer {1,4}([A-Za-z0-9._~+/-]{20,1000}={0,2})(?![A-Za-z0-9(])/iy,
      accept: ({ secret }) => looksRandom(secret, 3.5),
    },
    {
      literals: ["authorization"],
      anyCase: true,
      assigned: true,
      regex:
        /authorization["'`]?\]?[ \t]{0,4}[:=][ \t]{0,4}["'`]?(?:basic|token) {1,4}([A-Za-z0-9+/_-]{16,400}={0,2})/iy,
      accept: ({ secret }) => entropy(secret) >= 3.3 && !isPlaceholder(secret) && /[0-9=]/.test(secret),
    },
  ],
};

/** Every built-in pattern, in the order in which a line's are named. */
export const PATTERNS: readonly Pattern[] = [
  privateKey,
  {
    name: "aws-key",
    title: "a key of Amazon Web Services",
    rules: [
      {
        literals: ["AKIA", "ASIA", "ABIA", "ACCA"],
        boundary: true,
        regex: /(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])/y,
        accept: ({ secret }) => !secret.endsWith("EXAMPLE") && entropy(secret) >= 2.8,
      },
      {
        literals: ["aws_secret", "awssecret", "secretaccesskey", "secret_access_key", "secret_key", "secretkey"],
        anyCase: true,
        assigned: true,
        regex: new RegExp(String.raw`${ASSIGN}["'\x60]?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])`, "y"),
        accept: ({ secret }) => looksRandom(secret, 3.8) && /[A-Z]/.test(secret) && !/^[0-9a-f]+$/i.test(secret),
      },
    ],
  },
  {
    name: "azure-key",
    title: "a client secret or a shared access signature of Azure",
    rules: [
      {
        literals: Array.from({ length: 10 }, (_, digit) => `${digit}Q~`),
        regex: /(?<=(?<![\w.~-])[A-Za-z0-9_~.-]{3})\dQ~[A-Za-z0-9_~.-]{31,34}(?![\w.~-])/y,
      },
      { literals: ["sig="], regex: /(?<=[?&](?:[\w=%:.-]{1,60}&){0,10})sig=([A-Za-z0-9%]{43,63}(?:%3D|=))/iy },
    ],
  },
  token(
    "google-key",
    "a key of Google",
    ["AIza", "GOCSPX-", "ya29."],
    /(?:AIza[0-9A-Za-z_-]{35}|GOCSPX-[\w-]{28}|ya29\.[\w-]{20,400})(?![\w-])/y,
  ),
  token(
    "github-token",
    "a token of GitHub",
    ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
    /(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})(?![A-Za-z0-9_])/y,
  ),
  token(
    "gitlab-token",
    "a token of GitLab",
    ["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "gloas-", "glagent-", "glimt-", "glffct-"],
    new RegExp(`gl(?:pat|dt|rt|cbt|ptt|ft|soat|oas|agent|imt|ffct)-[\\w.-]{20,128}(?!${B64URL})`, "y"),
  ),
  {
    name: "slack-token",
    title: "a token or a web hook of Slack",
    rules: [
      {
        literals: ["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe", "xapp-"],
        boundary: true,
        regex: /(?:xox[abeprs]|xoxe\.xox[bp]|xapp)-[0-9A-Za-z]{1,14}-[0-9A-Za-z-]{10,250}(?![\w-])/y,
        accept: ({ secret }) => looksRandom(secret, 2.8),
      },
      {
        literals: ["hooks.slack.com/"],
        regex: /hooks\.slack\.com\/(?:services|workflows|triggers)\/([A-Z][A-Z0-9]{6,12}\/[\w/]{20,80})/y,
        accept: ({ secret }) => !isPlaceholder(secret) && !/^T0+\//.test(secret),
      },
    ],
  },
  {
    name: "npm-token",
    title: "a token of npm",
    rules: [
      {
        literals: ["npm_"],
        boundary: true,
        regex: /npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])/y,
        accept: ({ secret }) => looksRandom(secret, 3),
      },
      {
        literals: [":_authToken", ":_auth", ":_password"],
        regex: /:_(?:authToken|auth|password) ?= ?"?([A-Za-z0-9+/=_-]{16,200})/y,
        accept: ({ secret }) => looksRandom(secret, 3),
      },
    ],
  },
  token("pypi-token", "a token of PyPI", ["pypi-AgE"], /pypi-AgE[\w-]{50,400}/y),
  token(
    "stripe-key",
    "a key of Stripe",
    ["sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"],
    /(?:[sr]k_(?:live|test)_[0-9A-Za-z]{16,120}|whsec_[A-Za-z0-9+/]{32,64})(?![A-Za-z0-9])/y,
  ),
  token("anthropic-key", "a key of Anthropic", ["sk-ant-"], /sk-ant-(?:[a-z]{3,8}\d\d)-[\w-]{60,140}(?![\w-])/y),
  token(
    "openai-key",
    "a key of OpenAI",
    ["sk-"],
    /sk-(?!ant-)(?:(?:proj|svcacct|admin|None)-[\w-]{20,220}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{48})(?![\w-])/y,
    3.6,
  ),
  {
    name: "jwt",
    title: "a JSON web token",
    rules: [
      {
        literals: ["eyJ"],
        boundary: true,
        ahead: 4096,
        regex: /eyJ[A-Za-z0-9_-]{10,1000}\.eyJ[A-Za-z0-9_-]{10,2500}\.[A-Za-z0-9_-]{16,700}/y,
      },
    ],
  },
  token("sendgrid-key", "a key of SendGrid", ["SG."], /SG\.[\w-]{22}\.[\w-]{43}(?![\w-])/y),
  token("huggingface-token", "a token of Hugging Face", ["hf_"], /hf_[A-Za-z]{34}(?![A-Za-z0-9])/y),
  token("digitalocean-token", "a token of DigitalOcean", ["dop_v1_", "doo_v1_", "dor_v1_"], /do[opr]_v1_[0-9a-f]{64}/y),
  token(
    "shopify-token",
    "a token of Shopify",
    ["shpat_", "shpca_", "shppa_", "shpss_"],
    /shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}/y,
  ),
  token("docker-token", "a token of Docker Hub", ["dckr_pat_"], /dckr_pat_[\w-]{27}(?![\w-])/y),
  token("databricks-token", "a token of Databricks", ["dapi"], /dapi[0-9a-f]{32}(?:-\d)?(?![A-Za-z0-9])/y),
  token("linear-key", "a key of Linear", ["lin_api_"], /lin_api_[A-Za-z0-9]{40}/y),
  token("atlassian-token", "a token of Atlassian", ["ATATT3"], /ATATT3[\w=-]{180,200}/y),
  token("vault-token", "a token of Vault", ["hvs.", "hvb."], /hv[sb]\.[\w-]{24,300}/y),
  {
    name: "telegram-token",
    title: "a token of a Telegram bot",
    rules: [
      {
        literals: [":AA"],
        regex: /(?<=(?<!\d)\d{8,10}):AA[\w-]{33}(?![\w-])/y,
        accept: ({ secret }) => entropy(secret) >= 3,
      },
    ],
  },
  bearer,
  connectionString,
  generic,
  homePath,
];

export function isPatternName(name: string, own: readonly string[] = []): boolean {
  return name === "*" || PATTERNS.some((pattern) => pattern.name === name) || own.includes(name);
}
