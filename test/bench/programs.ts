import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The built program and its home after a first start, as in every start but the first. */
export interface Product {
  home: string;
  env: Record<string, string>;
  /** Arguments of Node.js. */
  serve: string[];
  stdio: string[];
  /** Access URL of the demonstration server. */
  url: string;
}

const PORT = '39517';
const here = (name: string) => new URL(name, import.meta.url).pathname;

/** Creates a home and starts the built program in it once, which creates the store, its schema, keys and caches. */
export async function prepareProduct(): Promise<Product> {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-bench-home-'));
  const bin = here('../../bin/gatehouse.js');
  const env = {
    GATEHOUSE_HOME: home,
    LOG_LEVEL: 'silent',
    PORT,
    GATEHOUSE_RATE_LIMIT_MCP: '999999999/60s',
  };
  const serve = [bin, 'serve'];
  const first = spawn(process.execPath, serve, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = await firstUrl(join(home, 'first-keys'), first);
  await listed(url);
  first.kill('SIGTERM');
  await new Promise((resolve) => first.once('exit', resolve));
  return { home, env, serve, stdio: [bin, 'stdio', '--server', 'Sandbox'], url };
}

/** Reads the access URL when the file has it, because the keys are written earlier. */
async function firstUrl(keys: string, first: ChildProcess): Promise<string> {
  while (first.exitCode === null) {
    const url = existsSync(keys) ? /http:\S+\/mcp\/\S+/.exec(readFileSync(keys, 'utf8'))?.[0] : undefined;
    if (url !== undefined) return url;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('the first start failed');
}

/** Resolves when the MCP server at this address has listed its tools. */
export async function listed(url: string): Promise<void> {
  for (;;) {
    const ok = await fetch(url, {
      method: 'POST',
      headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    }).then(
      async (response) => (await response.text()).includes('"tools":['),
      () => false,
    );
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Compiles the reference to JavaScript, because reading TypeScript would cost 35 ms of its start and some memory. */
export function plainPeer(): string {
  const folder = here('.cache');
  mkdirSync(folder, { recursive: true });
  for (const name of ['peer-sdk', 'fixtures']) {
    const text = stripTypeScriptTypes(readFileSync(here(`${name}.ts`), 'utf8'));
    writeFileSync(join(folder, `${name}.js`), text.replaceAll(/(from '\.\/\w+)\.ts'/g, "$1.js'"));
  }
  return join(folder, 'peer-sdk.js');
}
