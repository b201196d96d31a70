import { useHref, useLocation, useSearchParams } from 'react-router';

/**
 * Returns the filters in the address, and a function that changes some of them and begins at the first page. The
 * function does nothing once a link was followed: the address is then the next page's, which may still be loading.
 */
export function useFilters<Name extends string>(
  names: readonly Name[],
): [Record<Name, string>, (changes: Partial<Record<Name, string>>) => void] {
  const [params, setParams] = useSearchParams();
  const shown = useHref(useLocation().pathname);
  const entries = names.map((name) => [name, params.get(name) ?? '']);
  const change = (changes: Partial<Record<Name, string>>) => {
    if (window.location.pathname !== shown) return;
    const next = addressParams();
    next.delete('after');
    for (const name of names) {
      const value = changes[name];
      if (value === undefined) continue;
      if (value === '') next.delete(name);
      else next.set(name, value);
    }
    setParams(next, { replace: true });
  };
  return [Object.fromEntries(entries) as Record<Name, string>, change];
}

/** Returns the choice with a value of the address, or the first one, where the address has no choice or an unknown one. */
export function chosen<const Value extends string>(
  choices: readonly [{ value: Value }, ...{ value: Value }[]],
  value: string,
): Value {
  return (choices.find((one) => one.value === value) ?? choices[0]).value;
}

/**
 * Returns the position of a list with cursors. It is in the address, so the browser's Back returns to it. A second list
 * of a page has a parameter of its own.
 */
export function useCursor(parameter = 'after'): {
  cursor: string;
  next: (cursor: string) => void;
  back: (() => void) | undefined;
} {
  const [params, setParams] = useSearchParams();
  const trail = params.get(parameter)?.split('.').filter(Boolean) ?? [];
  const goTo = (cursors: string[]) => {
    const next = addressParams();
    if (cursors.length === 0) next.delete(parameter);
    else next.set(parameter, cursors.join('.'));
    setParams(next);
  };
  return {
    cursor: trail.at(-1) ?? '',
    next: (cursor) => goTo([...trail, cursor]),
    back: trail.length > 0 ? () => goTo(trail.slice(0, -1)) : undefined,
  };
}

/**
 * Returns the parameters in the address now. The router renders a change later, and a second change in between would
 * undo the first.
 */
function addressParams(): URLSearchParams {
  return new URLSearchParams(window.location.search);
}
