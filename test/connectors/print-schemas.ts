import { readFileSync, writeFileSync } from 'node:fs';
import { editorText, formatSchemas, withExtends } from './editor-schema.ts';
import { fieldReference } from './field-reference.ts';

/*
 * npm run schema: writes the schemas that editors read, and the reference of the fields, after the format has changed.
 * With --check it writes nothing, and fails where one of them is not current.
 */

const schemas = await formatSchemas();
const files = {
  'data/connector.schema.json': editorText('Gatehouse connector file', withExtends(schemas.connector)),
  'data/examples.schema.json': editorText('Gatehouse connector examples', schemas.examples),
  'docs/connector-fields.md': fieldReference(schemas),
};
for (const [name, text] of Object.entries(files)) {
  const path = new URL(`../../${name}`, import.meta.url);
  if (!process.argv.includes('--check')) writeFileSync(path, text);
  else if (readFileSync(path, 'utf8') !== text) {
    process.exitCode = 1;
    process.stderr.write(`${name} is not the one of the format: npm run schema\n`);
  }
}
