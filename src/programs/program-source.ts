import { LIMITS } from './program-limits.ts';

/* The frame around the code of a program. It is JavaScript that runs in the sandbox, next to the code. */

/** Characters and lines of the log that are returned. */
const MAX_LOG = { characters: 16 * 1024, logLines: 500 };
/** Limits that the frame checks itself, to explain them in its messages. The engine's own limits come later. */
const FRAME_LIMITS = { ...MAX_LOG, value: LIMITS.value, calls: LIMITS.calls, atOnce: LIMITS.concurrentCalls };

/**
 * A request that the process answers itself. The engine runs all jobs of a program before it takes an answer. A program
 * without an open call that made none until then waits for something that never comes.
 */
export const PULSE = 'pulse';

/** Names that a connector cannot have in a program. */
const RESERVED = new Set(
  (
    'arguments await break case catch class const continue debugger default delete do else enum eval export extends ' +
    'false finally for function if implements import in instanceof interface let new null package private protected ' +
    'public return static super switch this throw true try typeof undefined var void while with yield ' +
    'console gatehouse host'
  ).split(' '),
);

/** The code of the frame, in one line. */
const FRAME = `
async (host, limits, connectorIds, program) => {
  const { parse, stringify } = JSON;
  const first = Number(/run\\.js:(\\d+)/.exec(new Error().stack)?.[1]);
  const logs = [];
  let left = limits.characters;
  let dropped = 0;
  const shown = (value) => {
    if (typeof value === 'string') return value;
    if (value instanceof Error) return value.name + ': ' + value.message;
    return stringify(value) ?? String(value);
  };
  const log = (...values) => {
    let line;
    try { line = values.map(shown).join(' '); } catch { line = '(a value that cannot be shown)'; }
    if (logs.length >= limits.logLines || line.length > left) { dropped += 1; return; }
    left -= line.length;
    logs.push(line);
  };
  const lines = () =>
    dropped === 0 ? logs : [...logs, '(' + dropped + ' more left out: the log is limited to ' + limits.characters + ' characters)'];
  const refusal = ({ code, message, details }, stack) => {
    const error = new Error(message);
    error.stack = stack;
    error.name = 'GatehouseError';
    error.code = code;
    error.details = details;
    return error;
  };
  let calls = 0;
  let running = 0;
  let isOver = false;
  let watched;
  let giveUp;
  const never = {};
  const stuck = new Promise((_, reject) => { giveUp = () => reject(never); });
  const watch = async (before) => {
    await before;
    if (isOver || running > 0) return;
    const made = calls;
    await host.request(limits.pulse, '');
    if (isOver || running > 0 || calls > made) return;
    isOver = true;
    giveUp();
  };
  const watchAgain = () => { watched = watch(watched); };
  const queue = [];
  const request = async (name, given) => {
    const { stack } = new Error();
    const argument = stringify(given);
    calls += 1;
    if (calls > limits.calls)
      throw refusal({ code: 'limit_reached', message: 'A program makes at most ' + limits.calls + ' calls.', details: { limit: limits.calls } }, stack);
    if (running >= limits.atOnce) await new Promise((turn) => queue.push(turn));
    running += 1;
    try {
      const answer = parse(await host.request(name, argument));
      if (answer.error) throw refusal(answer.error, stack);
      if (answer.log) log(answer.log);
      return answer.value;
    } finally {
      running -= 1;
      if (queue.length > 0) queue.shift()();
      else if (running === 0) watchAgain();
    }
  };
  const gatehouse = Object.freeze({
    search: (query) => request('search', { query }),
    describe: (action) => request('describe', { action }),
  });
  const console = Object.freeze({ log, info: log, warn: log, error: log, debug: log });
  const connectors = connectorIds.map((connectorId) => new Proxy(Object.freeze({}), {
    get: (_, actionId) =>
      typeof actionId === 'symbol' || actionId === 'then' || actionId === 'toJSON'
        ? undefined
        : (parameters, options) => request('call', { connectorId, actionId, parameters, options }),
  }));
  try {
    const ended = program(gatehouse, console, ...connectors).finally(() => { isOver = true; });
    watchAgain();
    const value = stringify(await Promise.race([ended, stuck])) ?? 'null';
    if (value.length > limits.value)
      throw new RangeError('The returned value has more than ' + limits.value + ' characters as JSON. Return less.');
    return stringify({ value, logs: lines() });
  } catch (error) {
    if (error === never) return stringify({ isStuck: true, logs: lines() });
    const isError = error instanceof Error;
    const message = isError ? error.name + ': ' + error.message : 'thrown: ' + shown(error);
    const numbers = [...String(isError ? error.stack : '').matchAll(/run\\.js:(\\d+)/g)].map((found) => Number(found[1]));
    const line = numbers.find((number) => number > first && number <= first + limits.lines);
    return stringify({
      error: {
        message: message.slice(0, 2000),
        ...(line === undefined ? {} : { line: line - first }),
        ...(isError && typeof error.code === 'string' ? { code: error.code.slice(0, 100) } : {}),
        isMemory: isError && error.name === 'InternalError',
      },
      logs: lines(),
    });
  } finally {
    await watched;
  }
}
`
  .replaceAll(/\s*\n\s*/g, ' ')
  .trim();

/** Returns the name of a connector's global: its id with `_` for `-`, and a leading `_` where JavaScript needs it. */
export function globalOf(connectorId: string): string {
  const name = connectorId.replaceAll('-', '_');
  return /^[a-z]/.test(name) && !RESERVED.has(name) ? name : `_${name}`;
}

/**
 * Returns the source that runs a program. It returns JSON text: `value` (JSON text) or `error`, and `logs`. The frame
 * is one line before the code. The code is in a function of its own, so that it may declare a name that a connector has.
 */
export function sourceOf(code: string, connectorIds: readonly string[]): string {
  const globals = ['gatehouse', 'console', ...connectorIds.map(globalOf)].join(', ');
  const ids = JSON.stringify(connectorIds);
  const limits = JSON.stringify({ ...FRAME_LIMITS, pulse: PULSE, lines: code.split('\n').length });
  return `return (${FRAME})(host, ${limits}, ${ids}, (${globals}) => (async () => {\n${code}\n})());`;
}
