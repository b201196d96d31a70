import { isJsonObject } from './json.ts';
import type { Pause } from './json-steps.ts';

/** Approximate weight of one step, which takes 3 ms. A value weighs 1, and a text 1 more for each 16 characters. */
const STEP_WEIGHT = 20_000;
const CHARS_A_WEIGHT = 16;
/** Lists and objects are split down to this level. Each level weighs its content again. */
const LEVELS = 4;

/** Writes JSON as JSON.stringify() does. A large value is written in steps with pauses between them. */
export function jsonText(value: unknown, pause: Pause): string | Promise<string> {
  return weigh(value, STEP_WEIGHT) < STEP_WEIGHT ? JSON.stringify(value) : writeInSteps(value, pause, 0);
}

async function writeInSteps(value: unknown, pause: Pause, level: number): Promise<string> {
  await pause();
  if (level === LEVELS || typeof value !== 'object' || value === null || isItsOwnText(value))
    return JSON.stringify(value);
  if (Array.isArray(value)) return `[${(await written(value.entries(), list, { pause, level })).join(',')}]`;
  return `{${(await written(Object.entries(value), object, { pause, level })).join(',')}}`;
}

/** The way to write members: several together as part of a list or object, or a large one alone. */
interface Kind<Name> {
  together(members: [Name, unknown][]): string;
  before(name: Name): string;
}

const list: Kind<number> = {
  together: (items) => JSON.stringify(items.map(([, item]) => item)).slice(1, -1),
  before: () => '',
};

const object: Kind<string> = {
  together: (members) => JSON.stringify(Object.fromEntries(members)).slice(1, -1),
  before: (name) => `${JSON.stringify(name)}:`,
};

/** Returns the texts of members, grouped into steps. */
async function written<Name>(
  members: Iterable<[Name, unknown]>,
  kind: Kind<Name>,
  { pause, level }: { pause: Pause; level: number },
): Promise<string[]> {
  const texts: string[] = [];
  let some: [Name, unknown][] = [];
  let weight = 0;
  const flush = async (): Promise<void> => {
    if (some.length === 0) return;
    const text = kind.together(some);
    // Members that are undefined have no text.
    if (text !== '') texts.push(text);
    some = [];
    weight = 0;
    await pause();
  };
  for (const [name, member] of members) {
    const own = weigh(member, STEP_WEIGHT);
    if (weight + own >= STEP_WEIGHT) await flush();
    if (own < STEP_WEIGHT) {
      some.push([name, member]);
      weight += own;
    } else texts.push(kind.before(name) + (await writeInSteps(member, pause, level + 1)));
  }
  await flush();
  return texts;
}

/** Returns the weight of a value, at most `most`. */
function weigh(value: unknown, most: number): number {
  if (typeof value === 'string') return Math.min(most, 1 + value.length / CHARS_A_WEIGHT);
  if (typeof value !== 'object' || value === null) return 1;
  let weight = 1;
  // Loops of their own, because one that reads both kinds takes three times as long.
  if (isJsonObject(value)) {
    for (const name in value) {
      weight += weigh(value[name], most - weight);
      if (weight >= most) return most;
    }
  } else if (Array.isArray(value)) {
    for (const item of value) {
      weight += weigh(item, most - weight);
      if (weight >= most) return most;
    }
  }
  return weight;
}

function isItsOwnText(value: object): boolean {
  return 'toJSON' in value;
}
