#!/usr/bin/env node
// Plain JavaScript without newer imports: an older Node.js can run this file and start the Node.js that Gatehouse
// installed.
import { existsSync, readdirSync, statSync } from 'node:fs';
import module from 'node:module';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { findPinnedNode, runWith } from './pinned-node.js';

const NEEDED = [22, 19];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
const pinned = isOld() ? findPinnedNode() : undefined;
if (pinned) runWith(pinned, fileURLToPath(import.meta.url));
else if (isOld()) {
  console.error(
    `gatehouse: needs Node.js ${NEEDED.join('.')} or newer, and this is ${process.versions.node} (${process.execPath}).\n` +
      'gatehouse: Install it from https://nodejs.org. In a checkout, npm ci installs one that is found here.',
  );
  process.exitCode = 1;
} else await start();

function isOld() {
  return major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1]);
}

async function start() {
  // DNS look-ups may use half of the threads, and each look-up without an answer holds one for ten seconds. Node.js
  // reads the setting at the first use of a thread, so it is set before anything else.
  process.env.UV_THREADPOOL_SIZE ||= '16';

  // Compiled code is cached between starts, which halves the time to the first answer. The cache is in our own
  // folder, if it exists: everyone who can write to the shared temporary folder could decide what runs.
  process.umask(0o077);
  const home = process.env.GATEHOUSE_HOME || join(homedir(), '.gatehouse');
  if (existsSync(home)) {
    module.enableCompileCache(join(home, 'cache', 'code'));
    // An MCP client may end a stdio process at any time; the compiled code would then be lost each time.
    setTimeout(() => module.flushCompileCache(), 2000).unref();
  }

  // The build starts faster the first time. In a checkout the sources, whose types Node.js strips, may be newer.
  const sources = fileURLToPath(new URL('../src', import.meta.url));
  const built = fileURLToPath(new URL('../dist/main.js', import.meta.url));
  const lock = fileURLToPath(new URL('../package-lock.json', import.meta.url));
  const entry = isCurrent({ built, sources, lock }) ? built : join(sources, 'main.ts');
  const { main } = await import(pathToFileURL(entry).href);
  process.exitCode = await main(process.argv.slice(2));
  // Pending output is written first. A socket that is still open does not delay the exit.
  setTimeout(() => process.exit(), 1000).unref();
}

/** Returns whether dist exists and, in a checkout, no source or package is newer than it. */
function isCurrent({ built, sources, lock }) {
  if (!existsSync(built)) return false;
  if (!existsSync(new URL('../.git', import.meta.url))) return true;
  const { mtimeMs } = statSync(built);
  const isOlder = (path) => statSync(path).mtimeMs <= mtimeMs;
  const areOlder = (folder) =>
    isOlder(folder) &&
    readdirSync(folder, { withFileTypes: true }).every((entry) => {
      const path = `${folder}/${entry.name}`;
      return entry.isDirectory() ? areOlder(path) : isOlder(path);
    });
  return isOlder(lock) && areOlder(sources);
}
