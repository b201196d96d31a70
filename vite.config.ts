import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import manifest from './package.json' with { type: 'json' };

// The page is always that of a release. React's other build is slow, and holds the paths of this machine.
process.env['NODE_ENV'] = 'production';

/* dist/console: the console's page. `npm run build` runs this after rolldown, which empties dist. */
export default defineConfig({
  root: 'src/console',
  // The address may have a prefix, which the server writes into the page.
  base: './',
  plugins: [react()],
  define: { GATEHOUSE_VERSION: JSON.stringify(manifest.version) },
  build: {
    outDir: '../../dist/console',
    emptyOutDir: true,
    // The policy of the page allows no inline code.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
    reportCompressedSize: false,
  },
});
