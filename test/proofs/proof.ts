/** The sizes of `npm run proof:events`: those before a release, or smaller ones for a trial. */
export type Form = 'full' | 'short';

/** A claim of docs/performance.md (Proofs) that a program can check against the service. */
export interface Proof {
  name: string;
  /** Sizes by variable, for each form. */
  sizes: Record<string, Record<Form, number>>;
  /** Returns a sentence of figures. @throws Error when the claim does not hold. */
  run(size: (name: string) => number): Promise<string>;
}

/** Returns the sizes of a run. Environment variables replace the defaults. */
export function sizesOf(
  { sizes }: Proof,
  form: Form,
  env: Record<string, string | undefined>,
): (name: string) => number {
  return (name) => {
    const size = sizes[name];
    if (!size) throw new Error(`a proof asks for ${name}, which it does not name`);
    return Number(env[name] ?? size[form]);
  };
}

/** Asserts a claim. @throws Error with the text of the claim. */
export function claim(holds: boolean, what: string): void {
  if (!holds) throw new Error(`it does not hold: ${what}`);
}
