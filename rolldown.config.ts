import { defineConfig } from 'rolldown';
import { buildWebFiles } from './src/http/web-files.ts';

/*
 * dist/: our code and the packages it needs, in a few files instead of a thousand. Node.js resolves, reads and links
 * each module on its own, and that was most of a start. Not minified: a stack trace names functions and lines.
 */
export default defineConfig({
  input: { main: 'src/main.ts' },
  platform: 'node',
  // Native code finds its binary beside itself.
  external: ['better-sqlite3'],
  plugins: [
    {
      // What browsers load stays as it is, a file for each.
      name: 'web',
      generateBundle() {
        for (const [name, source] of buildWebFiles('src/web')) {
          this.emitFile({ type: 'asset', fileName: `web/${name}`, source });
        }
      },
    },
  ],
  output: {
    dir: 'dist',
    format: 'esm',
    cleanDir: true,
    sourcemap: true,
    sourcemapExcludeSources: true,
  },
});
