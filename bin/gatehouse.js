#!/usr/bin/env node
// Plain JavaScript, so that a Node.js which is too old can still say so.
import { existsSync } from 'node:fs';
import process from 'node:process';

const NEEDED = [22, 19];
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  console.error(
    `gatehouse: needs Node.js ${NEEDED.join('.')} or newer, and this is ${process.versions.node} (${process.execPath}).\n` +
      'gatehouse: Install it from https://nodejs.org, or in a checkout run: npm ci && npm start',
  );
  process.exit(1);
}

// A package brings dist; a checkout without it runs its sources, whose types Node.js strips.
const built = new URL('../dist/main.js', import.meta.url);
const { main } = await import(
  existsSync(built) ? built.href : new URL('../src/main.ts', import.meta.url).href
);
process.exitCode = await main(process.argv.slice(2));
// Output that is still on its way is written out; a socket that somebody forgot does not keep us.
setTimeout(() => process.exit(), 1000).unref();
