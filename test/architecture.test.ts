import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const SRC = resolve(import.meta.dirname, '../src');

/** Surfaces whose folders are rooms of their own. */
const SPLIT = new Set(['http', 'mcp']);
/** Room → the rooms that it imports, types included (ARCHITECTURE.md, Layers). */
const ALLOWED: Record<string, string[]> = {
  lib: [],
  outbound: ['lib'],
  store: ['lib', 'config.ts'],
  crypto: ['lib', 'outbound', 'store', 'config.ts'],
  'config.ts': ['lib', 'telemetry', 'variables.ts'],
  'variables.ts': [],
  docs: ['lib'],
  telemetry: ['lib'],
  'log.ts': [],
  'package.ts': [],
  connectors: ['lib', 'store'],
  openapi: ['lib', 'connectors'],
  'base.ts': ['lib', 'outbound', 'store', 'crypto', 'config.ts', 'log.ts', 'connectors', 'telemetry'],
  runtime: ['lib', 'store', 'telemetry', 'config.ts', 'base.ts'],
  identity: ['lib', 'store', 'telemetry', 'crypto', 'config.ts', 'base.ts', 'runtime'],
  upstream: ['lib', 'outbound', 'telemetry', 'connectors', 'base.ts', 'runtime'],
  files: ['lib', 'store', 'crypto', 'base.ts', 'identity'],
  credentials: [
    'lib',
    'outbound',
    'store',
    'crypto',
    'connectors',
    'base.ts',
    'runtime',
    'identity',
    'upstream',
  ],
  servers: ['lib', 'store', 'crypto', 'connectors', 'base.ts', 'identity'],
  actions: [
    'lib',
    'store',
    'telemetry',
    'crypto',
    'connectors',
    'base.ts',
    'runtime',
    'identity',
    'upstream',
    'files',
    'credentials',
    'servers',
  ],
  connect: ['lib', 'store', 'crypto', 'connectors', 'base.ts', 'identity', 'credentials', 'servers'],
  unified: ['lib', 'store', 'connectors', 'upstream', 'credentials', 'actions'],
  outbox: ['lib', 'outbound', 'store', 'connectors', 'base.ts', 'runtime'],
  sources: [
    'lib',
    'store',
    'crypto',
    'connectors',
    'base.ts',
    'runtime',
    'upstream',
    'credentials',
    'actions',
    'unified',
    'outbox',
  ],
  subscriptions: ['lib', 'store', 'connectors', 'base.ts', 'runtime', 'credentials', 'outbox', 'sources'],
  workflows: [
    'lib',
    'outbound',
    'store',
    'crypto',
    'package.ts',
    'connectors',
    'base.ts',
    'runtime',
    'identity',
    'upstream',
    'credentials',
    'servers',
    'actions',
    'outbox',
    'sources',
  ],
  programs: ['lib', 'store', 'base.ts', 'runtime'],
  backup: ['lib', 'store', 'crypto', 'config.ts', 'identity'],
  custom: ['lib', 'store', 'connectors', 'openapi', 'base.ts', 'runtime', 'unified'],
  remote: ['lib', 'store', 'connectors', 'base.ts', 'runtime', 'upstream', 'credentials', 'custom'],
  'http/context.ts': ['telemetry', 'remote', 'runtime', 'identity', 'servers', 'connect', 'workflows'],
  'http/server': ['lib', 'store', 'crypto', 'package.ts', 'base.ts', 'identity', 'http/context.ts'],
  'http/routes': [
    'lib',
    'store',
    'connectors',
    'base.ts',
    'runtime',
    'identity',
    'files',
    'credentials',
    'servers',
    'actions',
    'connect',
    'unified',
    'outbox',
    'sources',
    'subscriptions',
    'workflows',
    'custom',
    'remote',
    'http/context.ts',
    'http/server',
  ],
  'http/pages': ['lib', 'store', 'package.ts', 'base.ts', 'servers', 'http/context.ts', 'http/server'],
  search: ['lib', 'store', 'package.ts', 'connectors', 'base.ts', 'credentials', 'actions'],
  'mcp/context.ts': ['identity', 'connect', 'workflows', 'programs'],
  'mcp/protocol': ['lib', 'connectors'],
  'mcp/scope': [
    'lib',
    'store',
    'telemetry',
    'package.ts',
    'connectors',
    'base.ts',
    'runtime',
    'identity',
    'upstream',
    'credentials',
    'servers',
    'actions',
    'search',
    'mcp/context.ts',
    'mcp/protocol',
  ],
  'mcp/answers': [
    'lib',
    'store',
    'connectors',
    'base.ts',
    'identity',
    'upstream',
    'servers',
    'actions',
    'mcp/context.ts',
    'mcp/protocol',
    'mcp/scope',
  ],
  'mcp/tools': [
    'lib',
    'store',
    'connectors',
    'base.ts',
    'runtime',
    'upstream',
    'credentials',
    'servers',
    'actions',
    'connect',
    'workflows',
    'programs',
    'search',
    'mcp/context.ts',
    'mcp/protocol',
    'mcp/scope',
    'mcp/answers',
  ],
  'mcp/resources': [
    'lib',
    'outbound',
    'store',
    'connectors',
    'runtime',
    'files',
    'credentials',
    'servers',
    'mcp/context.ts',
    'mcp/scope',
    'mcp/answers',
    'mcp/tools',
  ],
  'mcp/server': [
    'lib',
    'store',
    'telemetry',
    'base.ts',
    'credentials',
    'servers',
    'search',
    'mcp/context.ts',
    'mcp/protocol',
    'mcp/scope',
    'mcp/answers',
    'mcp/tools',
    'mcp/resources',
  ],
  'mcp/transport': [
    'lib',
    'outbound',
    'store',
    'crypto',
    'telemetry',
    'connectors',
    'base.ts',
    'identity',
    'upstream',
    'servers',
    'mcp/context.ts',
    'mcp/protocol',
    'mcp/scope',
    'mcp/answers',
    'mcp/resources',
    'mcp/server',
  ],
  sandbox: ['lib', 'store', 'log.ts', 'package.ts'],
  author: [
    'lib',
    'outbound',
    'telemetry',
    'config.ts',
    'log.ts',
    'package.ts',
    'connectors',
    'openapi',
    'base.ts',
    'upstream',
    'credentials',
    'actions',
    'unified',
    'sources',
    'custom',
  ],
  web: ['client'],
  views: [],
  console: ['client'],
  client: [],
  embed: ['web'],
  'docs-browser': [],
  cli: ['*'],
  'app.ts': ['*'],
  'load-lazy.ts': ['*'],
  'rest.ts': ['*'],
  'main.ts': ['*'],
  'context.ts': ['*'],
};

