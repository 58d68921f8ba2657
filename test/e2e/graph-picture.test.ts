/** Pictures of the queue in a real browser: they render, are complete, and ask the network for nothing. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { inflateSync } from "node:zlib";

import { drawPicture, PICTURE } from "../../scripts/picture.ts";
import { binary, dotbot } from "../kit/binary.ts";
import { makeRepo, tempDir, type TempDir } from "../kit/git.ts";
import { seedTasks, taskId, type Seed } from "../kit/tasks.ts";
import { requireTool } from "../kit/tools.ts";

const chromium = requireTool("chromium");

const SEEDS: readonly Seed[] = [
  { name: "Initialise the repository", status: "done" },
  {
    name: "A name that is too long for one line, and by far too long for two of them, even when they are this wide",
    status: "in-progress",
    fields: { dependencies: [taskId(1)] },
  },
  { name: '</title></svg><script>document.title = "broken out"</script>&amp;', fields: { dependencies: [taskId(1)] } },
  {
    name: "広い文字で書かれた名前は二倍の幅を取りますがそれでも箱に収まる必要があります",
    status: "needs-review",
    fields: { dependencies: [taskId(2), taskId(1)] },
  },
  { name: "Waits for what isn't there", fields: { dependencies: ["nowhere", taskId(3)] } },
  ...Array.from({ length: 35 }, (_, i): Seed => ({
    name: `Part ${i + 6}`,
    fields: {
      dependencies: [taskId(2 + (i % 4)), taskId(6 + Math.floor(i / 2) - 1)].filter((id) => id !== taskId(i + 6)),
    },
  })),
];

test("README's picture is what the program draws (npm run picture)", async () => {
  expect(readFileSync(PICTURE, "utf8")).toBe(await drawPicture(await binary()));
});

let dir: TempDir;
beforeAll(async () => {
  dir = await tempDir("dotbot-picture-");
  const main = await makeRepo(dir.path("main"));
  seedTasks(main, SEEDS);
  for (const format of ["svg", "html"]) {
    const { status, stdout, stderr } = await dotbot(
      ["task", "graph", "--all", "--format", format, "--output", dir.path(`queue.${format}`)],
      { cwd: main },
    );
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: `${dir.path(`queue.${format}`)}\n`, stderr: "" });
  }
});
afterAll(async () => await dir[Symbol.asyncDispose]());

/** Runs the browser on a file of ours, without a network and without anything of its own to say. */
async function browse(file: string, ...flags: readonly string[]): Promise<string> {
  await using profile = await tempDir("dotbot-browser-");
  const child = Bun.spawn(
    [
      "chromium",
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--host-resolver-rules=MAP * ~NOTFOUND",
      `--user-data-dir=${profile.root}`,
      "--hide-scrollbars",
      "--window-size=1200,800",
      ...flags,
      `file://${dir.path(file)}`,
    ],
    { cwd: profile.root, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  const [stdout, stderr, status] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (status !== 0) throw new Error(`chromium ended with ${status}\n${stderr}`);
  return stdout;
}

describe.each(["svg", "html"])("%s", (format) => {
  const file = `queue.${format}`;
  const text = async (): Promise<string> => await Bun.file(dir.path(file)).text();

  test("names no address but that of the SVG language", async () => {
    expect([...new Set((await text()).match(/\b[a-z]+:\/\/[^"'<\s]+/g))]).toEqual(["http://www.w3.org/2000/svg"]);
    expect(await text()).not.toMatch(/\b(?:src|href|import|fetch|url\((?!#))\s*[=(]/);
  });

  test.skipIf(!chromium)("has a box for every task, and what they say stays text", async () => {
    const dom = await browse(file, "--dump-dom");
    expect(dom.match(/class="task"/g)).toHaveLength(SEEDS.length);
    expect(dom).not.toContain("<title>broken out</title>");
    expect(dom).toContain("&lt;/title&gt;&lt;/svg&gt;");
  });

  test.skipIf(!chromium)("is seen: boxes in the colours of their status, on white", async () => {
    const path = dir.path(`${format}.png`);
    await browse(file, `--screenshot=${path}`);
    const colors = await colorsOf(path);
    const share = (color: string): number => (colors.get(color) ?? 0) / (1200 * 800);
    expect(share("#ffffff")).toBeGreaterThan(0.3);
    // done, in-progress, needs-review, and what waits.
    for (const fill of ["#b2f2bb", "#ffec99", "#e5dbff", "#f1f3f5"])
      expect({ fill, seen: share(fill) > 0.002 }).toEqual({ fill, seen: true });
  });
});

test.skipIf(!chromium)(
  "the page shows labels in their full size, and all of the picture when told to fit",
  async () => {
    const page = await Bun.file(dir.path("queue.html")).text();
    const report = (action: string): string =>
      page.replace(
        "</script></body>",
        `${action}\nconst b = document.querySelector("main svg"); document.title = [b.clientWidth, b.clientHeight, b.getAttribute("viewBox")].join(" ");</script></body>`,
      );
    const seen = async (name: string, action: string): Promise<number[]> => {
      await Bun.write(dir.path(name), report(action));
      const title = /<title>([^<]*)<\/title>/.exec(await browse(name, "--dump-dom"))?.[1] ?? "";
      return title.split(" ").map(Number);
    };
    const [width, , , , viewWidth] = await seen("begin.html", "");
    expect(viewWidth).toBe(width);
    const [, , x, y, fitted] = await seen("fit.html", 'document.getElementById("fit").click();');
    expect([x, y]).toEqual([0, 0]);
    expect(fitted).toBe(Number(/<main><svg [^>]*?width="(\d+)"/.exec(page)?.[1]));
  },
);

/** How many pixels have which colour, of a PNG as browsers write them: 8 bits, RGB or RGBA, not interlaced. */
async function colorsOf(path: string): Promise<ReadonlyMap<string, number>> {
  const bytes = Buffer.from(await Bun.file(path).bytes());
  const width = bytes.readUInt32BE(16);
  const channels = bytes[25] === 6 ? 4 : 3;
  const parts: Buffer[] = [];
  for (let at = 8; at < bytes.length;) {
    const length = bytes.readUInt32BE(at);
    if (bytes.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(bytes.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const raw = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const counts = new Map<string, number>();
  let above = new Uint8Array(stride);
  for (let at = 0; at < raw.length; at += stride + 1) {
    const row = new Uint8Array(raw.subarray(at + 1, at + 1 + stride));
    const filter = raw[at] ?? 0;
    for (let i = 0; i < stride; i++) {
      const left = i < channels ? 0 : (row[i - channels] ?? 0);
      const up = above[i] ?? 0;
      const corner = i < channels ? 0 : (above[i - channels] ?? 0);
      row[i] = (row[i] ?? 0) + ([0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0);
    }
    for (let i = 0; i < stride; i += channels) {
      const color = `#${[row[i], row[i + 1], row[i + 2]].map((part) => (part ?? 0).toString(16).padStart(2, "0")).join("")}`;
      counts.set(color, (counts.get(color) ?? 0) + 1);
    }
    above = row;
  }
  return counts;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
