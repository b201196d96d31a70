/** Length of a master key. */
export const MASTER_KEY_BYTES = 32;

/** Returns the bytes of a master key in base64; undefined when they are not 32. */
export function readMasterKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, 'base64');
  const isWhole = key.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '');
  return key.length === MASTER_KEY_BYTES && isWhole ? key : undefined;
}

/** Returns the rule that a master key breaks, for the operator. `position` counts from 1. */
export function masterKeyRule(position: number): string {
  return `key ${position} is not ${MASTER_KEY_BYTES} bytes of base64. Make one with: openssl rand -base64 32`;
}
