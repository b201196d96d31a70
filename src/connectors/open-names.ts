import { capturedOf } from './captured.ts';
import type { ConnectorFile } from './format/format.ts';

/** Returns the names that an address may contain: variables, and fields of any scheme that are not secret. */
export function openNames(file: ConnectorFile): Set<string> {
  const fields = file.authentication.flatMap((scheme) =>
    'fields' in scheme ? Object.entries(scheme.fields) : [],
  );
  const open = fields.filter(([, field]) => !field.secret).map(([name]) => name);
  const captured = file.authentication.flatMap((scheme) =>
    Object.entries(capturedOf(scheme)).flatMap(([name, { secret }]) => (secret ? [] : [name])),
  );
  const variables = Object.entries(file.variables).filter(([, { secret }]) => !secret);
  return new Set([...variables.map(([name]) => name), ...open, ...captured]);
}