/** Packages that have one home. */
const HOMES: { package: RegExp; allowed: RegExp }[] = [
  { package: /^@modelcontextprotocol\/sdk\/server/, allowed: /^mcp\// },
  { package: /^@modelcontextprotocol\/client/, allowed: /^upstream\/remote\// },
  { package: /^express$/, allowed: /^(http\/|sandbox\/|lib\/http\/express-errors\.ts)/ },
  { package: /^(better-sqlite3|pg)$/, allowed: /^store\// },
  { package: /^sax$/, allowed: /^lib\/xml\.ts$/ },
  { package: /^age-encryption$/, allowed: /^backup\// },
  { package: /^(prom-client|@opentelemetry\/)/, allowed: /^telemetry\// },
  {
    package: /^(react|react-dom|react-router|@mantine|@tabler|@tanstack)(\/|$|-)/,
    allowed: /^(console|embed)\//,
  },
  { package: /^(marked|highlight\.js)(\/|$)/, allowed: /^docs\// },
  { package: /^minisearch$/, allowed: /^docs-browser\// },
  { package: /^undici$/, allowed: /^outbound\// },
];

interface Import {
  from: string;
  to: string;
}

const files = sourceFiles(SRC);
const imports = files.flatMap(importsOf);
/** Imports from one room to another. */
const arrows = imports
  .filter(({ to }) => to.startsWith(SRC))
  .map(({ from, to }) => ({ from: relative(SRC, from), to: relative(SRC, to) }))
  .filter(({ from, to }) => roomOf(from) !== roomOf(to));

test('every import follows an allowed arrow', () => {
  const strays = arrows
    .filter(({ from, to }) => {
      const allowed = ALLOWED[roomOf(from)];
      return !allowed || (!allowed.includes('*') && !allowed.includes(roomOf(to)));
    })
    .map(({ from, to }) => `${from} -> ${to}`);
  expect(strays).toEqual([]);
});

test('every allowed arrow is in use', () => {
  const used = new Set(arrows.map(({ from, to }) => `${roomOf(from)} -> ${roomOf(to)}`));
  const unused = Object.entries(ALLOWED)
    .flatMap(([from, allowed]) => allowed.map((to) => `${from} -> ${to}`))
    .filter((arrow) => !arrow.endsWith('*') && !used.has(arrow));
  expect(unused).toEqual([]);
});

test('no cycle of imports, types included', () => {
  const graph = new Map(files.map((file) => [file, ownImports(file)]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].map((one) => relative(SRC, one)).join(' -> '));
      return;
    }
    if (done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(cycles).toEqual([]);
});

test('packages stay in their homes', () => {
  const strays = imports.flatMap(({ from, to }) =>
    HOMES.filter((home) => home.package.test(to) && !home.allowed.test(relative(SRC, from))).map(
      () => `${relative(SRC, from)} imports ${to}`,
    ),
  );
  expect(strays).toEqual([]);
});

test('only config.ts reads the environment, and only the outbound door calls fetch', () => {
  const strays = files.flatMap((file) => {
    const name = relative(SRC, file);
    const text = readFileSync(file, 'utf8');
    const found: string[] = [];
    if (name !== 'config.ts' && /process\.env\b/.test(text)) found.push(`${name}: process.env`);
    if (
      !/^(outbound\/|web\/|docs-browser\/|console\/|client\/)/.test(name) &&
      /(?:await|return|=|=>|\()\s*fetch\(/.test(text)
    )
      found.push(`${name}: fetch`);
    if (/process\.exit\(/.test(text)) found.push(`${name}: process.exit belongs to bin/`);
    return found;
  });
  expect(strays).toEqual([]);
});

/** Ways to read or replace what a dependency or Node.js keeps to itself. `_meta` is a member of MCP. */
const PRIVATE_PARTS =
  /(?:\.|\[['"]|\{ ?)_(?!meta\b|method\b)[A-Za-z]\w*['"]?(?: ?[:\]=(]|\b)|getOwnPropertySymbols|registerHooks|process\.binding|\.prototype\.\w+ =|removeAllListeners\('(?!data)/;

test('no private member of a dependency or of Node.js is read or replaced', () => {
  const strays = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => PRIVATE_PARTS.test(line))
      .map((line) => `${relative(SRC, file)}: ${line.trim()}`),
  );
  expect(strays).toEqual([]);
});

test('the code knows no connector but the sandbox', () => {
  const shipped = readdirSync(resolve(SRC, '../data/connectors'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'sandbox')
    .map((entry) => entry.name);
  const strays = files.flatMap((file) =>
    shipped
      .filter((id) => new RegExp(`['"\`]${id}['"\`.]`).test(readFileSync(file, 'utf8')))
      .map((id) => `${relative(SRC, file)}: ${id}`),
  );
  expect(shipped.length).toBeGreaterThan(0);
  expect(strays).toEqual([]);
});

test('no file is longer than 400 lines', () => {
  const long = readdirSync(SRC, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => ({
      file: relative(SRC, join(parentPath, name)),
      lines: readFileSync(join(parentPath, name), 'utf8').trimEnd().split('\n').length,
    }))
    .filter(({ lines }) => lines > 400);
  expect(long).toEqual([]);
});

test('no folder has more than 45 files', () => {
  const entries = readdirSync(SRC, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const folders = [...Map.groupBy(entries, ({ parentPath }) => relative(SRC, parentPath))];
  const crowded = folders
    .filter(([, all]) => all.length > 45)
    .map(([folder, all]) => `${folder}: ${all.length}`);
  expect(crowded).toEqual([]);
});

test('mcp/tools is at most 40 files on 9 floors', () => {
  const own = new Map(
    files
      .filter((file) => relative(SRC, file).startsWith('mcp/tools/'))
      .map((file) => [file, ownImports(file)] as const),
  );
  const floors = new Map<string, number>();
  const floorOf = (file: string): number => {
    const known = floors.get(file);
    if (known !== undefined) return known;
    const below = (own.get(file) ?? []).filter((to) => own.has(to)).map(floorOf);
    const floor = Math.max(0, ...below) + 1;
    floors.set(file, floor);
    return floor;
  };
  expect(own.size).toBeLessThanOrEqual(40);
  expect(Math.max(...[...own.keys()].map(floorOf))).toBeLessThanOrEqual(9);
});

test('no two files share a name but the contexts and ports of rooms', () => {
  const places = Map.groupBy(files, (file) => basename(file));
  const shared = [...places].filter(([, paths]) => paths.length > 1).map(([name]) => name);
  expect(shared.toSorted()).toEqual(['context.ts', 'ports.ts']);
});

function roomOf(name: string): string {
  const [first = name, second = ''] = name.split('/');
  return SPLIT.has(first) ? `${first}/${second}` : first;
}

function ownImports(file: string): string[] {
  return importsOf(file)
    .map(({ to }) => to)
    .filter((to) => to.startsWith(SRC));
}

function importsOf(from: string): Import[] {
  const text = readFileSync(from, 'utf8');
  const found = text.matchAll(/^\s*(?:import|export)\s[^'";]*?from\s+'([^']+)'|import\(\s*'([^']+)'\s*\)/gm);
  return [...found].map((match) => {
    const to = match[1] ?? match[2] ?? '';
    return { from, to: to.startsWith('.') ? join(dirname(from), to) : to };
  });
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) =>
      statSync(path).isDirectory() ? sourceFiles(path) : /\.tsx?$/.test(path) ? [path] : [],
    );
}
test('npm run proof:sampled runs each test that takes a sample', () => {
  const root = resolve(SRC, '..');
  const sampling = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .filter((name) =>
      /^import .*\/support\/full\.ts';$/m.test(readFileSync(join(root, 'test', name), 'utf8')),
    )
    .map((name) => `test/${name}`);
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const proven = String(scripts['proof:sampled']).split(' ');
  expect(sampling.length).toBeGreaterThan(0);
  expect(proven.filter((word) => word.startsWith('test/')).toSorted()).toEqual(sampling.toSorted());
});
