import { z } from 'zod';
import { authenticationMetadata } from '../../credentials/metadata.ts';
import { pageAt } from '../answers/cursor.ts';
import { createCredentialTool, listCredentialsTool, setDefaultCredentialTool } from './account-tools.ts';
import { connectedTo, isConnected, lineOf } from './action-lines.ts';
import { getActionTool } from './get-action.ts';
import { executeActionTool, executeBatch } from './running-tools.ts';
import { searchActionsTool } from './search-actions.ts';
import { visibleConnector } from './visible-names.ts';
import { tool } from './define-tool.ts';
import { readResultTool } from './read-result.ts';
import { resumeCodeTool, runCodeTool } from './program-tools.ts';
import { reportProblemTool } from './report-problem.ts';
import type { BuiltInTool } from '../scope/tool.ts';
import { undoActionTool } from './undo-action.ts';

const CONNECTORS_A_PAGE = 50;
const READ = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

const listConnectors = tool({
  name: 'list_connectors_svc',
  title: 'List connectors',
  description: 'The third-party apps that you may use here, and whether the user is connected to each.',
  input: z.strictObject({
    category: z.string().optional().describe('Only apps of this category, such as commerce or crm.'),
    cursor: z.string().optional().describe('nextCursor of the previous answer.'),
  }),
  hints: READ,
  async run(scope, { category, cursor }) {
    const connectors = scope.visible.connectors.filter(
      ({ connector }) => category === undefined || connector.categories.includes(category.toLowerCase()),
    );
    const { page, nextCursor } = await pageAt(scope, {
      list: `connectors ${category ?? ''}`,
      all: connectors,
      cursor,
      size: CONNECTORS_A_PAGE,
    });
    const connected = await connectedTo(scope);
    return {
      connectors: page.map(({ connector, actions }) => ({
        connectorId: connector.connectorId,
        name: connector.name,
        description: connector.description,
        categories: [...connector.categories],
        actionCount: actions.length,
        connected: isConnected(connector, connected),
      })),
      ...(nextCursor === undefined ? {} : { nextCursor }),
    };
  },
});

const getConnector = tool({
  name: 'get_connector_svc',
  title: 'Read a connector',
  description: 'One app: its actions, one line each, and how an account of it is connected.',
  input: z.strictObject({ connectorId: z.string().describe('From list_connectors_svc.') }),
  hints: READ,
  async run(scope, { connectorId }) {
    const { connector, actions } = visibleConnector(scope, connectorId);
    return {
      connectorId: connector.connectorId,
      name: connector.name,
      description: connector.description,
      website: connector.definition.website,
      connected: isConnected(connector, await connectedTo(scope)),
      authentication: authenticationMetadata(connector).map(({ type }) => type),
      actions: actions.map(lineOf),
    };
  },
});

/** Built-in tools in the order of tools/list. */
export const BUILT_IN_TOOLS: readonly BuiltInTool[] = [
  listConnectors,
  getConnector,
  searchActionsTool,
  getActionTool,
  executeActionTool,
  executeBatch,
  readResultTool,
  listCredentialsTool,
  createCredentialTool,
  reportProblemTool,
  undoActionTool,
];
/** Built-in tools that are listed only where a server offers programs. */
export const PROGRAM_TOOLS: readonly BuiltInTool[] = [runCodeTool, resumeCodeTool];
/** Built-in tools that are listed only while the user has several accounts of an app. */
export const ACCOUNT_TOOLS: readonly BuiltInTool[] = [setDefaultCredentialTool];
export const BUILT_IN_BY_NAME: ReadonlyMap<string, BuiltInTool> = new Map(
  [...BUILT_IN_TOOLS, ...PROGRAM_TOOLS, ...ACCOUNT_TOOLS].map((one) => [one.definition.name, one]),
);
