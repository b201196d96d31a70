import { buildSchema } from 'graphql';
import type { ConnectorFile } from '../../../src/connectors/format/format.ts';
import {
  contentDifferences,
  type Difference,
  operationDifferences,
} from '../../../src/openapi/compare/differences.ts';
import { shape } from '../../../src/openapi/compare/field.ts';
import type { Extract } from './fields.ts';
import { documentFacts, documentFaults } from './graphql.ts';

/** Returns the differences between a connector and the document of its vendor, as the ledger names them. */
export function differencesOf(definition: ConnectorFile, { operations, graphql }: Extract): string[] {
  const schema = graphql === undefined ? undefined : buildSchema(graphql.join('\n'));
  return Object.entries(definition.actions).flatMap(([id, action]) => {
    const own = { definition, id, action };
    if (action.graphql && schema) {
      const faults = documentFaults(schema, action);
      if (faults.length > 0) return faults.map((one) => `${id}: ${one}`);
      return contentDifferences(own, { query: {}, ...documentFacts(schema, action) }).map(nameOf);
    }
    const [method = '', path = ''] = action.request.split(' ');
    const operation = operations[`${method} ${shape(path)}`];
    if (!operation) return [`${id}: no operation`];
    const scopes = operation.scopes?.map((all) => all.map(currentScope));
    return operationDifferences(own, { ...operation, scopes }).map(nameOf);
  });
}

/** Returns a scope without its suffix. Slack's scopes of 2021 named who writes; those of today do not. */
function currentScope(scope: string): string {
  return scope.replace(/:(?:user|bot)$/, '');
}

function nameOf({ kind, actionId, at, value = '' }: Difference): string {
  const place = [actionId, ...at].join('.');
  switch (kind) {
    case 'noOperation':
      return `${actionId}: no operation`;
    case 'scopes':
      return `${actionId}: scopes ${value}`;
    case 'ownScopes':
      return `${actionId}: its own scopes lack ${value}`;
    case 'missing':
      return `${actionId}: no ${at.join('.')} in the answer`;
    case 'value':
      return `${place}: ${value}`;
    case 'over':
      return `${place}: over ${value}`;
    case 'notSent':
      return `${place}: required and not sent`;
    case 'optional':
      return `${place}: required and optional here`;
    case 'address':
    case 'deprecated':
    case 'unknown':
      return `${place}: ${kind}`;
  }
}
