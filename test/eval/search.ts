import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { connectClient, shop } from '../support/mcp.ts';
import { startService } from '../support/service.ts';
import {
  askTool,
  evaluate,
  figureOf,
  readIntents,
  readRequests,
  unknownActions,
  type Figure,
  type Outcome,
  type Request,
} from './evaluate.ts';

/*
 * npm run eval:search: how often search_actions_svc finds the right action, in the first place and among the first
 * five, over the shipped catalogue. It starts a service and calls the tool over HTTP. The table compares the figures
 * with those of before.json. The requests of independent.yaml were written by another author than the vocabulary's and
 * have rows of their own. `--missed` prints the missed requests for tuning, never theirs. `--save` writes before.json.
 */
const BEFORE = new URL('before.json', import.meta.url);
const SETS = ['tuning', 'held out', 'independent'] as const;
const row = z.object({ intents: z.number(), first: z.number(), firstFive: z.number() });
const before = z.record(z.string(), row).parse(JSON.parse(readFileSync(BEFORE, 'utf8')));

await using service = await startService();
const { catalog } = service.context;
const client = await connectClient((await shop(service)).accessUrl);
const { tuned, heldOut } = readIntents();
const requests = readRequests();
const unknown = unknownActions(catalog, [...tuned, ...heldOut, ...requests]);
if (unknown.length > 0) throw new Error(`No connector has: ${unknown.join(', ')}`);

const ask = askTool(client);
const started = performance.now();
const outcomes = await evaluate(ask, requests);
const milliseconds = (performance.now() - started) / requests.length;

const actions = catalog.connectors('development').reduce((sum, { actions }) => sum + actions.size, 0);
console.log(`${actions} actions of ${catalog.connectors('development').length} connectors\n`);
const figures = figuresOf(outcomes);
console.table(
  Object.fromEntries(Object.entries(figures).map(([name, figure]) => [name, lineOf(name, figure)])),
);
const older = { tuned: await evaluate(ask, tuned), heldOut: await evaluate(ask, heldOut) };
for (const [name, of] of Object.entries(older)) {
  const { intents, first, firstFive } = figureOf(of);
  console.log(
    `intents.yaml, ${name}: ${intents} intents, first ${share(first)}, among the first five ${share(firstFive)}`,
  );
}
console.log(`${milliseconds.toFixed(2)} ms a search over HTTP, building the index included`);
if (process.argv.includes('--save')) writeFileSync(BEFORE, `${JSON.stringify(figures, null, 2)}\n`);
if (process.argv.includes('--missed')) {
  const ours = outcomes.filter(({ intent }) => intent.set === 'tuning');
  for (const { intent, found, firstFive, first } of [...ours, ...older.tuned]) {
    if (first && firstFive) continue;
    const fault = firstFive ? 'not first' : 'missed';
    console.log(
      `\n${fault}: ${intent.say}\n  right: ${JSON.stringify(intent.steps)}\n  found: ${found.join(', ')}`,
    );
  }
}
await client.close();

/** Returns the figures by set, language and kind. */
function figuresOf(all: readonly Outcome<Request>[]): Record<string, Figure> {
  return Object.fromEntries(
    SETS.flatMap((set) => {
      const ours = all.filter(({ intent }) => intent.set === set);
      const values = new Set(ours.flatMap(({ intent }) => [intent.language, intent.kind]));
      return [
        ...[...values].map((value): [string, Figure] => [
          `${set}, ${value}`,
          figureOf(ours.filter(({ intent }) => intent.language === value || intent.kind === value)),
        ]),
        [`${set}, all`, figureOf(ours)],
      ];
    }),
  );
}

function lineOf(name: string, { intents, first, firstFive }: Figure): object {
  const was = before[name];
  return {
    requests: intents,
    'first before': share(was?.first),
    'first now': share(first),
    'first five before': share(was?.firstFive),
    'first five now': share(firstFive),
  };
}

function share(value: number | undefined): string {
  return value === undefined ? '' : `${(value * 100).toFixed(0)} %`;
}
