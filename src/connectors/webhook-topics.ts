import { nameInFile, type SourceScope } from './event-scopes.ts';
import type { HookTopic, Webhooks } from './format/events-format.ts';

/* Questions about the webhooks of an app, apart from their format, whose many schemas only the check of a file needs. */

/** Webhooks that Gatehouse registers at the app. */
export type RegisteredWebhooks = Webhooks & { register: NonNullable<Webhooks['register']> };

export function areRegistered(webhooks: Webhooks): webhooks is RegisteredWebhooks {
  return webhooks.register !== undefined;
}

/** Returns the topics of a scope; empty where the app's webhooks do not serve it. */
export function topicsOf({ topics }: Webhooks, scope: SourceScope): readonly HookTopic[] {
  const all: Partial<Record<string, HookTopic[]>> = topics;
  const name = nameInFile(scope);
  return (Object.hasOwn(all, name) ? all[name] : undefined) ?? [];
}
