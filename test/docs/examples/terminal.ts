import { spawn } from 'node:child_process';
import { BIN } from '../../support/cli.ts';

/** The exit code and the output of a part of an example. */
export interface Printed {
  code: number;
  out: string;
}

/** A shell that keeps its variables and functions, as the terminal of a reader does. */
export interface Terminal extends AsyncDisposable {
  run(code: string): Promise<Printed>;
}

/** `gatehouse` and `npx gatehouse` are the command line of this checkout. */
const COMMANDS = `
gatehouse() { ${JSON.stringify(process.execPath)} ${JSON.stringify(BIN)} "$@"; }
npx() { [ "$1" = gatehouse ] || { echo "npx $1 is not run here"; return 1; }; shift; gatehouse "$@"; }
`;

/** Opens a shell in `folder`. */
export function openTerminal(folder: string, env: Record<string, string>): Terminal {
  const child = spawn('bash', ['--norc', '-o', 'pipefail'], { cwd: folder, env });
  let text = '';
  let ended = false;
  let wake = () => {};
  const collect = (chunk: Buffer) => {
    text += chunk.toString();
    wake();
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  child.on('close', () => {
    ended = true;
    wake();
  });
  child.stdin.write(COMMANDS);
  let count = 0;
  return {
    async run(code) {
      const mark = `@@end-of-part-${++count}`;
      text = '';
      child.stdin.write(`${code}\nprintf '\\n${mark} %s\\n' "$?"\n`);
      for (;;) {
        const end = new RegExp(`\\n${mark} (\\d+)\\n`).exec(text);
        if (end) return { code: Number(end[1]), out: text.slice(0, end.index) };
        if (ended) throw new Error(`The shell ended: ${text}`);
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      child.kill();
    },
  };
}
