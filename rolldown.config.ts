import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  build,
  defineConfig,
  type ChunkingContext,
  type CodeSplittingGroup,
  type OutputOptions,
  type Plugin,
} from 'rolldown';
import { toCached, cachedText } from './src/connectors/definition-cache.ts';
import { sourceHash } from './src/connectors/fragments.ts';
import { parseConnector } from './src/connectors/parse.ts';
import { SHIPPED_FILE } from './src/connectors/shipped.ts';
import { buildDocs } from './src/docs/site.ts';
import { buildWebFiles } from './src/http/server/web-files.ts';
import { PHRASE_TERMS_FILE, phraseTermsText } from './src/search/phrase-terms.ts';
import { BUILT_IN_BY_NAME } from './src/mcp/tools/tools.ts';

/** Native code looks for its binary next to its own file, so its package is the one that stays outside. */
const external = ['better-sqlite3'];

/** The oldest Node.js of `engines`, which does not know `using`. */
const transform = { target: 'node22.19' };

const output = {
  dir: 'dist',
  format: 'esm',
  // The same names in each release: a process finds the code that it has loaded, also after an update has replaced the files.
  chunkFileNames: '[name].js',
  sourcemap: true,
  sourcemapExcludeSources: true,
  // A text beyond Latin-1 costs two bytes a character for as long as the process lives.
  charset: 'ascii',
  comments: { legal: true, annotation: false, jsdoc: false },
} satisfies OutputOptions;

/*
 * dist/: our code and the packages it needs, in a few files instead of a thousand. Node.js resolves, reads and links
 * each module on its own, and that was most of a start. Not minified: a stack trace names functions and lines.
 */
const service = defineConfig({
  logLevel: 'warn',
  input: { main: 'src/main.ts' },
  platform: 'node',
  external,
  transform,
  plugins: [
    packagesOfRequire(),
    thriftyBuiltIns(),
    withoutUnused(),
    toolSchemas(),
    web(),
    docs(),
    definitions('data/connectors'),
    phraseTerms(),
    programs([
      'src/upstream/expression-process.ts',
      'src/custom/build-process.ts',
      'src/programs/program-process.ts',
      'src/runtime/probe-thread.ts',
    ]),
  ],
  output: { ...output, cleanDir: true, codeSplitting: { groups: startChunks() } },
});

/* dist/docs/assets: the scripts and styles of the documentation. */
const docsBrowser = defineConfig({
  logLevel: 'warn',
  input: { docs: 'src/docs-browser/docs-script.ts', theme: 'src/docs-browser/stored-theme.ts' },
  platform: 'browser',
  plugins: [docsStyles('src/docs-browser')],
  output: { dir: 'dist/docs/assets', format: 'esm', minify: true, chunkFileNames: '[name].js' },
});

/* dist/views: the document of MCP Apps, with its script and styles inside. */
const views = defineConfig({
  logLevel: 'warn',
  input: { view: 'src/views/result-view.ts' },
  platform: 'browser',
  transform: { target: 'es2022' },
  plugins: [viewDocument('src/views')],
  output: { dir: 'dist/views', format: 'iife', minify: true },
});

export default [service, docsBrowser, views];

/**
 * Puts the modules that a start always loads into one chunk for each command, because Node.js needs half a millisecond for
 * each file. The modules that all commands load are a chunk too, and so are those that `serve` and `stdio` share.
 */
function startChunks(): CodeSplittingGroup[] {
  const sets = new Map<string, Set<string>>();
  const group = (name: string, ...entries: string[]): CodeSplittingGroup => ({
    name: (id, graph) => {
      const isLoadedBy = (entry: string) => {
        const known = sets.get(entry) ?? closureOf(resolve(entry), graph);
        sets.set(entry, known);
        return known.has(id);
      };
      return entries.every(isLoadedBy) ? name : null;
    },
  });
  const [serve, stdio] = ['src/cli/serve.ts', 'src/cli/stdio-store.ts'];
  return [
    group('command-line', 'src/main.ts'),
    group('service', serve, stdio),
    group('serve', serve),
    group('stdio', stdio),
  ];
}

