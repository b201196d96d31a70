#!/usr/bin/env node
// Plain JavaScript without newer imports: an older Node.js can run this file and start the Node.js that Gatehouse
// installed.
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBuildCurrent } from './current-build.js';

const NEEDED = [22, 19];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (isOld()) await startPinned();
else await start();

function isOld() {
  return major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1]);
}

async function startPinned() {
  const { findPinnedNode, runWith } = await import('./pinned-node.js');
  const pinned = findPinnedNode();
  if (pinned) return runWith(pinned, fileURLToPath(import.meta.url));
  console.error(
    `gatehouse: needs Node.js ${NEEDED.join('.')} or newer, and this is ${process.versions.node} (${process.execPath}).\n` +
      'gatehouse: Install it from https://nodejs.org. In a checkout, npm ci installs one that is found here.',
  );
  process.exitCode = 1;
}

async function start() {
  // DNS look-ups may use half of the threads, and each look-up without an answer holds one for ten seconds. Node.js
  // reads the setting at the first use of a thread, so it is set before anything else.
  process.env.UV_THREADPOOL_SIZE ||= '16';

  // Compiled code is cached between starts, which halves the time to the first answer. The cache is in our own
  // folder, if it exists: everyone who can write to the shared temporary folder could decide what runs.
  process.umask(0o077);
  // An import statement of node:fs would read all its members, and so load its streams.
  const { existsSync } = process.getBuiltinModule('node:fs');
  const home = process.env.GATEHOUSE_HOME || join(homedir(), '.gatehouse');
  if (existsSync(home)) {
    module.enableCompileCache(join(home, 'cache', 'code'));
    // An MCP client may end a stdio process at any time; the compiled code would then be lost each time.
    setTimeout(() => module.flushCompileCache(), 2000).unref();
  }

  // The build starts faster the first time. In a checkout the sources, whose types Node.js strips, may be newer.
  const entry = isBuildCurrent() ? '../dist/main.js' : '../src/main.ts';
  const { main } = await import(new URL(entry, import.meta.url).href);
  process.exitCode = await main(process.argv.slice(2));
  // Pending output is written first. A socket that is still open does not delay the exit.
  setTimeout(() => process.exit(), 1000).unref();
}
