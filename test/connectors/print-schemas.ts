import { writeFileSync } from 'node:fs';
import { editorSchemas } from './editor-schema.ts';

/* npm run schema: writes the schemas that editors read, after the format has changed. */
for (const [name, text] of Object.entries(editorSchemas())) {
  writeFileSync(new URL(`../../data/${name}.schema.json`, import.meta.url), text);
}