/** Returns the ids of the modules that a module imports, directly or not, and its own. Dynamic imports are left out. */
function closureOf(entry: string, graph: ChunkingContext): Set<string> {
  const found = new Set<string>([entry]);
  for (const id of found) for (const next of graph.getModuleInfo(id)?.importedIds ?? []) found.add(next);
  return found;
}

/** Emits the programs of other processes. Each is one file, because a process gets it as a text (runtime/child-program.ts). */
function programs(inputs: string[]): Plugin {
  return {
    name: 'programs',
    async generateBundle() {
      for (const input of inputs) {
        const built = await build({
          input,
          platform: 'node',
          external,
          transform,
          plugins: [packagesOfRequire(), thriftyBuiltIns()],
          output: { ...output, codeSplitting: false },
          write: false,
        });
        for (const file of built.output) {
          const source = file.type === 'chunk' ? file.code : file.source;
          this.emitFile({ type: 'asset', fileName: file.fileName, source });
        }
      }
    },
  };
}

/**
 * Includes packages that a function requires at its first use. `require` of a file that makes it with createRequire() is
 * that of Node.js, which the build leaves alone; without that line it is the build's own.
 */
function packagesOfRequire(): Plugin {
  const LINE = 'const require = createRequire(import.meta.url);';
  return {
    name: 'packages-of-require',
    transform: (code, id) =>
      // Spaces keep each place of the source.
      id.endsWith('.ts') && code.includes(LINE)
        ? { code: code.replace(LINE, ' '.repeat(LINE.length)), map: null }
        : null,
  };
}

/**
 * An import statement of a built-in module reads all that it exports, and some of it Node.js loads when it is read:
 * WebSocket of node:http is a whole HTTP client, 25 ms and 5 MB. Here what is imported is all that is read.
 */
function thriftyBuiltIns(): Plugin {
  const MARK = '\0built-in:';
  return {
    name: 'thrifty-built-ins',
    resolveId(id, importer, { kind }) {
      // The package `run` imports a module as a namespace, which a stand-in does not support. The helpers of the build are
      // loaded first, so they import no chunk.
      if (importer?.includes('/node_modules/run/') || importer?.includes('rolldown/runtime')) return null;
      return id.startsWith('node:') && kind === 'import-statement' ? `${MARK}${id}` : null;
    },
    load(id) {
      if (!id.startsWith(MARK)) return null;
      const name = id.slice(MARK.length);
      const names = Object.keys(process.getBuiltinModule(name) ?? {});
      const members = names.filter((member) => member !== 'default');
      return [
        `const all = process.getBuiltinModule('${name}');`,
        'export default all;',
        ...members.map((member) => `export const ${member} = /* @__PURE__ */ (() => all.${member})();`),
      ].join('\n');
    },
  };
}

/**
 * Leaves out modules that packages load at each start and we do not use: the default validators of the SDKs, whose Ajv takes a
 * tenth of the time that an SDK takes to load, the transports of the log, and the limiters of other stores.
 */
function withoutUnused(): Plugin {
  const FILES: Record<string, string> = {
    '/sdk/dist/esm/validation/ajv-provider.js': 'export class AjvJsonSchemaValidator {}',
    '/@modelcontextprotocol/client/dist/shimsNode.mjs':
      'export const CORS_IS_POSSIBLE = false;\nexport class DefaultJsonSchemaValidator {}',
    '/pino/lib/transport.js':
      "module.exports = () => { throw new Error('This build of pino has no transports') }",
    '/rate-limiter-flexible/index.js': `module.exports = {
      RateLimiterMemory: require('./lib/RateLimiterMemory'),
      RateLimiterRes: require('./lib/RateLimiterRes'),
    }`,
  };
  return {
    name: 'without-unused',
    load: (id) => Object.entries(FILES).find(([file]) => id.endsWith(file))?.[1] ?? null,
  };
}

