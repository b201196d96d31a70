import { asObject } from '../../src/lib/json.ts';
import { connectClient, shop } from '../support/mcp.ts';
import { startService } from '../support/service.ts';
import { listAll, tokensOf } from './listed-tools.ts';

/*
 * npm run eval:descriptions: what models read of each shipped connector in direct mode. It starts a service and lists the
 * tools over HTTP. Members are those of inputs, and those one level below.
 */
interface Row {
  tools: number;
  short: number;
  members: number;
  undescribed: number;
  required: number;
  tokens: number;
}

const SHORT = 25;

await using service = await startService();
const { accessUrl } = await shop(service, { toolMode: 'direct' });
const client = await connectClient(accessUrl);
const actions = service.context.catalog.connectors('development').flatMap((one) => [...one.actions.values()]);
const connectors = new Map(actions.map(({ toolName, connectorId }) => [toolName, connectorId]));
const rows: { [connectorId: string]: Row } = {};
const words: number[] = [];
for (const tool of await listAll(client)) {
  const connector = connectors.get(tool.name);
  if (connector === undefined) continue;
  const row = (rows[connector] ??= {
    tools: 0,
    short: 0,
    members: 0,
    undescribed: 0,
    required: 0,
    tokens: 0,
  });
  row.tools += 1;
  row.short += (tool.description ?? '').length < SHORT ? 1 : 0;
  row.tokens += tokensOf(tool);
  for (const { description, required } of membersOf(tool.inputSchema)) {
    row.members += 1;
    if (description !== undefined) words.push(description.split(/\s+/).length);
    if (description === undefined) row.undescribed += 1;
    if (description === undefined && required) row.required += 1;
  }
}
await client.close();

console.table({ ...rows, all: Object.values(rows).reduce(sum) });
console.log(`median of words in a description: ${words.toSorted((a, b) => a - b)[words.length >> 1]}`);

function sum(a: Row, b: Row): Row {
  return {
    tools: a.tools + b.tools,
    short: a.short + b.short,
    members: a.members + b.members,
    undescribed: a.undescribed + b.undescribed,
    required: a.required + b.required,
    tokens: a.tokens + b.tokens,
  };
}

/** Returns the members of an object or of the objects in a list, and those of its members. */
function membersOf(schema: unknown, levels = 2): { description: string | undefined; required: boolean }[] {
  const { properties, required, items } = asObject(schema);
  if (properties === undefined && items !== undefined) return membersOf(items, levels);
  return Object.entries(asObject(properties)).flatMap(([name, member]) => {
    const { description } = asObject(member);
    return [
      {
        description: typeof description === 'string' ? description : undefined,
        required: Array.isArray(required) && required.includes(name),
      },
      ...(levels > 1 ? membersOf(member, levels - 1) : []),
    ];
  });
}
