import { createRequire } from 'node:module';
import type * as Re2Module from 're2js';
import { thrownMessage } from './errors.ts';

/*
 * Patterns from a file or a caller. RE2 matches them, whose time grows linearly with the text. The engine of
 * JavaScript never does, because it may take for ever.
 */

const require = createRequire(import.meta.url);
const MAX_CHARS = 1000;
/** `.{1,1000}` takes 2,001. */
const MAX_STEPS_A_CHARACTER = 2500;
/** Matching takes at most 0.1 µs a step, measured over patterns made for it. */
const MAX_STEPS = 5_000_000;

const RE2_RULE =
  'must be a pattern of RE2: without look-around and back-references, and with at most 1000 repetitions';

/** A regular expression that is matched in time linear in the text. */
export interface LinearPattern {
  /** The most steps that matching takes for each character. */
  readonly stepsACharacter: number;
  test(text: string): boolean;
}

/** Thrown when a text is too long for a pattern. */
export class TooManyStepsError extends Error {
  override readonly name = 'TooManyStepsError';

  constructor() {
    super('The text is too long for a regular expression.');
  }
}

/** The steps that matching may still take, over any number of texts. */
export interface StepBudget {
  /**
   * Takes the steps of one match.
   * @throws TooManyStepsError when they are used up.
   */
  take(pattern: LinearPattern, text: string): void;
}

export function createStepBudget(): StepBudget {
  let left = MAX_STEPS;
  return {
    take({ stepsACharacter }, text) {
      left -= stepsACharacter * text.length;
      if (left < 0) throw new TooManyStepsError();
    },
  };
}

/**
 * Compiles a pattern that both ECMAScript (with the flag u) and RE2 understand.
 * @throws Error whose message is the rule that the pattern breaks: `must be …`.
 */
export function compilePattern(source: string): LinearPattern {
  assertEcmaScript(source);
  const compiled = compileRe2(source, '');
  return { stepsACharacter: compiled.programSize(), test: (text) => compiled.test(text) };
}

/** Returns the text of a pattern's first group in a text; undefined where the text does not match. */
export function firstGroup(source: string, text: string): string | undefined {
  const pattern = compileRe2(source, '');
  if (pattern.programSize() * text.length > MAX_STEPS) throw new TooManyStepsError();
  const matcher = pattern.matcher(text);
  return matcher.find() && pattern.groupCount() > 0 ? (matcher.group(1) ?? undefined) : undefined;
}

/** Returns the rule that a pattern breaks; undefined when it breaks none. */
export function patternFault(source: string): string | undefined {
  try {
    compilePattern(source);
    return undefined;
  } catch (error) {
    return thrownMessage(error);
  }
}

/**
 * Checks that RE2 can match an expression.
 * @throws Error whose message is the rule that the expression breaks.
 */
export function assertLinear({ source, flags }: RegExp): void {
  compileRe2(source, flags);
}

/**
 * Returns a class that replaces RegExp with the flag g where only `exec` and `lastIndex` are used, as in JSONata. It
 * compiles each expression once, and caches every expression.
 */
export function linearRegExpClass() {
  const compiled = new Map<RegExp, Re2Module.RE2JS>();
  return class LinearRegExp {
    lastIndex = 0;
    readonly #pattern: Re2Module.RE2JS;

    constructor(expression: RegExp) {
      this.#pattern = compiled.get(expression) ?? compileRe2(expression.source, expression.flags);
      compiled.set(expression, this.#pattern);
    }

    /**
     * Returns the next match from `lastIndex` on, with its groups.
     * @throws TooManyStepsError
     */
    exec(text: string): ((string | undefined)[] & { index: number }) | null {
      const { lastIndex } = this;
      this.lastIndex = 0;
      if (lastIndex > text.length) return null;
      if (this.#pattern.programSize() * (text.length - lastIndex) > MAX_STEPS) throw new TooManyStepsError();
      const matcher = this.#pattern.matcher(text);
      if (!matcher.find(lastIndex)) return null;
      this.lastIndex = matcher.end();
      const groups = Array.from(
        { length: this.#pattern.groupCount() + 1 },
        (_, group) => matcher.group(group) ?? undefined,
      );
      return Object.assign(groups, { index: matcher.start() });
    }
  };
}

/** Compiles a pattern with RE2, which is loaded at its first use to keep the start fast. */
function compileRe2(source: string, flags: string): Re2Module.RE2JS {
  if (source.length > MAX_CHARS) throw new Error(`must have at most ${MAX_CHARS} characters`);
  const { RE2JS }: typeof Re2Module = require('re2js');
  const ignoreCase = flags.includes('i') ? RE2JS.CASE_INSENSITIVE : 0;
  const multiline = flags.includes('m') ? RE2JS.MULTILINE : 0;
  let compiled: Re2Module.RE2JS;
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(source), ignoreCase | multiline);
  } catch (error) {
    throw new Error(`${RE2_RULE}: ${thrownMessage(error).replace('error parsing regexp: ', '')}`, {
      cause: error,
    });
  }
  if (compiled.programSize() > MAX_STEPS_A_CHARACTER)
    throw new Error('must be a simpler pattern: it holds too many alternatives or repetitions');
  return compiled;
}

/** Checks the syntax. It only parses, because the engine compiles an expression when it first runs. */
function assertEcmaScript(source: string): void {
  try {
    RegExp(source, 'u');
  } catch (error) {
    throw new Error(`must be a regular expression: ${thrownMessage(error)}`, { cause: error });
  }
}
