#!/usr/bin/env node
// Plain JavaScript without newer imports: a Node.js that is too old runs the one that was installed with Gatehouse instead.
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
  // Half of the threads may look names up, and each name whose DNS does not answer holds one for ten seconds. Read at the first
  // use of a thread, so before anything else.
  process.env.UV_THREADPOOL_SIZE ||= '16';

  // Compiled code is kept between starts: it halves the time to the first answer. Kept in our own folder, once it is
  // there, and not in the shared temporary one: whoever can write it decides what runs.
  process.umask(0o077);
  const home = process.env.GATEHOUSE_HOME || join(homedir(), '.gatehouse');
  if (existsSync(home)) {
    module.enableCompileCache(join(home, 'cache', 'code'));
    // A client of stdio may end us without a word, and what was compiled would be lost each time.
    setTimeout(() => module.flushCompileCache(), 2000).unref();
  }

  // What was built starts faster the first time; sources, whose types Node.js strips, are what a checkout may have changed.
  const sources = fileURLToPath(new URL('../src', import.meta.url));
  const built = fileURLToPath(new URL('../dist/main.js', import.meta.url));
  const lock = fileURLToPath(new URL('../package-lock.json', import.meta.url));
  const entry = isCurrent({ built, sources, lock }) ? built : join(sources, 'main.ts');
  const { main } = await import(pathToFileURL(entry).href);
  process.exitCode = await main(process.argv.slice(2));
  // Output that is still on its way is written out; a socket that somebody forgot does not keep us.
  setTimeout(() => process.exit(), 1000).unref();
}

/** Whether dist is there, and in a checkout no source or package in it is younger: never yesterday's code. */
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
