import { connectClient, shop } from '../support/mcp.ts';
import type { Service } from '../support/service.ts';
import {
  askTool,
  evaluate,
  figureOf,
  readIntents,
  readRequests,
  SETS,
  unknownActions,
  type Ask,
  type Outcome,
  type Request,
} from './evaluate.ts';
import { within, type Extent, type Row } from './rows.ts';

const LANGUAGES: Record<string, string> = {
  en: 'English',
  de: 'German',
  fr: 'French',
  es: 'Spanish',
  pt: 'Portuguese',
};
const KINDS: Record<string, string> = {
  plain: 'plain',
  vague: 'vague',
  typo: 'with typing errors',
  negation: 'with a negation',
  talk: 'in the middle of talk',
  steps: 'of several steps',
  agent: 'short, of an assistant',
};

/**
 * Returns how often search_actions_svc finds the right action over the shipped catalogue, in the first place and among the
 * first five, by set, language and kind of request.
 */
export async function searchRows(service: Service, extent: Extent): Promise<Row[]> {
  return asking(service, async (ask) => {
    const requests = within(extent, readRequests(), ({ set, language, kind }) => [
      `${set} ${language}`,
      `${set} ${kind}`,
    ]);
    const outcomes = await evaluate(ask, requests);
    const { tuned, heldOut } = readIntents();
    const intents = async (name: string, all: typeof tuned) =>
      rowOf(
        'search, English intents',
        name,
        await evaluate(
          ask,
          within(extent, all, () => [name]),
        ),
      );
    return [
      ...SETS.flatMap((set) => rowsOf(set, outcomes)),
      await intents('tuning', tuned),
      await intents('held out', heldOut),
    ];
  });
}

/** Returns the missed requests of the sets for tuning, as text. */
export async function missedRequests(service: Service): Promise<string> {
  return asking(service, async (ask) => {
    const requests = readRequests().filter(({ set }) => set === 'tuning' || set === 'development');
    const outcomes = await evaluate(ask, [...requests, ...readIntents().tuned]);
    return outcomes
      .filter(({ first, firstFive }) => !first || !firstFive)
      .map(({ intent, found, firstFive }) => {
        const fault = firstFive ? 'not first' : 'missed';
        return `${fault}: ${intent.say}\n  right: ${JSON.stringify(intent.steps)}\n  found: ${found.join(', ')}`;
      })
      .join('\n\n');
  });
}

/** Runs with the search of a service, over HTTP. Rejects when no connector has an action that a request names. */
async function asking<T>(service: Service, run: (ask: Ask) => Promise<T>): Promise<T> {
  const { tuned, heldOut } = readIntents();
  const unknown = unknownActions(service.context.catalog, [...tuned, ...heldOut, ...readRequests()]);
  if (unknown.length > 0) throw new Error(`No connector has: ${unknown.join(', ')}`);
  const client = await connectClient((await shop(service)).accessUrl);
  const result = await run(askTool(client));
  await client.close();
  return result;
}

function rowsOf(set: Request['set'], all: readonly Outcome<Request>[]): Row[] {
  const ours = all.filter(({ intent }) => intent.set === set);
  const group = (of: 'language' | 'kind', names: Record<string, string>) =>
    Object.entries(names).flatMap(([value, name]) => {
      const some = ours.filter(({ intent }) => intent[of] === value);
      return some.length > 0 ? [rowOf(`search, ${set}`, name, some)] : [];
    });
  return [...group('language', LANGUAGES), ...group('kind', KINDS), rowOf(`search, ${set}`, 'all', ours)];
}

function rowOf(part: string, name: string, outcomes: readonly Outcome[]): Row {
  const { intents, first, firstFive } = figureOf(outcomes);
  return { part, name, figures: `first / first five of ${intents}`, now: [first, firstFive], isShare: true };
}
