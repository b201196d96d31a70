import { z } from 'zod';
import { endSessionsOfPerson } from '../../../identity/console-sessions.ts';
import { listPeople, personInWords } from '../../../identity/people.ts';
import { isoTime } from '../../../lib/clock.ts';
import { CONSOLE_ROLES } from '../../../lib/oidc-settings.ts';
import { defineRoute, type Route } from '../../server/route.ts';
import { time } from '../../server/shapes.ts';

const person = z.object({
  personId: z.string(),
  name: z.string(),
  role: z.enum(CONSOLE_ROLES),
  signedInAt: time.nullable(),
  /** Open sessions. */
  sessions: z.int(),
});

const listPeopleRoute = defineRoute({
  method: 'GET',
  path: '/console/people',
  operationId: 'listConsolePeople',
  tag: 'Console',
  summary: 'List the people who signed in to the console',
  auth: 'api_key',
  scope: 'audit:read',
  success: {
    status: 200,
    description: 'People, the last sign-in first.',
    schema: z.object({ people: z.array(person) }),
  },
  async handler({ context }) {
    const people = await listPeople(context);
    return {
      body: {
        people: people.map((one) => ({
          personId: one.personId,
          name: personInWords(one),
          role: one.role,
          signedInAt: isoTime(one.signedInAt),
          sessions: one.sessions,
        })),
      },
    };
  },
});

const endSessionsRoute = defineRoute({
  method: 'DELETE',
  path: '/console/people/{personId}/sessions',
  operationId: 'endSessionsOfPerson',
  tag: 'Console',
  summary: 'Sign a person out of the console everywhere',
  auth: 'api_key',
  scope: 'keys:write',
  params: z.strictObject({ personId: z.string() }),
  success: { status: 200, description: 'The sessions ended.', schema: z.object({ message: z.string() }) },
  audited: true,
  async handler({ context, params: { personId } }) {
    const count = await endSessionsOfPerson(context, personId);
    context.callers.forget();
    return { body: { message: `${count} ${count === 1 ? 'session' : 'sessions'} ended.` } };
  },
});

/** The routes about people of the console. */
export const PEOPLE_ROUTES: Route[] = [listPeopleRoute, endSessionsRoute];
