import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { editorSchemas } from './editor-schema.ts';

test.each(['connector', 'examples'] as const)(
  'the schema of %s files for editors is the one of the code (npm run schema)',
  (name) => {
    const kept = readFileSync(new URL(`../../data/${name}.schema.json`, import.meta.url), 'utf8');
    expect(kept).toBe(editorSchemas()[name]);
  },
);
