import { expect, test } from 'vitest';
import { parseConnector } from '../../src/connectors/parse.ts';
import { compileConnector } from '../../src/connectors/compile.ts';
import { hostingOf } from '../../src/connectors/catalog.ts';
import { changesBetween } from '../../src/openapi/changes.ts';
import { connectorText } from '../../src/author/connector-text.ts';
import { PATIENCE_MS } from '../support/until.ts';
import { DOCUMENTS, importedFrom, MISSING, textOf } from './public-documents.ts';

/** Documents without a path, of which no connector can be made. */
const WITHOUT_PATHS = /webhook-example/;
/** A reference that a schema for models must not hold; in texts it may stand. */
const REFERENCE = /"\$(ref|defs)":/;

test('the folder of public documents is not empty', ({ skip }) => {
  skip(DOCUMENTS.length === 0, MISSING);
  expect(DOCUMENTS.length).toBeGreaterThan(5);
});

test.each(DOCUMENTS.filter((document) => !WITHOUT_PATHS.test(document)))(
  '%s becomes a good connector, and the same one again',
  (document) => {
    const { written, definition, include, report } = importedFrom(document);
    const parsed = parseConnector(connectorText(written, { document, include }), 'connector.yaml');
    expect(parsed.faults).toEqual([]);
    expect(parsed.definition).toEqual(definition);
    expect(report.imported).toBe(Object.keys(definition.actions).length);
    expect(report.operations).toBe(report.imported + report.leftOut.length);
    const again = importedFrom(document, { previous: () => ({ actions: definition.actions, include }) });
    expect(changesBetween(definition, again.definition)).toEqual({
      added: [],
      removed: [],
      changed: [],
      breaking: [],
    });
    const connector = compileConnector(definition, hostingOf(definition, false));
    const some = [...connector.actions.values()].filter((_, index) => index % 20 === 0);
    const withReference = some.filter((action) => REFERENCE.test(JSON.stringify(action.modelInput)));
    expect(withReference.map(({ actionId }) => actionId)).toEqual([]);
  },
  PATIENCE_MS,
);

test.each(DOCUMENTS.filter((document) => WITHOUT_PATHS.test(document)))(
  '%s has no operation, which the refusal says',
  (document) => {
    expect(textOf(document)).toContain('webhooks');
    expect(() => importedFrom(document)).toThrow('#/paths: holds no operation');
  },
);
