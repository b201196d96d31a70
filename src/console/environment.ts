import { BASE } from './page-facts.ts';

export type Environment = 'development' | 'production';

const ENVIRONMENTS: readonly Environment[] = ['development', 'production'];
const CONSOLE = `${BASE}/console`;
/** Where this browser keeps the environment that a person looked at last. */
const LAST = 'gatehouse-environment';
/** Where this tab keeps the page to show after a sign-in at the provider. */
const RETURN_TO = 'gatehouse-return-to';

/** The environment in the address, such as /console/production/keys; undefined in the addresses of keys. */
export const ADDRESSED = ENVIRONMENTS.find((one) => `${location.pathname}/`.startsWith(`${CONSOLE}/${one}/`));

/** The part of the address that all pages share. */
export const BASENAME = ADDRESSED === undefined ? CONSOLE : `${CONSOLE}/${ADDRESSED}`;

/** Returns the address of the start page of an environment. */
export function startOf(environment: Environment | undefined): string {
  return environment === undefined ? CONSOLE : `${CONSOLE}/${environment}`;
}

/** Keeps the page for after the sign-in. The path has no environment where the person has yet to choose. */
export function keepReturn(): void {
  sessionStorage.setItem(RETURN_TO, location.pathname + location.search);
}

/**
 * Returns the address of this page in an environment: the page kept before the sign-in, or the one of an address
 * without an environment, in the environment of last time. Undefined where this address is right.
 */
export function rightAddress(): string | undefined {
  const kept = sessionStorage.getItem(RETURN_TO);
  sessionStorage.removeItem(RETURN_TO);
  if (ADDRESSED !== undefined) {
    localStorage.setItem(LAST, ADDRESSED);
    return undefined;
  }
  const last = ENVIRONMENTS.find((one) => one === localStorage.getItem(LAST)) ?? 'development';
  const page = kept !== null && isOwn(kept) ? kept : location.pathname + location.search;
  const isAddressed = ENVIRONMENTS.some((one) => page.startsWith(`${CONSOLE}/${one}`));
  return isAddressed ? page : startOf(last) + withoutSignIn(page.slice(CONSOLE.length));
}

function isOwn(page: string): boolean {
  return page === CONSOLE || page.startsWith(`${CONSOLE}/`) || page.startsWith(`${CONSOLE}?`);
}

/** Removes what a failed sign-in left in the address. */
function withoutSignIn(page: string): string {
  const [path = '', search = ''] = page.split('?');
  const values = new URLSearchParams(search);
  values.delete('sign-in');
  values.delete('request');
  return values.size === 0 ? path : `${path}?${values}`;
}