/** Puts in the JSON Schemas of the built-in tools. */
function toolSchemas(): Plugin {
  return {
    name: 'tool-schemas',
    load(id) {
      if (!id.endsWith('/src/mcp/tools/ready-schemas.ts')) return null;
      const all = [...BUILT_IN_BY_NAME].map(([name, { definition }]) => [name, definition.inputSchema]);
      const text = JSON.stringify(JSON.stringify(Object.fromEntries(all)));
      return {
        code: `let all;\nexport const readySchemas = () => (all ??= JSON.parse(${text}));`,
        moduleType: 'js',
      };
    },
  };
}

/** Emits the files for browsers as they are, one for each source file. */
function web(): Plugin {
  return {
    name: 'web',
    generateBundle() {
      for (const [name, source] of buildWebFiles('src/web')) {
        this.emitFile({ type: 'asset', fileName: `web/${name}`, source });
      }
    },
  };
}

/** Emits the documentation of docs/ as pages. The service fills in its address when it serves them. */
function docs(): Plugin {
  return {
    name: 'docs',
    generateBundle() {
      for (const [name, source] of buildDocs('.'))
        this.emitFile({ type: 'asset', fileName: `docs/${name}`, source });
    },
  };
}

/** The style sheets of the documentation, in the order in which their rules apply. */
const STYLES = ['colours', 'top-bar', 'columns', 'article', 'code', 'search', 'narrow'];

function docsStyles(folder: string): Plugin {
  const read = (name: string) => readFileSync(`${folder}/${name}`, 'utf8');
  return {
    name: 'docs-styles',
    generateBundle() {
      const source = STYLES.map((name) => read(`${name}.css`)).join('\n');
      this.emitFile({ type: 'asset', fileName: 'docs.css', source });
      this.emitFile({ type: 'asset', fileName: 'icon.svg', source: read('icon.svg') });
    },
  };
}

/**
 * Emits the document in place of its script. Its policy names the hashes of the script and of the styles, so that no other
 * code runs in it, in addition to the policy of the host.
 */
function viewDocument(folder: string): Plugin {
  return {
    name: 'view-document',
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== 'chunk') continue;
        const script = file.code.trim().replaceAll('</script', String.raw`<\/script`);
        const style = ['view', 'records']
          .map((name) => readFileSync(`${folder}/${name}.css`, 'utf8'))
          .join('')
          .replaceAll(/\/\*.*?\*\//gs, '')
          .replaceAll(/\s+/g, ' ')
          .trim();
        delete bundle[file.fileName];
        this.emitFile({ type: 'asset', fileName: 'result.html', source: viewHtml({ script, style }) });
      }
    },
  };
}

function viewHtml({ script, style }: { script: string; style: string }): string {
  const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Result of Gatehouse</title>
<style>${style}</style></head>
<body><script>${script}</script></body></html>
`;
}

/** The terms of the phrases of shipped actions, because computing them would take a first search seconds. */
function phraseTerms(): Plugin {
  return {
    name: 'phrase-terms',
    async generateBundle() {
      this.emitFile({ type: 'asset', fileName: PHRASE_TERMS_FILE, source: await phraseTermsText() });
    },
  };
}

/** The shipped connector files, read and checked, so that a first start does neither. */
function definitions(folder: string): Plugin {
  return {
    name: 'definitions',
    generateBundle() {
      const checked = readdirSync(folder).flatMap((id) => {
        const path = `${folder}/${id}/connector.yaml`;
        const text = readFileSync(path, 'utf8');
        const { definition } = parseConnector(text, path, id);
        // One with faults is left to the start, which reports them.
        if (!definition) return [];
        const one = toCached(definition);
        return [{ ...one, head: { ...one.head, textHash: sourceHash(text, path) } }];
      });
      this.emitFile({ type: 'asset', fileName: SHIPPED_FILE, source: cachedText(checked) });
    },
  };
}
