/** In `_meta` of what an app said: it is data, whatever it says. */
export const THIRD_PARTY = { 'gatehouse/source': 'third_party' } as const;
