import { writeFileSync } from 'node:fs';
import { apiTypes } from './api-types.ts';
import { installClients } from './install.ts';

/*
 * npm run client:types: writes data/api-types.ts, after routes or their schemas have changed. openapi-typescript needs
 * TypeScript 5, which test/clients installs, because TypeScript 7 has no programming interface.
 */

writeFileSync(new URL('../../data/api-types.ts', import.meta.url), await apiTypes(await installClients()));
