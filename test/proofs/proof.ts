/** A claim of ARCHITECTURE.md that a program can hold against the service. */
export interface Proof {
  name: string;
  /** How much of what: the variable that sets it → what `npm run proof:events` does, and what the suite does. */
  sizes: Record<string, { full: number; short: number }>;
  /** Answers with a sentence of figures. @throws Error when the claim does not hold. */
  run(size: (name: string) => number): Promise<string>;
}

/** Sizes of a run: of the environment where it names one. */
export function sizesOf(
  { sizes }: Proof,
  form: 'full' | 'short',
  env: Record<string, string | undefined>,
): (name: string) => number {
  return (name) => {
    const size = sizes[name];
    if (!size) throw new Error(`a proof asks for ${name}, which it does not name`);
    return Number(env[name] ?? size[form]);
  };
}

/** @throws Error saying what was claimed */
export function claim(holds: boolean, what: string): void {
  if (!holds) throw new Error(`it does not hold: ${what}`);
}
