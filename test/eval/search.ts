import { connectClient, shop } from '../support/mcp.ts';
import { startService } from '../support/service.ts';
import { askTool, evaluate, readIntents, unknownActions, type Figure } from './evaluate.ts';

/*
 * npm run eval:search: how often the right action is among the first five that search_actions_svc finds, over the
 * shipped catalogue. It starts a service and calls the tool over HTTP. `--missed` prints the missed intents of the set
 * for tuning.
 */
await using service = await startService();
const { catalog } = service.context;
const client = await connectClient((await shop(service)).accessUrl);
const { tuned, heldOut } = readIntents();
const unknown = unknownActions(catalog, [...tuned, ...heldOut]);
if (unknown.length > 0) throw new Error(`No connector has: ${unknown.join(', ')}`);

const started = performance.now();
const ask = askTool(client);
const figures = { tuned: await evaluate(ask, tuned), heldOut: await evaluate(ask, heldOut) };
const milliseconds = (performance.now() - started) / (tuned.length + heldOut.length);

const actions = catalog.connectors('development').reduce((sum, { actions }) => sum + actions.size, 0);
console.log(`${actions} actions of ${catalog.connectors('development').length} connectors`);
print('tuned', figures.tuned);
print('held out', figures.heldOut);
console.log(`${milliseconds.toFixed(2)} ms a search over HTTP, building the index included`);
if (process.argv.includes('--missed')) {
  for (const { say, right, found } of figures.tuned.missed) {
    console.log(`\n${say}\n  right: ${right.join(', ')}\n  found: ${found.join(', ')}`);
  }
}
await client.close();

function print(name: string, { intents, first, firstFive }: Figure): void {
  const share = (value: number) => `${(value * 100).toFixed(1)} %`;
  console.log(`${name}: ${intents} intents, among the first five ${share(firstFive)}, first ${share(first)}`);
}
